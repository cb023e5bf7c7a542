"""The text of a card: complete, safe against its data, the same for the same rows. The rows that a card shows. Findings in
words.
"""

import ast
import re
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import tasks
from builders.raw_files import hub
from builders.spec import ConfigPrompts, Dropped, Prompts
from builders.tasks import TYPES
from cards.evidence import Agreement, Evidence, Quote
from cards.manifest import Finding, RawEntry, Recipe
from cards.render import describe_problems, example_table, summarize
from tests.support.card_inputs import (
    TASKS,
    card_for,
    finding,
    frames_for,
    front_matter_of,
)

HOSTILE = (
    "a `b` ```c``` ~~~ | d\n\n---\n\n# e <script>f</script> {{ 7 * 7 }} {% raw %} [g](http://h) <!-- \u202e $$x$$ \\|"
)

LICENCE = (
    "| Licence | cc-by-sa-4.0 ([source](<https://example.org/s>)): you may share it with credit and under the same licence, "
    "also commercially |"
)


def test_every_task_type_of_the_builders_can_have_a_card() -> None:
    types = {task.type.name for task in get_args(tasks.Task)}
    assert types == set(TASKS) == set(TYPES)


def structure(card: str) -> list[str]:
    """What Markdown sees: headings, the number of cells of each table line, where fences begin and end."""
    lines, fence = [], ""
    for line in card.split("---\n", 2)[2].splitlines():
        if fence:
            fence = "" if line == fence else fence
            lines += [] if fence else ["end of fence"]
        elif match := re.match("(`{3,})[a-z]*$", line):
            fence = match[1]
            lines.append("fence")
        elif line.startswith("#"):
            lines.append(line)
        elif line.startswith("|"):
            lines.append(f"{line.count('|')} pipes")
    assert not fence
    return lines


def card_with_text(text: str) -> str:
    """A card with a text everywhere where raw data can come through."""
    return card_for(
        "Reranking",
        frames=frames_for("Reranking", text),
        statistics={"test": {"labels_statistics": {"labels": {text: {"count": 1}}, "longest": text}}},
        evidence=Evidence(({"query": text, "relevant": text}, {text: [text] * 20}), (Quote(text, f"{text} twin"),)),
        dropped=(Dropped(text, 1, text, (text,)),),
        observed={text: 3},
        findings=(finding("short_text", "info", 1, 1.0, examples=(text,), detail=text),),
        raw=(RawEntry(text, f"https://{text}", "a", 1, verified=True),),
        recipe=Recipe("m", {"words": [text], "one": text}, "e"),
    )


@pytest.mark.parametrize(
    "text", [HOSTILE, "```", "|", "`", "\\|", "\\", "---\n---", "<d>", "{{ x }}", " ", "", "\x00\x85\u2028"]
)
def test_texts_of_the_data_cannot_break_the_card(text: str) -> None:
    card = card_with_text(text)
    assert structure(card) == structure(card_with_text("harmless"))
    assert front_matter_of(card) == front_matter_of(card_with_text("harmless"))


@given(st.text(alphabet=st.sampled_from("`|\\<>{%}#*_-=~[]()!&$\n\r\u2028 a"), max_size=12))
def test_no_markup_in_the_data_breaks_the_card(text: str) -> None:
    assert structure(card_with_text(text)) == structure(card_with_text("harmless"))


def test_html_and_templates_of_the_data_are_shown_and_not_run() -> None:
    card = card_with_text(HOSTILE)
    outside = re.sub(r"(?ms)^(`{3,})\w*\n.*?^\1$", "", card)
    assert "<script>" not in re.sub("`[^`\n]*`", "", outside)
    assert "{{ 7 * 7 }}" in card
    assert "49 {%" not in card
    assert "\u202e" not in card


