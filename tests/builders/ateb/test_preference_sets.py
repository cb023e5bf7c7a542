"""The preference sets one by one: rated systems as pairs, each source's own rules, gates, and what ids and places tell."""

from __future__ import annotations

import gzip
import json
from functools import cache
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any

import huggingface_hub
import polars as pl
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from builders.ateb.hh_rlhf import ANSWER
from builders.ateb.instrusum import SYSTEMS
from builders.errors import SourceError
from builders.reading import read_json_array
from builders.shaping.preferences import ALONE, EMPTY, EQUAL, TIE, pair_systems, rerank_pairs
from builders.spec import Dropped, Raw, RawFiles
from pipelines.audit import integrity
from pipelines.make import GOLDEN
from pipelines.raw.locations import locate
from pipelines.raw.settings import RawSettings
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.preference_pairs import CONFIGS, assert_same, best_guess, chance, frame, judged, quick
from tests.support.releases import definition_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from builders.spec import Tables

Rating = tuple[str, str, str, float]  # prompt, system, response, rating

SETS = {
    "alpacafarm-reranking": ("test",),
    "hhrlhf-helpful-reranking": ("train", "test"),
    "beavertails-helpful-reranking": ("train", "test"),
    "lmsys-reranking": ("test",),
    "instrusum-reranking": ("test",),
    "genie-reranking": ("test",),
}
BATTLES = "data/train-00000-of-00001-cced8514c7ed782a.parquet"


def made(name: str, folder: Path, *splits: str) -> Tables:
    """What a recipe makes of the raw files in a folder; it breaks no rule of its task."""
    dataset, source = definition_of(name).dataset, definition_of(name).source
    splits = splits or SETS[name]
    keys = [key for split in splits for key in dataset.needs[split]]
    files = {key: Raw(f"{source.name}/{source.files[key].name}", folder / source.files[key].name) for key in keys}
    tables = dataset.recipe(RawFiles(splits, files, folder / "scratch"))
    frames = {config: {split: frame(tables, config, split).lazy() for split in splits} for config in CONFIGS}
    assert integrity.check_integrity(dataset.task, frames, splits) == []
    return tables


def golden(name: str) -> Path:
    return GOLDEN / definition_of(name).source.name / "raw"


def dropped(tables: Tables, split: str = "test") -> dict[str, int]:
    return {gone.reason: gone.count for gone in tables.dropped if gone.split == split}


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def json_lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def parquet(path: Path, rows: list[dict[str, Any]], like: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pa.parquet.write_table(pa.Table.from_pylist(rows, pa.parquet.read_schema(like)), path)


# Rated systems


def ratings(rows: list[Rating]) -> pl.DataFrame:
    schema = {"id": pl.String, "system": pl.String, "response": pl.String, "rating": pl.Float64}
    return pl.DataFrame(rows, schema, orient="row").with_columns(query="ask " + pl.col("id"))


def paired(rows: list[Rating]) -> list[tuple[Any, ...]]:
    pairs, _ = pair_systems(ratings(rows), split="test")
    return pairs.select("id", "query", "a", "b", "a_preferred").rows()


def test_every_two_systems_on_a_prompt_are_a_pair_and_the_higher_mean_is_preferred() -> None:
    rows: list[Rating] = [
        ("p", "y", "why", 1.0), ("p", "x", "ex", 5.0), ("q", "x", "ex 2", 3.0), ("p", "z", "zed", 4.0),
        ("p", "x", "ex", 2.0), ("q", "y", "why 2", 3.5),
    ]  # fmt: skip
    assert paired(rows) == [
        ("p-0", "ask p", "ex", "why", True),
        ("p-1", "ask p", "ex", "zed", False),
        ("p-2", "ask p", "why", "zed", False),
        ("q-0", "ask q", "ex 2", "why 2", False),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([0.1, 0.2], [0.15]),
        ([4.0, 5.0], [4.5]),
        ([1.0, 1.0, 2.0], [1.0, 2.0, 1.0]),
        ([3.6666666666666665], [3.6666666666666665]),
        ([0.3], [0.1, 0.2, 0.6]),
        ([-1.0, 1.0], [0.0]),
    ],
)
def test_equal_means_are_a_tie_whatever_floating_point_makes_of_them(one: list[float], other: list[float]) -> None:
    rows = [("p", system, system, rating) for system, given in (("x", one), ("y", other)) for rating in given]
    assert [pair[-1] for pair in paired(rows)] == [None]


