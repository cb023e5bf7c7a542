"""The command that runs a classifier on the sentences of stsb_ru: interruptions, verdicts, and invalid models.

The classifier is a tiny model with the architecture of the real one and random weights. Its verdicts mean nothing, but it is
loaded and run like the real one.
"""

import json
import shutil
import sys
from pathlib import Path

import pytest

from builders.errors import DatasetError, SourceError, UsageError
from builders.rumteb.stsb_ru import SOURCE, decision_line, head_line, read_decisions
from builders.spec import Raw
from pipelines import decide
from pipelines.models import decisions, loading
from tests.support.recipes import frame
from tests.support.stsb_ru import CLASSIFIER, ROWS, build_tables, csv_files
from tests.support.tiny_models import configure_roberta, save_tokenizer

needs_model = pytest.mark.extra("torch", "transformers")


def accept_even_lengths(sentences: list[str]) -> list[bool]:
    return [len(sentence) % 2 == 0 for sentence in sentences]


DECISIONS = SOURCE.decisions
assert DECISIONS is not None
SENTENCES = ["я" * length for length in range(1, 3 * decisions.BATCH)]


def test_an_interrupted_command_resumes_and_writes_the_same_file(tmp_path: Path) -> None:
    decided: list[str] = []

    def interrupt_in_the_third_batch(sentences: list[str]) -> list[bool]:
        if len(decided) >= 2 * decisions.BATCH:
            raise KeyboardInterrupt
        decided.extend(sentences)
        return accept_even_lengths(sentences)

    whole, target = tmp_path / "whole.jsonl", tmp_path / "decisions.jsonl"
    decisions.write_decisions(DECISIONS, SENTENCES, accept_even_lengths, CLASSIFIER, whole)
    with pytest.raises(KeyboardInterrupt):
        decisions.write_decisions(DECISIONS, SENTENCES, interrupt_in_the_third_batch, CLASSIFIER, target)
    assert not target.exists()
    rest: list[str] = []
    decisions.write_decisions(
        DECISIONS, SENTENCES, lambda batch: rest.extend(batch) or accept_even_lengths(batch), CLASSIFIER, target
    )
    assert rest == SENTENCES[2 * decisions.BATCH :]
    assert target.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["decisions.jsonl", "whole.jsonl"]


@pytest.mark.parametrize("cut", [1, 40, 200, 900])
def test_a_line_cut_off_by_a_kill_is_decided_again(cut: int, tmp_path: Path) -> None:
    whole, target = tmp_path / "whole.jsonl", tmp_path / "decisions.jsonl"
    decisions.write_decisions(DECISIONS, SENTENCES, accept_even_lengths, CLASSIFIER, whole)
    (tmp_path / "decisions.jsonl.part").write_bytes(whole.read_bytes()[:-cut])
    decisions.write_decisions(DECISIONS, SENTENCES, accept_even_lengths, CLASSIFIER, target)
    assert target.read_bytes() == whole.read_bytes()


def test_decisions_of_another_classifier_or_on_other_sentences_are_not_resumed(tmp_path: Path) -> None:
    for classifier, sentences in (("another@2", SENTENCES), (CLASSIFIER, SENTENCES[::-1])):
        part = tmp_path / "decisions.jsonl.part"
        lines = [head_line(classifier), *(decision_line(sentence, acceptable=True) for sentence in sentences)]
        part.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        decisions.write_decisions(DECISIONS, SENTENCES, accept_even_lengths, CLASSIFIER, tmp_path / "decisions.jsonl")
        verdicts = read_decisions(Raw("decisions", tmp_path / "decisions.jsonl"), CLASSIFIER)
        assert dict(verdicts.iter_rows()) == dict(zip(SENTENCES, accept_even_lengths(SENTENCES), strict=True))


TRAINING_TEXT = (
    "человек мужчина женщина собака играет на гитаре идёт снег дождь бежит по полю и говорит что президент сказал"
)
SENTENCES_OF_ALL_KINDS = [
    "Снег идёт.",
    "Мама мыла раму",
    "А что?",
    "Президент сказал, что дождя не будет.",
    "Собака бежит 5 дней",
]


def tiny_model(folder: Path, *, labels: int = 2) -> Path:
    """A RoBERTa with one small layer and random weights, in the same files as the real one on the Hub.

    Like the real one, it has no tokenizer.json and no safetensors, and its configuration gives the same id to padding and to the
    beginning of a text, although its tokenizer has two.
    """
    import torch
    from safetensors.torch import save_file
    from transformers import AutoTokenizer, RobertaForSequenceClassification

    save_tokenizer(folder, TRAINING_TEXT, 800, ["<pad>", "<s>", "</s>", "<unk>", "<mask>"])
    torch.set_num_threads(1)  # more threads would slow down such a small model
    config = configure_roberta(
        vocab_size=800, max_position_embeddings=514, num_labels=labels, initializer_range=0.5,
        bos_token_id=1, pad_token_id=1, eos_token_id=2,
    )  # fmt: skip
    config.architectures = ["RobertaForSequenceClassification"]
    config.save_pretrained(str(folder))
    network = RobertaForSequenceClassification(config).eval()
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    with torch.inference_mode():  # the median of these sentences is the threshold, so that both verdicts occur
        scores = network(**tokenizer(SENTENCES_OF_ALL_KINDS, padding=True, return_tensors="pt")).logits
        network.classifier.out_proj.bias[1] -= (scores[:, 1] - scores[:, 0]).median()
    save_file(network.state_dict(), folder / "model.safetensors", metadata={"format": "pt"})
    assert {path.name for path in folder.iterdir()} == {"config.json", "merges.txt", "model.safetensors", "vocab.json"}
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model") / "tiny")