def test_the_first_screen_says_what_decides() -> None:
    head = "| fact | of this release |\n| --- | --- |\n"
    facts = card_for("MultilabelClassification").split(head)[1].split("\n\n")[0].splitlines()
    assert facts == [
        "| Version | 1.9.0, not the newest ([versions](#versions)) |",
        "| Size | train 3 · test 3 rows · 1 kB |",
        "| Task | MultilabelClassification: predict all labels of a text from its embedding · main score `accuracy` on `test` |",
        "| Language | Russian (`rus-Cyrl`) |",
        LICENCE,
        "| Same as published | no figures are published to compare with |",
        "| Known issues | 1 warning, 1 for information · [see below](#known-issues) |",
        "| Rebuild | `embedding-datasets build cedr-classification@1.9.0` → content `dddddddddddd…` |",
    ]


def test_the_size_of_several_tables_is_told_for_each_split() -> None:
    frames = frames_for("Retrieval")
    assert "| Size | 3 queries · 3 documents · 3 judgements · 1 kB |" in card_for("Retrieval")
    one = {"queries": frames["queries"]["test"].head(1)}
    frames = {config: {"train": one.get(config, table["test"]), **table} for config, table in frames.items()}
    size = "| Size | train: 1 query · 3 documents · 3 judgements; test: 3 queries · 3 documents · 3 judgements · 1 kB |"
    assert size in card_for("Retrieval", frames=frames)


@pytest.mark.parametrize(
    ("version", "agreement", "words"),
    [
        ("1.0.0", Agreement(17, 17, "the paper"), "all 17 published figures agree: the paper"),
        ("1.0.0", Agreement(3, 5, "the paper"), "3 of 5 published figures agree: the paper"),
        ("1.0.0", Agreement(1, 1, "the paper"), "the only published figure agrees: the paper"),
        ("1.0.0", None, "no figures are published to compare with"),
        (
            "2.0.0",
            None,
            "**no**, this version is corrected: to compare with the leaderboard of ruMTEB, use version 1.0.0",
        ),
    ],
)
def test_the_card_says_whether_the_rows_are_the_published_ones(
    version: str, agreement: Agreement | None, words: str
) -> None:
    card = card_for("STS", version=version, evidence=Evidence(agreement=agreement))
    assert f"| Same as published | {words} |" in card


def test_figures_that_differ_are_listed_with_what_was_expected_found_and_why() -> None:
    differing = (("train num_samples", "43,523", "44,980", "another rule | <b>"),)
    card = card_for("STS", version="2.0.0", evidence=Evidence(agreement=Agreement(2, 3, "mteb's v2", differing)))
    section = card.split("### Expected and found\n")[1].split("\n#", maxsplit=1)[0]
    assert "2 of 3 figures agree with mteb's v2. The others:" in section
    assert "samples | 43,523 | 44,980 | another rule &#124; &#60;b&#62; |" in section
    assert "**no**, this version is corrected" in card
    assert "Expected and found" not in card_for("STS", evidence=Evidence(agreement=Agreement(3, 3, "mteb")))


def test_a_source_that_forbids_derivatives_is_not_quoted() -> None:
    card = card_for("STS", evidence=Evidence(quotable=False))
    assert "## Look at it\n\nNo texts are shown: the licence does not permit sharing derivatives.\n" in card


def test_hand_written_markdown_keeps_its_code_spans_and_opens_no_html() -> None:
    card = card_for("STS")
    assert "String" not in card
    assert "Every line that is `<d>` or &lt;d> opens a document.\n\nColumns:\n\n- id (string), text (string)." in card