def test_means_that_differ_in_the_last_digit_are_no_tie() -> None:
    assert paired([("p", "x", "ex", 3.6666666666666665), ("p", "y", "why", 3.666666666666667)])[0][-1] is False


def test_a_prompt_with_one_system_makes_no_pair_and_is_counted() -> None:
    pairs, gone = pair_systems(ratings([("p", "x", "a", 1), ("p", "x", "a", 2), ("q", "x", "b", 1)]), split="test")
    assert pairs.height == 0
    assert gone == (Dropped(ALONE, 2, "test", ("p", "q")),)


def test_what_is_known_of_a_prompt_stays_beside_its_pairs() -> None:
    rows = ratings([("p", "x", "a", 1.0), ("p", "y", "b", 2.0)]).with_columns(task=pl.lit("xsum"))
    pairs, _ = pair_systems(rows, split="test")
    assert set(pairs.columns) == {"id", "query", "a", "b", "a_preferred", "task"}
    assert frame(rerank_pairs(pairs, split="test"), "queries").rows() == [("p-0", "ask p", "xsum")]


rated = st.lists(
    st.tuples(st.sampled_from("pqr"), st.sampled_from("wxyz"), st.sampled_from([0.5, 1, 2, 2.5, 4])), max_size=20
).map(lambda rows: [(prompt, system, f"{prompt} by {system}", rating) for prompt, system, rating in rows])


@quick
@given(rated)
def test_pairs_are_all_twos_of_the_systems_of_each_prompt(rows: list[Rating]) -> None:
    given_to: dict[str, dict[str, list[float]]] = {}
    for prompt, system, _, rating in rows:
        given_to.setdefault(prompt, {}).setdefault(system, []).append(rating)
    expected = []
    for prompt, systems in given_to.items():
        means = {system: fmean(given) for system, given in systems.items()}  # exact for these numbers, but for thirds
        for n, (x, y) in enumerate(combinations(sorted(systems), 2)):
            preferred = None if abs(means[x] - means[y]) < 1e-9 else means[x] > means[y]
            expected.append((f"{prompt}-{n}", f"ask {prompt}", f"{prompt} by {x}", f"{prompt} by {y}", preferred))
    assert paired(rows) == expected


@quick
@given(rated, st.randoms(use_true_random=False))
def test_the_order_of_ratings_decides_nothing_but_the_order_of_prompts(rows: list[Rating], random: Any) -> None:
    mixed = random.sample(rows, len(rows))
    pairs = paired(mixed)
    assert sorted(pairs, key=str) == sorted(paired(rows), key=str)
    first_rated = [f"ask {prompt}" for prompt, *_ in mixed]
    assert [query for _, query, *_ in pairs] == sorted((query for _, query, *_ in pairs), key=first_rated.index)


# What ids and places tell of a source in which the better response always stands in the same place


def alpacafarm(folder: Path, count: int) -> None:
    rows = [
        {"instruction": f"do {n}", "input": "", "output_1": f"good {n}", "output_2": f"bad {n}", "preference": 1}
        for n in range(count)
    ]
    put(folder / "alpaca_human_preference.json", json.dumps(rows).encode())


def hh_rlhf(folder: Path, count: int) -> None:
    rows = [
        {side: f"\n\nHuman: do {n}\n\nAssistant: {side} {n}" for side in ("chosen", "rejected")} for n in range(count)
    ]
    for split in ("train", "test"):
        put(folder / "helpful-base" / f"{split}.jsonl.gz", gzip.compress(json_lines(rows)))


def pku_safe_rlhf(folder: Path, count: int) -> None:
    rows = [
        {"prompt": f"do {n}", "response_0": f"bad {n}", "response_1": f"good {n}", "is_response_0_safe": True,
         "is_response_1_safe": True, "better_response_id": 1, "safer_response_id": 0}
        for n in range(count)
    ]  # fmt: skip
    for split in ("train", "test"):
        like = golden("beavertails-helpful-reranking") / f"{split}.parquet"
        parquet(folder / f"{split}.parquet", rows, like)


@cache
def plain_battle() -> dict[str, Any]:
    """A battle of one message that nothing flags."""
    return lines_of(GOLDEN / "lmsys_arena" / "battles.jsonl")[0]


def battle(n: int, message: str, a: str, b: str, winner: str) -> dict[str, Any]:
    conversations = {
        f"conversation_{side}": [{"content": message, "role": "user"}, {"content": answer, "role": "assistant"}]
        for side, answer in (("a", a), ("b", b))
    }
    return plain_battle() | conversations | {"question_id": f"question {n}", "winner": winner}


