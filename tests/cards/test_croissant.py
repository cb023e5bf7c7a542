"""What a croissant.json says. That other programs read it is in tests/test_mlcroissant.py. Authors and years of BibTeX
entries, as plain text.
"""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from builders.spec import Dropped
from cards.croissant import list_authors, read_year, render_croissant
from cards.manifest import Column, RawEntry
from cards.texts import CITATIONS, bibtex
from tests.support.card_inputs import TASKS, definition_for, finding, frames_for, manifest_for

# In the specification of Croissant 1.1, "Dataset-level information": required of every dataset.
REQUIRED = {
    "@context", "@type", "conformsTo", "description", "license", "name", "url", "creator", "datePublished", "distribution",
}  # fmt: skip


def croissant_for(
    task_type: str = "Classification", source: dict[str, Any] | None = None, subset: str = "", **changes: Any
) -> Any:
    """The Croissant of a made-up release, parsed. source: fields of the source; changes: of the manifest."""
    definition = definition_for(task_type, **(source or {}))
    definition = replace(definition, dataset=replace(definition.dataset, subset=subset))
    return json.loads(render_croissant(definition, manifest_for(definition, frames_for(task_type), **changes)))


def record_sets(croissant: Any) -> dict[str, Any]:
    return {record_set["@id"]: record_set for record_set in croissant["recordSet"]}


def fields(record_set: Any) -> dict[str, Any]:
    return {field["@id"].partition("/")[2]: field for field in record_set["field"]}


@pytest.mark.parametrize("task_type", TASKS)
def test_it_has_what_the_specification_requires(task_type: str) -> None:
    croissant = croissant_for(task_type)
    assert croissant.keys() >= REQUIRED
    assert croissant["conformsTo"][0] == "http://mlcommons.org/croissant/1.1"
    assert croissant["version"] == "1.9.0"
    ids = [node["@id"] for part in ("distribution", "recordSet") for node in croissant[part]]
    ids += [field["@id"] for record_set in croissant["recordSet"] for field in record_set["field"]]
    assert len(ids) == len(set(ids))


def test_it_names_every_data_file_with_size_and_digest_relative_to_its_own_folder() -> None:
    files = [one for one in croissant_for("Retrieval")["distribution"] if one["@type"] == "cr:FileObject"]
    assert [file["contentUrl"] for file in files] == [
        f"{config}/test-00000-of-00001.parquet" for config in ("corpus", "queries", "qrels")
    ]
    assert {(file["contentSize"], file["sha256"]) for file in files} == {("100 B", "f" * 64)}


def test_it_tells_how_the_release_came_about() -> None:
    unverified = RawEntry("b.jsonl", None, "b" * 64, 5, verified=False)
    verified = RawEntry("a.jsonl", "https://example.org/a", "a" * 64, 12345, verified=True)
    croissant = croissant_for(raw=(verified, unverified))
    known, by_hand = croissant["prov:wasDerivedFrom"]
    assert (known["name"], known["contentUrl"], known["sha256"], known["contentSize"]) == (
        "a.jsonl", "https://example.org/a", "a" * 64, "12345 B",
    )  # fmt: skip
    assert "description" not in known
    assert "contentUrl" not in by_hand
    assert by_hand["description"] == "No digest of this file was known before the build."
    recipe = croissant["prov:wasGeneratedBy"]
    assert (recipe["prov:used"]["name"], recipe["prov:used"]["sha256"]) == ("builders.toy", "e" * 64)
    assert [(one["propertyID"], one["name"], one["value"]) for one in recipe["additionalProperty"]] == [
        ("option", "minimum", 9),
        ("option", "words", '["a|b"]'),
        ("dropped", "empty answer", 4),
        ("observed", "paragraphs after merging", 56826),
    ]
    assert croissant["identifier"]["value"] == "d" * 64


def test_findings_are_measurements_and_limitations() -> None:
    leak = finding("split_leak", "warning", 7, 0.0037, why="It is upstream's.", detail="in train")
    croissant = croissant_for(findings=(leak, finding("short_text", "info", 1, 0.00001, texts_checked=50)))
    measured = croissant["dqv:hasQualityMeasurement"]
    assert [(one["dqv:isMeasurementOf"]["name"], one["name"], one["dqv:value"]) for one in measured] == [
        ("split_leak", "default/test.text", 7),
        ("short_text", "default/test.text", 1),
    ]
    assert measured[0]["comment"] == "It is upstream's."
    assert croissant["rai:dataLimitations"][-2:] == [
        "text also in an earlier split: 7 (0.37 %) in default/test.text, in train",
        "text of a single character: 1 of 50 looked at (below 0.01 %) in default/test.text",
    ]