def test_many_labels_are_folded_away(monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple(f"label_{number}" for number in range(60))
    monkeypatch.setitem(TASKS, "Classification", tasks.Classification(names, splits=("train", "test")))
    card = card_for("Classification")
    assert (
        "<summary>All 60 labels with their numbers</summary>\n\n| number | label |\n| ---: | --- |\n| 0 | `label_0` |"
        in card
    )
    assert "All" not in card_for("MultilabelClassification").split("## What is in it")[1].split("## Before")[0]


def test_training_data_have_code_that_trains_on_every_config_and_none_for_mteb() -> None:
    faq, news = ConfigPrompts("faq", ("search_query", "search_document")), ConfigPrompts("news", ("clustering",))
    card = card_for("Contrastive", prompts=Prompts("", configs=(faq, news)))
    load, train = re.findall(r"(?s)```python\n(.*?)```", card)
    assert ast.parse(load).body
    assert ast.parse(train).body
    assert (
        '    "faq": ("search_query: ", "search_document: "),\n    "news": ("clustering: ", "clustering: "),\n' in train
    )
    assert 'names = ["faq", "news"]' in load
    assert "import mteb" not in card
    assert "mteb" not in front_matter_of(card)["tags"]
    assert card.count("| `query` | string | the query, without a prefix |") == 1  # all configs have the same columns
    assert "main score" not in card


@pytest.mark.parametrize("task_type", [name for name in TASKS if name != "Contrastive"])
def test_the_mteb_snippet_is_python_that_names_the_task(task_type: str) -> None:
    snippet = next(code for code in re.findall(r"(?s)```python\n(.*?)```", card_for(task_type)) if "mteb" in code)
    tree = ast.parse(snippet)
    task_class = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    values = (node.value for node in task_class.body if isinstance(node, ast.Assign))
    call = next(value for value in values if isinstance(value, ast.Call))
    arguments = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    assert arguments["type"] == repr(task_type)
    assert arguments["eval_splits"] == repr(["dev" if task_type == "PairClassification" else "test"])
    assert arguments["dataset"] == "{'path': repo, 'revision': 'v1.9.0'}"
    assert ("query" in arguments["prompt"]) == (task_type in {"Retrieval", "Reranking"})
    if task_type == "BitextMining":
        assert arguments["eval_langs"] == "{'en-de': ['eng-Latn', 'deu-Latn']}"
    if task_type == "STS":
        assert "min_score = -1\n    max_score = 1\n" in snippet
    if task_type == "Clustering":
        assert "max_fraction_of_documents_to_embed = None" in snippet


def test_without_a_train_split_the_mteb_snippet_names_the_split_to_train_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "train_split" not in card_for("Classification")
    monkeypatch.setitem(TASKS, "Classification", tasks.Classification(("bad", "good"), ("validation", "test")))
    assert '    train_split = "validation"\n    metadata = mteb.TaskMetadata(' in card_for("Classification")
    frames = frames_for("Classification")
    del frames["default"]["validation"]
    assert "cannot be evaluated with mteb" in card_for("Classification", frames=frames, partial=True)


def test_only_a_sample_or_a_part_says_at_the_top_that_it_is_not_the_dataset() -> None:
    assert "[!WARNING]" not in card_for("Retrieval")
    first = card_for("Retrieval", sample=True).split("\n# rubq-retrieval\n\n")[1].split("\n\n")[0]
    assert first.startswith("> [!WARNING]\n> **Sample.**")
    assert first.endswith("this is not the dataset.")
    assert "**Partial.** Built from some of the rows: " in card_for("STS", partial=True)


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"sample": True}, " --sample"),
        ({"sample": True, "limit": 40}, " --limit 40"),
        ({}, ""),
    ],
)
def test_every_command_of_the_card_builds_the_release_it_is_about(changes: dict[str, Any], options: str) -> None:
    command = f"embedding-datasets build rubq-retrieval@1.9.0{options}"
    card = card_for("Retrieval", **changes)
    assert f"| Rebuild | `{command}` → content" in card
    assert f"```bash\n{command}\n```" in card
    assert set(re.findall(r"embedding-datasets build [^`\n]*", card)) == {command}
    assert "embedding-datasets check rubq-retrieval@1.9.0 --findings rows/" in card