def run_command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["decide", *arguments])
    return decide.main()


def copy_csv_files(folder: Path, real_sources: Path) -> Path:
    (folder / "stsb_ru").mkdir(parents=True)
    for path in (real_sources / "stsb_ru").glob("*.csv"):
        shutil.copyfile(path, folder / "stsb_ru" / path.name)
    return folder


@needs_model
@pytest.mark.filterwarnings("default")  # warnings of transformers and torch are not ours to fix
def test_verdicts_are_those_of_the_model_whatever_the_batch(model: Path) -> None:
    import torch
    from transformers import AutoTokenizer, RobertaForSequenceClassification

    tokenizer = AutoTokenizer.from_pretrained(str(model))
    network = RobertaForSequenceClassification.from_pretrained(str(model)).eval()
    sentences = [f"{kind} {number}" for number in range(12) for kind in SENTENCES_OF_ALL_KINDS]
    with torch.inference_mode():
        scores = [network(**tokenizer([sentence], return_tensors="pt")).logits[0] for sentence in sentences]
    expected = [bool(score[1] > score[0]) for score in scores]
    assert set(expected) == {True, False}, "a model with a single verdict would prove nothing"
    classify = loading.load_classifier(str(model), None)
    assert classify(sentences) == expected
    assert [classify([sentence])[0] for sentence in sentences] == expected
    assert classify(sentences[::-1]) == expected[::-1]


@needs_model
@pytest.mark.filterwarnings("default")
def test_a_sentence_too_long_for_the_model_is_judged_by_its_beginning(model: Path) -> None:
    beginning = "Снег идёт. " * 2000
    one, other = loading.load_classifier(str(model), None)([beginning, beginning + "Мама мыла раму. " * 100])
    assert one == other


@needs_model
@pytest.mark.filterwarnings("default")
def test_the_command_decides_on_all_real_sentences_once_and_the_recipe_reads_them(
    model: Path, real_sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy_csv_files(tmp_path / "raw", real_sources)
    arguments = ("stsb_ru", "--raw-dir", str(folder), "--cache", str(tmp_path / "cache"), "--model", str(model))
    assert run_command(monkeypatch, *arguments) == 0
    target = folder / "stsb_ru" / "rucola-decisions.jsonl"
    output, written = capsys.readouterr().out, target.read_bytes()
    classifier = json.loads(written.split(b"\n", 1)[0])["classifier"]
    assert classifier.startswith("tiny@sha256:")
    verdicts = dict(read_decisions(Raw("decisions", target), classifier).iter_rows())
    unacceptable = sum(not verdict for verdict in verdicts.values())
    assert len(verdicts) == 15_085
    assert 0 < unacceptable < 15_085
    assert f"15,085 sentences, {unacceptable:,} of them not acceptable" in output

    files = csv_files(folder / "stsb_ru") | {"decisions": Raw("decisions", target)}
    tables = build_tables(files, tmp_path, classifier=classifier)
    assert sum(dropped.count for dropped in tables.dropped) + sum(frame(tables, split).height for split in ROWS) == sum(
        ROWS.values()
    )
    assert all(verdicts[text] for split in ROWS for text in frame(tables, split)["sentence1"])

    monkeypatch.setattr(loading, "load_classifier", lambda *_, **__: pytest.fail("the model was loaded again"))
    assert run_command(monkeypatch, *arguments) == 0
    assert target.read_bytes() == written
    with pytest.raises(SourceError, match="decisions of another classifier"):
        run_command(monkeypatch, *arguments[:-2])
    assert target.read_bytes() == written


@needs_model
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("folder", "wrong"), [("three labels", "not a binary classifier"), ("no config", "cannot be loaded")]
)
def test_a_model_that_is_not_a_binary_classifier_is_refused(folder: str, wrong: str, tmp_path: Path) -> None:
    path = tiny_model(tmp_path / "model", labels=3)
    if folder == "no config":
        (path / "config.json").write_text("{}")
    with pytest.raises(SourceError, match=wrong):
        loading.load_classifier(str(path), None)


@pytest.mark.parametrize(
    "missing",
    ["torch", pytest.param("transformers", marks=pytest.mark.extra("torch"))],  # torch would be named first
)
def test_without_the_extra_the_error_says_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match="deciding needs transformers and torch") as caught:
        loading.load_classifier("anything", None)
    assert "pip install '.[acceptability]'" in str(caught.value)


@pytest.mark.parametrize(
    ("extra", "error"),
    [
        (["--model", "nowhere"], "no model found"),
        (["--raw-dir", "nowhere"], "the directory of raw files does not exist"),
    ],
)
def test_folders_on_the_command_line_must_exist(
    extra: list[str], error: str, real_sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = copy_csv_files(tmp_path / "raw", real_sources)
    with pytest.raises(DatasetError, match=error):
        run_command(monkeypatch, "stsb_ru", "--raw-dir", str(folder), "--cache", str(tmp_path / "cache"), *extra)


def test_the_command_requires_raw_dir(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        run_command(monkeypatch, "stsb_ru")
    assert exit_info.value.code == 2
    assert "--raw-dir is needed" in capsys.readouterr().err