def lmsys_arena(folder: Path, count: int) -> None:
    rows = [battle(n, f"do {n}", f"good {n}", f"bad {n}", "model_a") for n in range(count)]
    parquet(folder / BATTLES, rows, golden("lmsys-reranking") / BATTLES)


def instrusum(folder: Path, count: int) -> None:
    def summaries(n: int) -> dict[str, Any]:
        return {
            system: {"summary": f"{system} of {n}", "score": {"overall": 5 - place}}
            for place, system in enumerate(SYSTEMS)
        }

    rows = [{"article": f"news {n}", "requirement": "short", "annotations": summaries(n)} for n in range(count // 10)]
    put(folder / "human_eval.json", json.dumps(rows).encode())


def genie(folder: Path, count: int) -> None:
    rows = [
        {"task": "t", "prompt": f"do {n}", "response": f"{system} {n}", "system": system, "rating": rating}
        for n in range(count // 3)
        for system, rating in (("best", 3), ("middle", 2), ("worst", 1))
    ]
    put(folder / "ratings.jsonl", json_lines(rows))


WRITERS = {
    "alpacafarm-reranking": alpacafarm,
    "hhrlhf-helpful-reranking": hh_rlhf,
    "beavertails-helpful-reranking": pku_safe_rlhf,
    "lmsys-reranking": lmsys_arena,
    "instrusum-reranking": instrusum,
    "genie-reranking": genie,
}


@pytest.mark.parametrize("name", SETS)
def test_no_rule_over_ids_and_places_finds_the_better_response(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path, 3_000)
    tables = made(name, tmp_path)
    assert not tables.dropped
    for split in SETS[name]:
        share, pairs = best_guess(tables, split)
        assert pairs == 3_000
        assert share < chance(pairs)


# Each source's own rules


def test_the_last_answer_of_a_transcript_is_the_document_and_all_before_it_the_query() -> None:
    tables = made("hhrlhf-helpful-reranking", golden("hhrlhf-helpful-reranking"), "test")
    with gzip.open(
        golden("hhrlhf-helpful-reranking") / "helpful-base" / "test.jsonl.gz", "rt", encoding="utf-8"
    ) as file:
        rows = [json.loads(line) for line in file]
    text_of = dict(frame(tables, "corpus").select("id", "text").iter_rows())
    query_of = dict(frame(tables, "queries").iter_rows())
    scores = frame(tables, "qrels").rows()
    assert len(scores) == 12
    for query, document, score in scores:
        transcript = rows[int(query.removeprefix("test-"))]["chosen" if score else "rejected"]
        assert query_of[query] + ANSWER + text_of[document] == transcript


def test_a_helpful_build_of_one_split_asks_for_no_file_of_the_other_or_of_the_harmless_part() -> None:
    source, dataset = (
        definition_of("hhrlhf-helpful-reranking").source,
        definition_of("hhrlhf-helpful-reranking").dataset,
    )
    assert [source.files[key].name for key in dataset.needs["test"]] == ["helpful-base/test.jsonl.gz"]


def test_a_transcript_without_an_answer_is_an_error_with_its_place(tmp_path: Path) -> None:
    rows = [{"chosen": "\n\nHuman: a\n\nAssistant: b", "rejected": "\n\nHuman: a"}]
    put(tmp_path / "helpful-base" / "test.jsonl.gz", gzip.compress(json_lines(rows)))
    with pytest.raises(SourceError, match="without an answer") as caught:
        made("hhrlhf-helpful-reranking", tmp_path, "test")
    assert "hh_rlhf/helpful-base/test.jsonl.gz, line 1, key 'rejected'" in str(caught.value)


def swapped_alpacafarm(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"output_1": row["output_2"], "output_2": row["output_1"], "preference": 3 - row["preference"]}


def swapped_battle(row: dict[str, Any]) -> dict[str, Any]:
    other = {"model_a": "model_b", "model_b": "model_a"}
    sides = {"conversation_a": row["conversation_b"], "conversation_b": row["conversation_a"]}
    return row | sides | {"winner": other.get(row["winner"], row["winner"])}


def test_alpacafarms_outputs_swapped_give_the_same_tables(tmp_path: Path) -> None:
    name = "alpacafarm-reranking"
    rows = json.loads((golden(name) / "alpaca_human_preference.json").read_text())
    put(tmp_path / "alpaca_human_preference.json", json.dumps([swapped_alpacafarm(row) for row in rows]).encode())
    assert_same(made(name, tmp_path), made(name, golden(name)))


def test_the_sides_of_battles_swapped_give_the_same_tables(tmp_path: Path) -> None:
    name = "lmsys-reranking"
    rows = [swapped_battle(row) for row in lines_of(GOLDEN / "lmsys_arena" / "battles.jsonl")]
    parquet(tmp_path / BATTLES, rows, golden(name) / BATTLES)
    assert_same(made(name, tmp_path), made(name, golden(name)))


def test_safety_decides_nothing_in_the_helpful_pairs(tmp_path: Path) -> None:
    name = "beavertails-helpful-reranking"
    for split in ("train", "test"):
        rows = lines_of(GOLDEN / "pku_safe_rlhf" / f"{split}.jsonl")
        unsafe = {"is_response_0_safe": False, "is_response_1_safe": False, "safer_response_id": 0}
        parquet(tmp_path / f"{split}.parquet", [row | unsafe for row in rows], golden(name) / f"{split}.parquet")
    assert_same_splits(made(name, tmp_path), made(name, golden(name)), ("train", "test"))


def assert_same_splits(one: Tables, other: Tables, splits: tuple[str, ...]) -> None:
    for split in splits:
        for config in CONFIGS:
            assert_frame_equal(frame(one, config, split), frame(other, config, split))


def test_the_three_other_scores_of_a_summary_decide_nothing(tmp_path: Path) -> None:
    name = "instrusum-reranking"
    rows = json.loads((golden(name) / "human_eval.json").read_text())
    for row in rows:
        for summary in row["annotations"].values():
            summary["score"] = {"overall": summary["score"]["overall"]}
    put(tmp_path / "human_eval.json", json.dumps(rows).encode())
    assert_same(made(name, tmp_path), made(name, golden(name)))


def test_rated_articles_are_read_from_json_lines_as_from_an_array(tmp_path: Path) -> None:
    name = "instrusum-reranking"
    put(tmp_path / "human_eval.json", json_lines(json.loads((golden(name) / "human_eval.json").read_text())))
    assert_same(made(name, tmp_path), made(name, golden(name)))


def test_ratings_may_come_in_any_order(tmp_path: Path) -> None:
    rows = lines_of(golden("genie-reranking") / "ratings.jsonl")
    prompts = list(dict.fromkeys((row["task"], row["prompt"]) for row in rows))
    rows.sort(key=lambda row: (prompts.index((row["task"], row["prompt"])), row["response"], -row["rating"]))
    put(tmp_path / "ratings.jsonl", json_lines(rows))
    assert_same(made("genie-reranking", tmp_path), made("genie-reranking", golden("genie-reranking")))


@pytest.mark.parametrize(
    ("sample", "raw"),
    [
        ("lmsys_arena/battles.jsonl", f"lmsys_arena/raw/{BATTLES}"),
        ("pku_safe_rlhf/train.jsonl", "pku_safe_rlhf/raw/train.parquet"),
        ("pku_safe_rlhf/test.jsonl", "pku_safe_rlhf/raw/test.parquet"),
    ],
)
def test_a_golden_parquet_file_holds_the_rows_that_are_to_be_read_beside_it(sample: str, raw: str) -> None:
    assert pa.parquet.read_table(GOLDEN / raw).equals(pa.json.read_json(GOLDEN / sample))


def error_of(name: str, folder: Path) -> str:
    with pytest.raises(SourceError) as caught:
        made(name, folder, "test")
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"preference": 0}, "unknown preference in 'preference'"),
        ({"preference": 3}, "unknown preference in 'preference'"),
        ({"preference": "1"}, "preference has the wrong type"),
        ({"input": None}, "input is null"),
        ({"output_2": 5}, "output_2 has the wrong type"),
    ],
)
def test_a_malformed_pair_of_alpacafarm_is_an_error_with_its_record(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    rows = json.loads((golden("alpacafarm-reranking") / "alpaca_human_preference.json").read_text())
    rows[2] |= change
    put(tmp_path / "alpaca_human_preference.json", json.dumps(rows).encode())
    error = error_of("alpacafarm-reranking", tmp_path)
    assert message in error
    assert "alpacafarm/alpaca_human_preference.json, record 3" in error


def test_a_better_response_that_is_neither_of_the_two_is_an_error_with_its_record(tmp_path: Path) -> None:
    rows = lines_of(GOLDEN / "pku_safe_rlhf" / "test.jsonl")
    rows[3]["better_response_id"] = 2
    parquet(tmp_path / "test.parquet", rows, golden("beavertails-helpful-reranking") / "test.parquet")
    error = error_of("beavertails-helpful-reranking", tmp_path)
    assert "unknown preference in 'better_response_id'" in error
    assert "pku_safe_rlhf/test.parquet, record 4" in error


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"winner": "model_c"}, "unknown preference in 'winner'"),
        ({"turn": None}, "turn is null"),
        ({"openai_moderation": None}, "openai_moderation is null"),
        (
            {"conversation_b": [{"content": "x", "role": "user"}, {"content": "y", "role": "system"}]},
            "a message of an unexpected role in 'conversation_b'",
        ),
    ],
)
def test_a_malformed_battle_is_an_error_with_its_record(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    rows = [battle(n, "x", f"a {n}", f"b {n}", "model_a") for n in range(4)]
    rows[2] |= change
    parquet(tmp_path / BATTLES, rows, golden("lmsys-reranking") / BATTLES)
    error = error_of("lmsys-reranking", tmp_path)
    assert message in error
    assert f"lmsys_arena/{BATTLES}, record 3" in error


def test_an_article_without_a_rating_of_a_system_is_an_error_with_its_record(tmp_path: Path) -> None:
    rows = json.loads((golden("instrusum-reranking") / "human_eval.json").read_text())
    del rows[1]["annotations"]["hybrid"]["score"]["overall"]
    put(tmp_path / "human_eval.json", json.dumps(rows).encode())
    error = error_of("instrusum-reranking", tmp_path)
    assert "annotations.hybrid.score.overall is missing" in error
    assert "instrusum/human_eval.json, record 2" in error


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"response": "Something else."}, "another response of the same system to the same prompt"),
        ({"rating": "good"}, "rating has the wrong type"),
        ({"rating": None}, "rating is null"),
        ({"system": 7}, "system has the wrong type"),
    ],
)
def test_a_malformed_rating_is_an_error_with_its_line(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    rows = lines_of(golden("genie-reranking") / "ratings.jsonl")
    rows[4] |= change
    put(tmp_path / "ratings.jsonl", json_lines(rows))
    error = error_of("genie-reranking", tmp_path)
    assert message in error
    assert "genie/ratings.jsonl, line 5" in error


# How the raw files are had


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    with FaultyServer({}) as server:
        yield server


def places(server: FaultyServer, folder: Path) -> RawSettings:
    return RawSettings(cache=folder / "cache", lock=folder / "raw.lock.json", hub=server.url)


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    ("name", "key", "repo", "path"),
    [
        ("lmsys-reranking", "battles", "lmsys/chatbot_arena_conversations",
         f"1b6335d42a1d2c7e34870c905d03ab964f7f2bd8/{BATTLES}"),
        ("instrusum-reranking", "human_eval", "Salesforce/InstruSum", "main/human_eval.json"),
    ],
)  # fmt: skip
def test_without_a_token_the_error_names_the_page_where_the_terms_are_accepted(
    name: str, key: str, repo: str, path: str, status: int, hub: FaultyServer, tmp_path: Path
) -> None:
    hub.always[f"/datasets/{repo}/resolve/{path}"] = Fault(status=status)
    with pytest.raises(SourceError) as caught:
        locate(definition_of(name).source, key, places(hub, tmp_path))
    assert f"accept the terms at https://huggingface.co/datasets/{repo}" in str(caught.value)
    assert "no token was found" in str(caught.value)
    assert "HF_TOKEN" in str(caught.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix in {".json", ".parquet"}]