def test_a_partial_release_names_its_missing_splits_and_offers_no_evaluation_that_cannot_run() -> None:
    frames = frames_for("MultilabelClassification")
    del frames["default"]["train"]
    card = card_for("MultilabelClassification", frames=frames, partial=True)
    assert "**Partial.** Without the split `train`: this is neither the complete dataset" in card
    assert "mteb.evaluate" not in card
    assert "cannot be evaluated with mteb" in card
    assert card.count("embedding-datasets build cedr-classification@1.9.0 --splits test") == 2
    assert "train" not in front_matter_of(card)["configs"][0]["data_files"]


def test_an_unverified_raw_file_is_named_at_the_top_and_marked_in_the_table() -> None:
    raw = (
        RawEntry("a.xml", "https://example.org/a.xml", "a", 1, verified=True),
        RawEntry("by hand.xml", None, "b", 2, verified=False),
    )
    card = card_for("STS", raw=raw)
    assert "**Unverified.** No digest is known for `by hand.xml`: this file was not compared with what upstream" in card
    assert "| `a.xml` | <https://example.org/a.xml> | 1 | `a` | yes |" in card
    assert "| `by hand.xml` | – | 2 | `b` | **no** |" in card
    assert "**Unverified.**" not in card_for("STS", raw=raw, sample=True)


def test_a_moving_raw_file_is_named_until_a_commit_of_it_is_accepted() -> None:
    files = {"train": hub("o/r", "main", "a.json", moving=True)}
    raw = RawEntry("a.json", "https://example.org/a.json", "a", 1, verified=False)
    card = card_for("STS", source={"files": files}, raw=(raw,))
    assert "**Moving.** `a.json` is of a branch or an abbreviated commit of the publisher" in card
    assert "**Moving.**" not in card_for("STS", source={"files": files}, raw=(replace(raw, verified=True),))


def test_many_unverified_raw_files_are_counted_at_the_top_and_not_named() -> None:
    files = [RawEntry(f"subreddit-{number}.json", None, "a" * 64, 1, verified=number < 2) for number in range(56)]
    [banner] = [line for line in card_for("STS", raw=tuple(files)).splitlines() if "**Unverified.**" in line]
    assert banner == (
        "> **Unverified.** No digest is known for 54 of the 56 [raw files](#raw-files): these files were not compared with "
        "what upstream published."
    )


def test_a_card_does_not_depend_on_the_time_or_on_the_versions_of_libraries() -> None:
    card = card_for("Retrieval")
    assert card == card_for("Retrieval", built_at="2031-12-31T23:59:59Z", tools={"python": "3.14", "polars": "9"})
    assert card != card_for("Retrieval", content_sha256="0" * 64)


def test_a_clean_release_says_that_it_has_no_findings_and_no_dropped_rows() -> None:
    card = card_for("STS", findings=(), dropped=(), observed={}, prompts=None)
    assert "## Known issues\n\nNo problems were found.\n" in card
    assert "| Known issues | none found |" in card
    assert "### Dropped rows\n\nNo rows were dropped.\n" in card
    assert "paragraphs after merging" not in card
    assert "instruct models" not in card
    full = card_for("STS")
    assert "| paragraphs after merging | 56,826 |" in full
    assert "| instruct models | Find the answer |" in full


def test_preferences_say_beside_the_lengths_how_often_the_longer_candidate_is_relevant() -> None:
    preferences = {"num_pairs": 12, "num_same_length": 2, "longer_is_relevant": 0.6}
    statistics = {"test": {"num_samples": 3, "top_ranked_statistics": {"preferences": preferences}}}
    card = card_for("Reranking", statistics=statistics)
    [section] = re.findall(r"(?s)## What is in it\n(.*?)\n## ", card)
    assert section.endswith(
        "\n\nWhere two candidates differ in length, the longer one is the relevant one in 60.0 % of 10 pairs. Chance is 50 %.\n"
    )


