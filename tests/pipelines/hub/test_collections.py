"""Collections of an organisation: one for each benchmark, created and extended by `publish --collection`, never emptied."""

import json
from collections.abc import Callable
from dataclasses import replace
from subprocess import CompletedProcess

import pytest

from builders.errors import PublishError
from pipelines.hub import publishing
from pipelines.hub.organisation import CollectionChange, collection_title, extend_collection
from tests.support.loopback_hub import PAGE, WRITER, Blob, Commit, Fault, LoopbackHub, Repo
from tests.support.publishing import FAULTS, REPO, Recovery, patience, refused
from tests.support.releases import definition_of

Run = Callable[..., CompletedProcess[str]]

CEDR = "org/cedr-classification"
SLUG = f"org/rumteb-{0:024x}"


@pytest.fixture
def two(hub: LoopbackHub) -> tuple[str, str]:
    """Two repositories."""
    for name in (CEDR, REPO):
        hub.repos[name] = Repo(private=False)
        hub.repos[name].add("main", Commit({"data.csv": Blob(b"", lfs=False)}, None, "mine", ""))
    return CEDR, REPO


def items(hub: LoopbackHub, slug: str = SLUG) -> list[str]:
    return [item["id"] for item in hub.collections[slug]["items"]]


def extend(hub: LoopbackHub, *repos: str, title: str = "ruMTEB", waits: list[float] | None = None) -> CollectionChange:
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=patience(waits))
    hub.log.clear()
    return extend_collection(connection, "org", title, repos, private=False)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("cedr-classification", "ruMTEB"),
        ("piqa-retrieval", "ATEB"),
        ("rarb-piqa", "RAR-b"),
        ("xnli-contrastive", "Training data for text embeddings"),
        ("miracl-contrastive", "Training data for text embeddings"),
    ],
)
def test_a_dataset_belongs_in_the_collection_of_its_benchmark_or_of_training_data(name: str, title: str) -> None:
    assert collection_title(definition_of(name).dataset) == title


def test_publish_plans_creates_and_extends_a_collection_and_a_rerun_changes_nothing(hub: LoopbackHub, run: Run) -> None:
    for name in ("terra", "cedr@4.0.0"):
        assert run("build", name, "--raw-dir", "raw", "--offline").returncode == 0
    arguments = ("--org", "org", "--collection", "--no-record")
    planned = run("publish", "terra", *arguments, "--dry-run", token="")
    assert planned.returncode == 0, planned.stderr
    assert planned.stdout.endswith(f"collection ruMTEB: to be created\n    + {REPO}\n")
    assert hub.collections == {}

    created = run("publish", "terra", *arguments)
    assert created.returncode == 0, created.stderr
    assert created.stdout.endswith(
        f"collection ruMTEB: created\n  at        {hub.url}/collections/{SLUG}\n    + {REPO}\n"
    )
    collection = hub.collections[SLUG]
    assert (collection["title"], collection["private"], items(hub)) == ("ruMTEB", False, [REPO])

    both = ("publish", "terra", "cedr@4.0.0", *arguments, "--json")
    planned = run(*both, "--dry-run")
    assert json.loads(planned.stdout.splitlines()[-1]) == {
        "collection": "ruMTEB", "state": "to be extended", "adds": [CEDR], "present": [REPO],
        "url": f"{hub.url}/collections/{SLUG}",
    }  # fmt: skip
    assert items(hub) == [REPO]
    assert json.loads(run(*both).stdout.splitlines()[-1])["state"] == "extended"
    assert items(hub) == [REPO, CEDR]

    hub.log.clear()
    again = json.loads(run(*both).stdout.splitlines()[-1])
    assert (again["state"], again["adds"], again["present"]) == ("complete", [], [CEDR, REPO])
    assert [request for request in hub.log if request.method != "GET" and "collections" in request.path] == []