def test_labels_that_are_numbers_are_an_enumeration() -> None:
    labels = record_sets(croissant_for("Classification"))["labels"]
    assert labels["data"] == [{"labels/id": 0, "labels/name": "bad"}, {"labels/id": 1, "labels/name": "good"}]
    single = fields(record_sets(croissant_for("Classification"))["default"])["label"]
    assert (single["dataType"], single["references"]) == (["sc:Integer", "cr:Label"], {"field": {"@id": "labels/id"}})
    several = fields(record_sets(croissant_for("MultilabelClassification"))["default"])["label"]
    assert (several["dataType"], several["isArray"]) == (["sc:Integer", "cr:Label"], True)
    for task_type in ("Clustering", "STS", "Retrieval"):
        assert "labels" not in record_sets(croissant_for(task_type))
    scores = fields(record_sets(croissant_for("STS"))["default"])["score"]
    assert scores["description"] == "-1 to 1, higher is more similar."


def test_the_split_of_a_row_is_a_field() -> None:
    croissant = record_sets(croissant_for("PairClassification"))
    assert croissant["splits"]["data"] == [{"splits/name": "dev", "splits/url": "cr:ValidationSplit"}]
    split = fields(croissant["default"])["split"]
    assert split["references"] == {"field": {"@id": "splits/name"}}
    pattern = re.compile(split["source"]["transform"]["regex"])
    for path in ("data/dev-00000-of-00001.parquet", "dev"):  # mlcroissant applies it to its result again
        found = pattern.match(path)
        assert found, path
        assert found[1] == "dev"


def test_a_column_with_the_name_of_the_split_field_is_kept() -> None:
    [table] = manifest_for(definition_for("Clustering"), frames_for("Clustering")).tables
    croissant = croissant_for(
        "Clustering", tables=(replace(table, columns=(*table.columns, Column("split", "string"))),)
    )
    assert list(fields(record_sets(croissant)["default"])) == ["_split", "sentences", "labels", "split"]


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("mit", "https://spdx.org/licenses/MIT"),
        ("apache-2.0", "https://spdx.org/licenses/Apache-2.0"),
        ("cc-by-nc-sa-4.0", "https://spdx.org/licenses/CC-BY-NC-SA-4.0"),
        ("other", {"@type": "sc:CreativeWork", "name": "other", "url": "https://example.org/s"}),
        ("unknown", {"@type": "sc:CreativeWork", "name": "unknown", "url": "https://example.org/s"}),
    ],
)
def test_a_licence_is_an_address_where_spdx_has_one(name: str, address: Any) -> None:
    croissant = croissant_for(source={"license": name, "license_note": "Of the texts alone."})
    assert croissant["license"] == address
    assert croissant["usageInfo"]["description"] == "Of the texts alone."


def test_creators_and_citations_are_those_of_the_source_and_the_benchmark_is_cited_beside_them() -> None:
    croissant = croissant_for("PairClassification")
    assert croissant["creator"][0] == {"@type": "sc:Person", "name": "Peter Clark"}
    assert croissant["citeAs"].startswith("@article{clark2018arc,")
    assert "rumteb" not in croissant["citeAs"]
    assert any("snegirev2025rumteb" in entry for entry in croissant["citation"])
    assert croissant["datePublished"] == "2018"


def test_the_prose_of_the_card_is_there_item_by_item() -> None:
    croissant = croissant_for("MultilabelClassification")
    assert croissant["rai:dataCollection"].startswith("The labels were crowdsourced on Yandex Toloka")
    assert "\n" not in croissant["rai:dataCollection"].split("\n\n", maxsplit=1)[0]
    assert croissant["rai:dataPreprocessingProtocol"][0].startswith("The raw rows are used as they are")
    assert croissant["rai:dataAnnotationProtocol"] == "Annotated by crowd workers. See rai:dataCollection."


def test_what_is_not_known_is_left_out() -> None:
    croissant = croissant_for(source={"annotations": ("found",)}, findings=(), dropped=(), observed={})
    assert {"rai:dataAnnotationProtocol", "dqv:hasQualityMeasurement", "usageInfo"} & croissant.keys() == set()


def test_a_sample_says_so() -> None:
    assert "creativeWorkStatus" not in croissant_for()
    assert croissant_for(sample=True)["creativeWorkStatus"] == "a sample"
    assert croissant_for(partial=True)["creativeWorkStatus"] == "a part of the dataset"


def test_time_and_tools_do_not_reach_it() -> None:
    definition = definition_for("Retrieval")
    manifest = manifest_for(definition, frames_for("Retrieval"))
    later = replace(manifest, built_at="2030-01-01T00:00:00Z", tools={"python": "3.99"}, report_sha256="1" * 64)
    assert render_croissant(definition, manifest) == render_croissant(definition, later)