def test_versions_are_listed_newest_first_by_number_and_the_own_one_is_marked() -> None:
    history = card_for("STS").split("## Versions\n\n")[1].split("\n\n")[0].splitlines()
    assert history[2:] == [
        "| 1.10.0 | one more column | for new results |",
        "| **1.9.0** (this one) | nine | to compare with published results |",
        "| 1.0.0 | the paper's recipe | to compare with published results |",
    ]


def test_prompts_say_which_is_for_queries_and_which_for_documents() -> None:
    card = card_for("Retrieval")
    assert "| instruct models | Find the answer |" in card
    assert "| ru-en-RoSBERTa | `search_query` for queries, `search_document` for documents |" in card
    assert "| E5 | `query` |" in card


def test_a_card_cites_source_and_benchmark_once_each() -> None:
    card = card_for("Classification", source={"citation": ("clark2018arc", "han2025ateb")})
    assert re.findall(r"(?m)^@\w+\{(\w+),", card) == ["clark2018arc", "han2025ateb", "muennighoff2023mteb"]


MULTILABEL = tasks.MultilabelClassification(labels=("joy", "fear"))


def test_labels_are_shown_by_name_and_ids_are_not_shown() -> None:
    rows = [{"id": "1", "text": "Снег.", "label": [0, 1]}, {"id": "2", "text": "Дождь.", "label": []}]
    assert example_table(MULTILABEL, rows) == [["text", "label"], ["Снег.", "joy, fear"], ["Дождь.", "(none)"]]
    pair = {"sentence1": "a", "sentence2": "b", "labels": 1}
    assert example_table(tasks.PairClassification(("no", "yes")), [pair])[1] == ["a", "b", "yes"]


def texts_shown(*texts: str) -> list[str]:
    rows = [{"text": text, "label": 0} for text in texts]
    return [row[0] for row in example_table(tasks.Classification(("bad", "good")), rows)[1:]]


def test_long_texts_are_cut_in_the_middle_between_words() -> None:
    [shown] = texts_shown("Premise: " + "a long word, " * 30 + "Hypothesis: it is cut")
    assert shown.startswith("Premise: a long word, ")
    assert "word, &#91;…&#93; " in shown
    assert shown.endswith("a long word, Hypothesis: it is cut")
    assert texts_shown("я" * 200) == ["я" * 100 + " &#91;…&#93; " + "я" * 60]
    assert texts_shown("a" * 160) == ["a" * 160]


def test_an_instruction_that_all_texts_begin_with_is_cut() -> None:
    instruction = "In this task, you are given a post and two answers to it, choose one. Post: "
    assert texts_shown(f"{instruction}snow", f"{instruction}snail") == ["&#91;…&#93; snow", "&#91;…&#93; snail"]
    assert texts_shown(instruction, instruction) == [instruction.strip()] * 2


def test_scores_are_short_and_nothing_is_a_dash() -> None:
    assert example_table(tasks.STS(low=0, high=5), [{"sentence1": "a", "score": 2.5}])[1] == ["a", "2.5"]
    row = {"text": "a", "label": 1, "category": [], "votes": 0, "post_id": "x", "lang": "ru"}
    assert example_table(tasks.Classification(("bad", "good")), [row]) == [
        ["text", "label", "category", "votes"],
        ["a", "good", "–", "0"],
    ]
    rows = [{"query": "?", "relevant": "!"}, {"query": "??"}]
    assert example_table(tasks.Retrieval(), rows) == [["query", "relevant"], ["?", "!"], ["??", "–"]]
    assert example_table(MULTILABEL, []) == []


def test_of_the_documents_of_a_training_pair_the_first_is_shown_and_how_many_there_are() -> None:
    row = {
        "id": "s:0",
        "query": "q",
        "positives": ["p"],
        "negatives": ["word " * 100, "b"],
        "negative_kinds": ["random"] * 2,
    }
    heading, cells = example_table(tasks.Contrastive(("faq",)), [row])
    assert heading == ["query", "positives", "negatives"]
    assert cells[:2] == ["q", "p"]
    assert cells[2].endswith(" (and 1 more)")
    assert len(cells[2]) < 200