def test_a_failure_of_the_collection_leaves_the_datasets_published(hub: LoopbackHub, run: Run) -> None:
    assert run("build", "terra", "--raw-dir", "raw", "--offline").returncode == 0
    hub.fail_at["/api/collections"] = Fault(status=403)
    failed = run("publish", "terra", "--org", "org", "--collection", "--no-record", "--json")
    assert failed.returncode == 5
    published, collection = map(json.loads, failed.stdout.splitlines())
    assert (published["state"], collection["collection"], collection["state"]) == ("published", "ruMTEB", "failed")
    assert hub.repos[REPO].tags == {"v1.0.0": published["commit"]}
    assert "listing its collections failed" in failed.stderr
    assert "the datasets are published; the collection ruMTEB is not complete" in failed.stderr
    hub.stop_failing()
    assert run("publish", "terra", "--org", "org", "--collection", "--no-record").returncode == 0
    assert items(hub) == [REPO]


def test_a_dataset_of_no_benchmark_is_named_and_in_no_collection(
    hub: LoopbackHub, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("build", "terra", "--raw-dir", "raw", "--offline").returncode == 0
    monkeypatch.setattr("pipelines.hub.organisation.collection_title", lambda dataset: "")
    done = run("publish", "terra", "--org", "org", "--collection", "--no-record")
    assert (done.returncode, hub.collections) == (0, {})
    assert f"of no benchmark, and added to no collection: {REPO}" in done.stderr
    assert collection_title(replace(definition_of("cedr-classification").dataset, benchmark=None)) == ""


def test_items_and_collections_of_others_stay(hub: LoopbackHub, two: tuple[str, str]) -> None:
    extend(hub, *two, title="Ours")
    theirs = [{"_id": "f" * 24, "id": name, "type": kind, "position": 0} for name, kind in (
        ("else/data", "dataset"), ("2301.00001", "paper"), (CEDR, "model"),
    )]  # fmt: skip
    for number in range(PAGE + 1):
        extend(hub, REPO, title=f"Other {number}")
    hub.collections["else/rumteb-0"] = hub.collections[f"org/ours-{0:024x}"] | {
        "slug": "else/rumteb-0",
        "title": "ruMTEB",
    }
    before = {slug: items(hub, slug) for slug in hub.collections}
    slug = f"org/rumteb-{len(before):024x}"
    assert extend(hub, REPO).state == "created"
    hub.collections[slug]["items"] += theirs
    assert extend(hub, *two).adds == (CEDR,), "the model of the same name is another thing"
    assert items(hub, slug) == [REPO, "else/data", "2301.00001", CEDR, CEDR]
    assert {slug: items(hub, slug) for slug in before} == before
    assert extend(hub, *two).state == "complete", "its title is on the second page of the listing"


def test_of_two_collections_with_one_title_the_oldest_is_extended(hub: LoopbackHub, two: tuple[str, str]) -> None:
    extend(hub, CEDR)
    newer = f"org/rumteb-{99:024x}"
    hub.collections = {newer: hub.collections[SLUG] | {"slug": newer, "items": []}, **hub.collections}
    assert extend(hub, *two).adds == (REPO,)
    assert (items(hub), items(hub, newer)) == ([CEDR, REPO], [])


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("number", range(7))
def test_whatever_request_fails_each_item_is_there_once(
    hub: LoopbackHub, two: tuple[str, str], number: int, fault: Fault
) -> None:
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=patience(Recovery(hub)))
    hub.fail(number, fault)
    try:
        extend_collection(connection, "org", "ruMTEB", two, private=False)
    except PublishError:
        assert fault.status == 412
        extend_collection(connection, "org", "ruMTEB", two, private=False)
    assert list(hub.collections) == [SLUG]
    assert items(hub) == list(two)


def test_what_the_hub_refuses_is_said_in_words(hub: LoopbackHub, two: tuple[str, str]) -> None:
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=patience())
    error = refused(
        "creating the collection failed", extend_collection, connection, "foreign", "ruMTEB", two, private=False
    )
    assert error.where == "foreign: ruMTEB"
    assert "use a token that may write the collections of foreign" in str(error)
    refused("adding org/nothing failed", extend, hub, REPO, "org/nothing")
    assert items(hub) == [REPO]
    hub.fail_at["/api/collections"] = Fault(status=200)
    refused("listing its collections failed", extend_collection, connection, "org", "ruMTEB", two, private=False)
