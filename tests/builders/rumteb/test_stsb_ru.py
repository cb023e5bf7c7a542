"""STSb in Russian: what is dropped, the file of decisions, and the command that lets a classifier make it.

The classifier of these tests is a tiny model of the real one's architecture, made here with random weights: what it decides is
no good Russian, but it is loaded, run and asked as the real one is.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

from builders.errors import DatasetError, SourceError, UsageError
from builders.rumteb import stsb_ru
from builders.rumteb.stsb_ru.decisions import decision_line, find_acceptable, head_line, read_decisions
from builders.spec import Raw, RawFiles, Tables
from pipelines import decide
from pipelines.raw.locations import locate
from pipelines.raw.settings import RawSettings
from tests.support.releases import definition_of

if TYPE_CHECKING:
    from pathlib import Path

ME = "this test@1"
READ = {"train": 5749, "validation": 1500, "test": 1379}
DISTINCT_PAIRS = {"train": 5694, "validation": 1495, "test": 1376}
needs_model = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None,
    reason="transformers and torch are not installed: pip install '.[acceptability]'",
)


def decisions(path: Path, verdicts: dict[str, bool], classifier: str = ME) -> Raw:
    lines = [head_line(classifier), *(decision_line(one, acceptable=verdict) for one, verdict in verdicts.items())]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    return Raw("stsb_ru/rucola-decisions.jsonl", path)


def csv_files(folder: Path) -> dict[str, Raw]:
    return {key: Raw(f"stsb_ru/{key}", folder / f"stsb-ru-{key}.csv") for key in stsb_ru.FILES.values()}


def recipe(files: dict[str, Raw], folder: Path, **options: str) -> Tables:
    return stsb_ru.sts.recipe(RawFiles(tuple(stsb_ru.FILES), files, folder), **options)


def frame(tables: Tables, split: str) -> pl.DataFrame:
    return tables.frames["default"][split].lazy().collect()


# The recipe


def test_the_real_files_have_the_published_rows_and_unique_pairs(real_sources: Path, tmp_path: Path) -> None:
    files = csv_files(real_sources / "stsb_ru")
    each = stsb_ru.sentences(files.values())
    assert len(each) == len(set(each)) == 15_085
    files["decisions"] = decisions(tmp_path / "decisions.jsonl", dict.fromkeys(each, True))
    by_row, by_pair = (recipe(files, tmp_path, classifier=ME, same=same) for same in stsb_ru.SAME)
    for split, rows in READ.items():
        assert by_row.observed[f"pairs read in {split}"] == rows
        assert by_row.observed[f"distinct by pair in {split}"] == DISTINCT_PAIRS[split]
        assert frame(by_pair, split).height == DISTINCT_PAIRS[split]
        kept = frame(by_row, split)
        assert kept.n_unique(["sentence1", "sentence2"]) == DISTINCT_PAIRS[split]
        assert kept.n_unique(["sentence1", "sentence2", "score"]) == kept.height
        assert kept["score"].is_between(0, 5).all()
    assert [frame(by_row, split).height for split in READ] == [5708, 1498, 1376]


def test_a_pair_falls_with_either_of_its_sentences(real_sources: Path, tmp_path: Path) -> None:
    files = csv_files(real_sources / "stsb_ru")
    verdicts = {one: len(one) % 7 > 0 for one in stsb_ru.sentences(files.values())}
    files["decisions"] = decisions(tmp_path / "decisions.jsonl", verdicts)
    tables = recipe(files, tmp_path, classifier=ME)
    for split, rows in READ.items():
        kept = frame(tables, split)
        assert all(verdicts[one] for side in ("sentence1", "sentence2") for one in kept[side])
        unacceptable, *repeated = (dropped for dropped in tables.dropped if dropped.split == split)
        assert unacceptable.reason == "a sentence is not acceptable"
        assert kept.height + unacceptable.count + sum(dropped.count for dropped in repeated) == rows


def test_the_clean_version_has_every_real_pair_once_and_test_keeps_what_splits_share(
    real_sources: Path, tmp_path: Path
) -> None:
    files = csv_files(real_sources / "stsb_ru")
    verdicts = dict.fromkeys(stsb_ru.sentences(files.values()), True)
    files["decisions"] = decisions(tmp_path / "decisions.jsonl", verdicts)
    tables = recipe(files, tmp_path, classifier=ME, clean=True)
    assert {split: frame(tables, split).height for split in READ} == {"train": 5607, "validation": 1485, "test": 1370}
    assert [(one.split, one.count) for one in tables.dropped] == [
        ("train", 71), ("train", 42), ("train", 15), ("train", 14),
        ("validation", 9), ("validation", 2), ("validation", 4), ("test", 6), ("test", 3),
    ]  # fmt: skip
    unordered = pl.concat_list("sentence1", "sentence2").list.sort()
    everything = pl.concat(frame(tables, split) for split in READ).select(unordered)
    assert everything.n_unique() == everything.height
    alone = RawFiles(
        ("test",), {key: files[key] for key in definition_of("ru-stsbenchmark-sts").dataset.needs["test"]}, tmp_path
    )
    tests = stsb_ru.sts.recipe(alone, classifier=ME, clean=True)
    assert frame(tests, "test").equals(frame(tables, "test"))


def test_without_decisions_the_error_names_the_command_that_makes_them(tmp_path: Path) -> None:
    (tmp_path / "stsb_ru").mkdir()
    places = RawSettings(raw_dir=tmp_path, cache=tmp_path / "cache", offline=True, lock=tmp_path / "lock.json")
    with pytest.raises(SourceError, match="must be fetched by hand") as caught:
        locate(stsb_ru.SOURCE, "decisions", places)
    assert "pip install '.[acceptability]'" in str(caught.value)
    assert "python -m pipelines.decide stsb_ru --raw-dir DIR" in str(caught.value)
    assert str(tmp_path / "stsb_ru" / "rucola-decisions.jsonl") in str(caught.value)


# The file of decisions


def test_decisions_are_read_as_they_were_written(tmp_path: Path) -> None:
    verdicts = {"Снег.": True, 'Он сказал "да"\n': False, "": True}
    raw = decisions(tmp_path / "decisions.jsonl", verdicts)
    read = read_decisions(raw, ME)
    assert dict(read.iter_rows()) == verdicts
    asked = pl.Series(["", "Снег.", 'Он сказал "да"\n', "Снег."])
    assert find_acceptable(asked, read, raw).to_list() == [True, True, False, True]


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("", "line 1", "not the decisions of this classifier"),
        (decision_line("Снег.", acceptable=True), "line 1", "not the decisions of this classifier"),
        (head_line("another@2"), "line 1", "not the decisions of this classifier"),
        (f'{head_line(ME)}\n{{"sentence": "Снег."}}', "line 2", "no decision"),
        (f'{head_line(ME)}\n{{"acceptable": true}}', "line 2", "no decision"),
        (f'{head_line(ME)}\n{{"sentence": "Снег.", "acceptable": 1}}', "line 2", "wrong type"),
        (
            "\n".join([head_line(ME), *[decision_line("Снег.", acceptable=one) for one in (True, False)]]),
            "line 3",
            "twice",
        ),
    ],
)
def test_what_is_no_file_of_decisions_is_refused_with_its_line(
    text: str, place: str, what: str, tmp_path: Path
) -> None:
    path = tmp_path / "decisions.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=what) as caught:
        read_decisions(Raw("stsb_ru/decisions", path), ME)
    assert place in str(caught.value)


def test_a_sentence_that_nobody_decided_on_is_an_error_not_a_dropped_pair(tmp_path: Path) -> None:
    raw = decisions(tmp_path / "decisions.jsonl", {"Снег.": True})
    with pytest.raises(SourceError, match="not all sentences are decided") as caught:
        find_acceptable(pl.Series(["Снег.", "Дождь.", "Град.", "Дождь."]), read_decisions(raw, ME), raw)
    assert "2 sentences, the first is 'Дождь.'" in str(caught.value)
    assert "pipelines.decide" in str(caught.value)


# Writing decisions: here any function of sentences will do


def even(sentences: list[str]) -> list[bool]:
    return [len(sentence) % 2 == 0 for sentence in sentences]


SENTENCES = ["я" * length for length in range(1, 3 * decide.BATCH)]


def test_an_interrupted_command_goes_on_where_it_stopped_and_ends_in_the_same_file(tmp_path: Path) -> None:
    asked: list[str] = []

    def dies_in_the_third_batch(sentences: list[str]) -> list[bool]:
        if len(asked) >= 2 * decide.BATCH:
            raise KeyboardInterrupt
        asked.extend(sentences)
        return even(sentences)

    whole, target = tmp_path / "whole.jsonl", tmp_path / "decisions.jsonl"
    decide.decide(SENTENCES, even, ME, whole)
    with pytest.raises(KeyboardInterrupt):
        decide.decide(SENTENCES, dies_in_the_third_batch, ME, target)
    assert not target.exists()
    rest: list[str] = []
    decide.decide(SENTENCES, lambda batch: rest.extend(batch) or even(batch), ME, target)
    assert rest == SENTENCES[2 * decide.BATCH :]
    assert target.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["decisions.jsonl", "whole.jsonl"]


@pytest.mark.parametrize("cut", [1, 40, 200, 900])
def test_a_line_torn_by_a_kill_is_decided_again(cut: int, tmp_path: Path) -> None:
    whole, target = tmp_path / "whole.jsonl", tmp_path / "decisions.jsonl"
    decide.decide(SENTENCES, even, ME, whole)
    (tmp_path / "decisions.jsonl.part").write_bytes(whole.read_bytes()[:-cut])
    decide.decide(SENTENCES, even, ME, target)
    assert target.read_bytes() == whole.read_bytes()


def test_what_another_classifier_or_other_sentences_left_is_not_taken_up(tmp_path: Path) -> None:
    for classifier, sentences in (("another@2", SENTENCES), (ME, SENTENCES[::-1])):
        part = tmp_path / "decisions.jsonl.part"
        lines = [head_line(classifier), *(decision_line(one, acceptable=True) for one in sentences)]
        part.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        decide.decide(SENTENCES, even, ME, tmp_path / "decisions.jsonl")
        read = read_decisions(Raw("decisions", tmp_path / "decisions.jsonl"), ME)
        assert dict(read.iter_rows()) == dict(zip(SENTENCES, even(SENTENCES), strict=True))


# The classifier


WORDS = "человек мужчина женщина собака играет на гитаре идёт снег дождь бежит по полю и говорит что президент сказал"
UNLIKE = ["Снег идёт.", "Мама мыла раму", "А что?", "Президент сказал, что дождя не будет.", "Собака бежит 5 дней"]


def tiny_model(folder: Path, *, labels: int = 2) -> Path:
    """A RoBERTa of one small layer with random weights, in the files that the real one has on the Hub: no tokenizer.json, no
    safetensors, and one id for padding and the beginning in its configuration, though its tokenizer has two.
    """
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import AutoTokenizer, RobertaConfig, RobertaForSequenceClassification

    folder.mkdir()
    trained = ByteLevelBPETokenizer()
    special = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator([WORDS] * 3, 800, special_tokens=special)
    trained.save_model(str(folder))
    torch.set_num_threads(1)  # so small a model only waits for more
    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=800, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=514, type_vocab_size=1, num_labels=labels, initializer_range=0.5,
        bos_token_id=1, pad_token_id=1, eos_token_id=2,
    )  # fmt: skip
    config.architectures = ["RobertaForSequenceClassification"]
    config.save_pretrained(str(folder))
    network = RobertaForSequenceClassification(config).eval()
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    with torch.inference_mode():  # in the middle between some sentences, so that it does not always say the same
        scores = network(**tokenizer(UNLIKE, padding=True, return_tensors="pt")).logits
        network.classifier.out_proj.bias[1] -= (scores[:, 1] - scores[:, 0]).median()
    torch.save(network.state_dict(), folder / "pytorch_model.bin")
    assert {path.name for path in folder.iterdir()} == {"config.json", "merges.txt", "pytorch_model.bin", "vocab.json"}
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model") / "tiny")


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["decide", *arguments])
    return decide.main()


def raw_dir(folder: Path, real_sources: Path) -> Path:
    (folder / "stsb_ru").mkdir(parents=True)
    for path in (real_sources / "stsb_ru").glob("*.csv"):
        shutil.copyfile(path, folder / "stsb_ru" / path.name)
    return folder


@needs_model
@pytest.mark.filterwarnings("default")  # what transformers and torch warn of is not ours to mend
def test_verdicts_are_the_models_own_whatever_the_batch(model: Path) -> None:
    import torch
    from transformers import AutoTokenizer, RobertaForSequenceClassification

    tokenizer = AutoTokenizer.from_pretrained(str(model))
    network = RobertaForSequenceClassification.from_pretrained(str(model)).eval()
    sentences = [f"{one} {number}" for number in range(12) for one in UNLIKE]
    with torch.inference_mode():
        own = [network(**tokenizer([one], return_tensors="pt")).logits[0] for one in sentences]
    expected = [bool(two[1] > two[0]) for two in own]
    assert set(expected) == {True, False}, "a model that always says the same would prove nothing"
    classify = decide.load(str(model), None)
    assert classify(sentences) == expected
    assert [classify([one])[0] for one in sentences] == expected
    assert classify(sentences[::-1]) == expected[::-1]


@needs_model
@pytest.mark.filterwarnings("default")
def test_a_sentence_longer_than_the_model_reads_is_judged_by_its_beginning(model: Path) -> None:
    beginning = "Снег идёт. " * 2000
    one, other = decide.load(str(model), None)([beginning, beginning + "Мама мыла раму. " * 100])
    assert one == other


@needs_model
@pytest.mark.filterwarnings("default")
def test_the_command_decides_on_all_real_sentences_once_and_the_build_takes_them(
    model: Path, real_sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = raw_dir(tmp_path / "raw", real_sources)
    arguments = ("stsb_ru", "--raw-dir", str(folder), "--cache", str(tmp_path / "cache"), "--model", str(model))
    assert command(monkeypatch, *arguments) == 0
    target = folder / "stsb_ru" / "rucola-decisions.jsonl"
    said, written = capsys.readouterr().out, target.read_bytes()
    classifier = json.loads(written.split(b"\n", 1)[0])["classifier"]
    assert classifier.startswith("tiny@sha256:")
    verdicts = dict(read_decisions(Raw("decisions", target), classifier).iter_rows())
    refused = sum(not verdict for verdict in verdicts.values())
    assert len(verdicts) == 15_085
    assert 0 < refused < 15_085
    assert f"15,085 sentences, {refused:,} of them not acceptable" in said

    files = csv_files(folder / "stsb_ru") | {"decisions": Raw("decisions", target)}
    tables = recipe(files, tmp_path, classifier=classifier)
    assert sum(dropped.count for dropped in tables.dropped) + sum(frame(tables, split).height for split in READ) == sum(
        READ.values()
    )
    assert all(verdicts[one] for split in READ for one in frame(tables, split)["sentence1"])

    monkeypatch.setattr(decide, "load", lambda *_: pytest.fail("the model was loaded again"))
    assert command(monkeypatch, *arguments) == 0
    assert target.read_bytes() == written
    with pytest.raises(SourceError, match="not the decisions of this classifier"):
        command(monkeypatch, *arguments[:-2])
    assert target.read_bytes() == written


@needs_model
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("folder", "wrong"), [("three labels", "no classifier of acceptability"), ("no config", "cannot be loaded")]
)
def test_a_model_that_cannot_decide_is_refused(folder: str, wrong: str, tmp_path: Path) -> None:
    path = tiny_model(tmp_path / "model", labels=3)
    if folder == "no config":
        (path / "config.json").write_text("{}")
    with pytest.raises(SourceError, match=wrong):
        decide.load(str(path), None)


@pytest.mark.parametrize("missing", ["torch", "transformers"])
def test_without_the_extra_the_error_says_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    if missing == "transformers" and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is missing too, and named first")
    with pytest.raises(UsageError, match="deciding needs transformers and torch") as caught:
        decide.load("anything", None)
    assert "pip install '.[acceptability]'" in str(caught.value)


@pytest.mark.parametrize(
    ("extra", "error"),
    [(["--model", "nowhere"], "there is no model"), (["--raw-dir", "nowhere"], "the folder of raw files is not there")],
)
def test_what_the_command_line_names_must_exist(
    extra: list[str], error: str, real_sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = raw_dir(tmp_path / "raw", real_sources)
    with pytest.raises(DatasetError, match=error):
        command(monkeypatch, "stsb_ru", "--raw-dir", str(folder), "--cache", str(tmp_path / "cache"), *extra)


def test_the_command_needs_a_place_to_write_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command(monkeypatch, "stsb_ru")
    assert ended.value.code == 2
    assert "--raw-dir is needed" in capsys.readouterr().err