ONE_TEXT = tasks.Classification(labels=("bad", "good"))
REPEATED = Finding("duplicate_text", "warning", "default", "test", "text", 1234, 0.00001, ("id-1",))
SHORT = Finding("short_text", "info", "default", "train", "text", 1, 0.5, ("id-2",))


def test_problems_are_listed_by_severity_with_their_share_and_the_reason_why_they_stay() -> None:
    known = replace(REPEATED, why="The source has *them*.")
    first, second = describe_problems(ONE_TEXT, [SHORT, known], [Quote("."), Quote("a|b")], {"default": "default"})
    assert (first["mark"], first["name"], first["where"]) == ("⚠", "repeated text", "`test`")
    assert (first["rows"], first["example"], first["why"]) == (
        "1,234 (&lt;0.01\u00a0%)",
        "“a&#124;b”",
        "The source has *them*.",
    )
    assert (second["mark"], second["rows"], second["why"]) == ("ℹ", "1 (50.00\u00a0%)", "")


def test_where_names_the_config_and_the_column_only_where_there_are_several() -> None:
    configs = {"corpus": "ru-corpus", "queries": "ru-queries"}
    [found] = describe_problems(tasks.Retrieval(), [replace(SHORT, config="corpus")], [], configs)
    assert found["where"] == "`ru-corpus` `train`"
    pair = replace(SHORT, column="sentence2")
    [found] = describe_problems(tasks.STS(low=0, high=5), [pair], [], {"default": "default"})
    assert found["where"] == "`train` `sentence2`"


@pytest.mark.parametrize(
    ("text", "twin", "example"),
    [
        ("a b c d e f g h", "a b c d e X g h", "“… b c d e **f** g h”; train: “… b c d e **X** g h”"),
        ("a b c", "a b new c", "“a b c”; train: “a b **new** c”"),
        ("a b c", "a b c", "“a b c”"),
        ("*a*", "", "“**&#42;a&#42;**”; train: “”"),
    ],
    ids=["a word changed", "a word added", "equal", "an empty twin"],
)
def test_the_words_in_which_twins_differ_are_bold(text: str, twin: str, example: str) -> None:
    leak = replace(SHORT, kind="near_leak", twins=("train: id-7",))
    [found] = describe_problems(ONE_TEXT, [leak], [Quote(text, twin)], {"default": "default"})
    assert found["example"] == example


def test_without_a_text_the_row_is_named() -> None:
    [found] = describe_problems(ONE_TEXT, [SHORT], [None], {"default": "default"})
    assert found["example"] == "`id-2`"


def test_what_is_wrong_in_a_text_is_bold() -> None:
    quote = Quote("…one two three four *five*<br>six seven eight nine ten", mark=(26, 30))
    [found] = describe_problems(ONE_TEXT, [SHORT], [quote], {"default": "default"})
    assert found["example"] == "“…one two three four **&#42;five&#42;&#60;br&#62;six** seven eight nine ten”"


def test_findings_of_a_kind_are_one_line_with_their_places() -> None:
    several = [
        replace(SHORT, column=f"sentence{n % 2 + 1}", count=n + 1, share=0.5, detail="d" * (n % 2)) for n in range(8)
    ]
    [found] = describe_problems(tasks.STS(low=0, high=5), several, [], {"default": "default"})
    first = [f"`train` `sentence1` {count} (50.00\u00a0%)" for count in (1, 3, 5, 7)]
    second = [f"`train` `sentence2` {count} (50.00\u00a0%), d" for count in (2, 4)]
    assert found["where"].split("<br>") == [*first, *second, "and 2 more"]
    assert (found["name"], found["rows"].split()[0]) == ("text of a single character", "36")


def test_the_problems_are_counted_in_words() -> None:
    assert summarize([REPEATED, REPEATED, SHORT]) == "2 warnings, 1 for information"
    assert summarize([SHORT]) == "1 for information"
    assert summarize([]) == ""