def test_the_first_download_pins_what_has_no_commit(hub: FaultyServer, tmp_path: Path) -> None:
    source = definition_of("beavertails-helpful-reranking").source
    content = (golden("beavertails-helpful-reranking") / "test.parquet").read_bytes()
    path = "/datasets/PKU-Alignment/PKU-SafeRLHF-30K/resolve/refs%2Fconvert%2Fparquet/default/test/0000.parquet"
    hub.files[path] = content
    found = locate(source, "test", places(hub, tmp_path))
    assert found.raw.path.read_bytes() == content
    assert "pku_safe_rlhf/test.parquet" in (tmp_path / "raw.lock.json").read_text()
    found.raw.path.unlink()
    hub.files[path] = content[:-1] + b"?"
    with pytest.raises(SourceError, match="is not the pinned file"):
        locate(source, "test", places(hub, tmp_path))


def test_a_missing_table_of_ratings_says_what_to_write_and_where_to_put_it(hub: FaultyServer, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"genie/ratings\.jsonl must be fetched by hand") as caught:
        locate(definition_of("genie-reranking").source, "ratings", places(hub, tmp_path))
    assert '{"task": "...", "prompt": "...", "response": "...", "system": "...", "rating": 4}' in str(caught.value)
    assert "put it at" in str(caught.value)
    assert not hub.log