def test_hostile_texts_stay_strings() -> None:
    hostile = '</script><!-- "}]\\ \x00\u2028 {"@id": "x"} ${x} {{ x }}'
    definition = definition_for("Classification", license_note=hostile, homepage="https://example.org/" + hostile)
    manifest = manifest_for(
        definition,
        frames_for("Classification"),
        raw=(RawEntry(hostile, hostile, "a" * 64, 1, verified=True),),
        dropped=(Dropped(hostile, 1),),
        findings=(finding("split_leak", "info", 1, 0.5, detail=hostile, why=hostile),),
        observed={hostile: 1},
        recipe=replace(
            manifest_for(definition, {}).recipe, options={"words": hostile, "nan": float("nan"), "no": None}
        ),
    )
    text = render_croissant(definition, manifest)
    assert "<" not in text, "it may be put into a <script> of a web page"
    croissant = json.loads(text)
    assert croissant["usageInfo"]["description"] == hostile
    assert croissant["prov:wasDerivedFrom"][0]["name"] == hostile
    options = {one["name"]: one["value"] for one in croissant["prov:wasGeneratedBy"]["additionalProperty"]}
    assert options == {"words": hostile, "nan": "NaN", "no": "null", hostile: 1}


def test_ids_are_valid_however_columns_and_splits_are_named() -> None:
    [table] = manifest_for(definition_for("Clustering"), frames_for("Clustering")).tables
    odd = replace(
        table,
        split="a b:c",
        columns=(Column("my text\n", "string"), Column("http://x/y", "string")),
        files=(replace(table.files[0], path="data/a b?-00000-of-00001.parquet"),),
    )
    croissant = croissant_for("Clustering", tables=(odd,))
    default = record_sets(croissant)["default"]
    assert list(fields(default)) == ["split", "my%20text%0A", "http%3A//x/y"]
    assert default["field"][1]["source"]["extract"] == {"column": "my text\n"}
    assert croissant["distribution"][0]["@id"] == "data/a%20b%3F-00000-of-00001.parquet"


def test_record_sets_have_the_names_that_configs_load_by() -> None:
    corpus = record_sets(croissant_for("Retrieval", subset="ru"))["ru-corpus"]
    assert corpus["key"] == [{"@id": "ru-corpus/split"}, {"@id": "ru-corpus/id"}]
    pattern = corpus["field"][0]["source"]["transform"]["regex"]
    assert re.match(pattern, "corpus/test-00000-of-00001.parquet")


@pytest.mark.parametrize(
    ("written", "authors"),
    [
        ("Koehn, Philipp", [("Philipp Koehn", "sc:Person")]),
        ("Philipp Koehn", [("Philipp Koehn", "sc:Person")]),
        (
            r"St{\"u}ker, Sebastian and Bojar, Ond{\v{r}}ej",
            [("Sebastian Stüker", "sc:Person"), ("Ondřej Bojar", "sc:Person")],
        ),
        (r"Martins, Andr{\'e} F. T.", [("André F. T. Martins", "sc:Person")]),
        (r"N{\'e}v{\'e}ol, Aur{\'{e}}lie", [("Aurélie Névéol", "sc:Person")]),
        (
            r"{\O}stergaard, J{\o}rgen and Mu{\~n}oz, A.",
            [("Jørgen Østergaard", "sc:Person"), ("A. Muñoz", "sc:Person")],
        ),
        ("King, Jr., Martin Luther", [("Martin Luther King, Jr.", "sc:Person")]),
        ("{Yandex}", [("Yandex", "sc:Organization")]),
        (
            "{Barnes and Noble} and Ivanov, Ivan",
            [("Barnes and Noble", "sc:Organization"), ("Ivan Ivanov", "sc:Person")],
        ),
        ("Ivanov,\n            Ivan\n  and others", [("Ivan Ivanov", "sc:Person")]),
        ("", []),
    ],
)
def test_names_are_read_as_people_write_them(written: str, authors: list[tuple[str, str]]) -> None:
    assert list_authors(f"@article{{key,\n  author = {{{written}}},\n  year = {{2020}},\n}}") == authors


def test_an_entry_without_authors_and_year_has_none() -> None:
    assert list_authors("@misc{key,\n  title = {A title},\n}") == []
    assert read_year("@misc{key,\n  title = {A title},\n}") == ""
    assert read_year("@misc{key,\n  year = {in press},\n}") == ""


def test_every_entry_that_cards_cite_has_authors_and_a_year() -> None:
    for key in re.findall(r"(?m)^@\w+\{([^,]+),", CITATIONS.read_text("utf-8")):
        authors = list_authors(bibtex(key))
        assert authors, key
        assert not [name for name, _ in authors if re.search(r"[\\{},]", name)], key
        assert re.fullmatch("[0-9]{4}", read_year(bibtex(key))), key
