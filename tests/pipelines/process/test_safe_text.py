"""What may be shown: no token of the user, no character that controls a terminal."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.process.safe_text import first_line, mask_tokens, safe_text
from tests.support.processes import run
from tests.support.tokens import HARMLESS, TOKENS


@pytest.fixture(autouse=True)
def no_tokens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"),
        ("a\0b\x07c\rd\x7fe\x9bf", "a\\u0000b\\u0007c\\u000dd\\u007fe\\u009bf"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("out\udcff", "out\\udcff"),
        ("строка\t1\nстрока 2\xa0😀", "строка\t1\nстрока 2\xa0😀"),
    ],
)
def test_control_characters_are_escaped_and_other_text_stays(text: str, shown: str) -> None:
    assert safe_text(text) == shown


def test_of_an_error_the_first_line_is_quoted_or_its_type() -> None:
    assert first_line(ValueError("\nfirst\nsecond")) == "first"
    assert first_line(ValueError("a" * 1000)) == "a" * 300
    assert first_line(KeyboardInterrupt()) == "KeyboardInterrupt"


@given(st.dictionaries(st.text(), st.text(alphabet=st.characters(blacklist_categories=["Cs"])) | st.integers()))
def test_json_keeps_its_values(value: dict[str, object]) -> None:
    assert json.loads(safe_text(json.dumps(value, ensure_ascii=False))) == value


@pytest.mark.parametrize("name", ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"])
def test_a_token_in_the_environment_is_masked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "my-own-secret")
    assert mask_tokens("no access with my-own-secret (my-own-secret)") == "no access with [token] ([token])"


@pytest.mark.parametrize("variable", [None, "HF_TOKEN_PATH"])
def test_the_stored_token_is_masked(variable: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ("token" if variable is None else "elsewhere")
    path.write_text("stored-secret\n")
    if variable:
        monkeypatch.setenv(variable, str(path))
    assert mask_tokens("invalid: stored-secret") == "invalid: [token]"


@pytest.mark.parametrize("form", TOKENS)
def test_what_looks_like_a_token_is_masked_and_the_text_around_it_stays(form: str) -> None:
    secret, text = TOKENS[form]
    assert mask_tokens(text.format(secret)) == text.format("[token]")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_not_a_token_stays(text: str) -> None:
    assert mask_tokens(text) == text


def test_a_short_token_is_not_masked_because_it_would_garble_all_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "a")
    assert mask_tokens("a message") == "a message"


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_names_of_a_foreign_dataset_reach_neither_stdout_nor_stderr_unescaped(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "my-own-secret")
    card = {"configs": [{"config_name": "\x1b[2J\x9bmy-own-secret", "data_files": "test.csv"}]}
    (tmp_path / "README.md").write_text(f"---\n{json.dumps(card)}\n---\n")
    (tmp_path / "test.csv").write_text("sentence1,sentence2,score\na man walks,a man runs,1\na,b,0\n")
    process = run("check", str(tmp_path), *options)
    assert "\\u001b[2J\\u009b[token]" in process.stdout, process.stderr
    process = run("check", str(tmp_path), "--subset", "\x1b[31mother", *options)
    assert process.returncode == 3
    assert "\\u001b[2J\\u009b[token]" in process.stderr
    assert not set("\x1b\x9b") & set(process.stdout + process.stderr)