# Real files that are near the raw format, made into it


def test_the_real_helpful_pairs_go_through_as_transcripts(real_sources: Path, tmp_path: Path) -> None:
    rows = lines_of(real_sources / "hh_rlhf" / "steamshp" / "anthropic_helpful_test.json")

    def transcript(row: dict[str, Any], side: str) -> str:
        history = "\n\n" + row["history"]
        for marker, own in (("\n\nHUMAN: ", "\n\nHuman: "), ("\n\nASSISTANT: ", f"{ANSWER} ")):
            history = history.replace(marker, own)
        return f"{history}{ANSWER} {row[f'human_ref_{side}']}"

    pairs = [
        {"chosen": transcript(row, "BA"[row["labels"]]), "rejected": transcript(row, "AB"[row["labels"]])}
        for row in rows
    ]
    put(tmp_path / "helpful-base" / "test.jsonl.gz", gzip.compress(json_lines(pairs)))
    tables = made("hhrlhf-helpful-reranking", tmp_path, "test")
    assert tables.observed == {"pairs in test": 2344}
    assert dropped(tables) == {EMPTY: 4, EQUAL: 2}
    for query, two in judged(tables).items():
        row = rows[int(query.removeprefix("test-"))]
        preferred = row["human_ref_A" if row["labels"] else "human_ref_B"]
        assert [text for text, score in two if score] == [f" {preferred}"]
    share, count = best_guess(tables)
    assert count == 2338
    assert share < chance(count)


def test_the_real_pairs_of_a_safe_and_an_unsafe_answer_go_through(real_sources: Path, tmp_path: Path) -> None:
    """Upstream's sample tells which answer is safe, not which is more helpful: the safe one stands in for it."""
    rows = json.loads((real_sources / "pku_safe_rlhf" / "guardreasoner_safe_rlhf.json").read_text("utf-8"))
    texts = [
        row["input"].removeprefix("Human user:\n").removesuffix("\n\n").split("\n\nAI assistant:\n") for row in rows
    ]
    pairs = [
        {"prompt": safe[0], "response_0": safe[1], "response_1": unsafe[1], "is_response_0_safe": True,
         "is_response_1_safe": False, "better_response_id": 0, "safer_response_id": 0}
        for safe, unsafe in zip(texts[:1000], texts[1000:], strict=True)
    ]  # fmt: skip
    assert [safe[0] for safe in texts[:1000]] == [unsafe[0] for unsafe in texts[1000:]]
    parquet(tmp_path / "test.parquet", pairs, golden("beavertails-helpful-reranking") / "test.parquet")
    tables = made("beavertails-helpful-reranking", tmp_path, "test")
    assert tables.observed == {"pairs in test": 1000}
    share, count = best_guess(tables)
    assert count == 1000 - sum(dropped(tables).values())
    assert share < chance(count)


def test_the_real_pairs_of_mt_bench_go_through_as_battles(real_sources: Path, tmp_path: Path) -> None:
    columns = dict.fromkeys(("input", "output_1", "output_2"), pl.String()) | {"label": pl.Int64()}
    pairs = read_json_array(Raw("mt_bench", real_sources / "mt_bench_pairs" / "llmbar_mt_bench.json"), columns)
    winners = ("", "model_a", "model_b")
    rows = [battle(n, *texts, winners[label]) for n, (*texts, label) in enumerate(pairs.iter_rows())]
    rows[0]["winner"] = "tie"
    parquet(tmp_path / BATTLES, rows, golden("lmsys-reranking") / BATTLES)
    tables = made("lmsys-reranking", tmp_path)
    assert tables.observed == {"battles": 200, "pairs in test": 200}
    assert dropped(tables)[TIE] == 1
    share, count = best_guess(tables)
    assert count == 200 - sum(dropped(tables).values())
    assert share < chance(count)
