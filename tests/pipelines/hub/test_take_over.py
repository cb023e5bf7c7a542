"""Repositories with data of somebody else: refused, or taken over after what they held got a tag."""

from dataclasses import replace
from typing import Any

import pytest

from builders.errors import PublishError
from pipelines.hub import publishing
from pipelines.hub.foreign_edits import TAG
from pipelines.hub.planning import PublishOptions
from tests.support.loopback_hub import WRITER, Fault, LoopbackHub
from tests.support.publishing import (
    FAULTS,
    REPO,
    TERRA,
    each_request,
    first,
    plan,
    publish,
    verified_hash,
)

THEIRS: dict[str, bytes | None] = {
    "README.md": b"---\nlicense: cc-by-4.0\nviewer: false\n---\nOur corpus.\n",
    "data/dev.csv": b"a,b\n",
    "data/dev-extra.jsonl": b"{}\n",
    "data/train-00000-of-00001.parquet": b"PAR1",
    "figure.png": b"PNG",
    f"{TERRA}.py": b"raise SystemExit\n",
    ".huggingface.yaml": b"configs: []\n",
}


@pytest.fixture
def theirs(hub: LoopbackHub) -> str:
    """The sha of main in a repository that somebody else filled."""
    create_repository(hub)
    return hub.commit(REPO, THEIRS)


def create_repository(hub: LoopbackHub) -> None:
    publishing.login(endpoint=hub.url, token=WRITER).api.create_repo(REPO, repo_type="dataset")


@pytest.mark.usefixtures("theirs")
def test_a_repository_with_data_of_somebody_else_is_refused(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    before = hub.state()[0]
    with pytest.raises(PublishError, match="holds data, and no release of this package") as caught:
        publish(hub, *first(releases()), options)
    assert caught.value.exit_code == 5
    assert caught.value.found == (
        f"5 files: .huggingface.yaml, data/dev-extra.jsonl, data/dev.csv, data/train-00000-of-00001.parquet, {TERRA}.py"
    )
    assert "--take-over" in str(caught.value)
    assert hub.state()[0] == before


@pytest.mark.parametrize("data", ["manifest.json", "a.zip", "train/b.TXT", "c"])
def test_any_file_but_texts_and_pictures_counts_as_data(
    hub: LoopbackHub, options: PublishOptions, releases: Any, data: str
) -> None:
    create_repository(hub)
    hub.commit(REPO, {data: b"[]"})
    with pytest.raises(PublishError, match="holds data") as caught:
        publish(hub, *first(releases()), options)
    assert caught.value.found == f"1 file: {data}"


def test_a_repository_with_a_card_and_without_data_can_be_published_to(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    create_repository(hub)
    hub.commit(REPO, {"README.md": b"Coming soon.", "LICENSE": b"MIT", "figure.PNG": b"PNG", ".gitignore": b"x"})
    publish(hub, *first(releases()), options)
    assert verified_hash(hub.tree(REPO)) == verified_hash(hub.tree(REPO, "v1.0.0"))
    assert TAG not in hub.repos[REPO].tags


def test_with_permission_what_the_repository_held_gets_a_tag_and_nothing_of_it_loads_with_the_release(
    hub: LoopbackHub, options: PublishOptions, releases: Any, theirs: str
) -> None:
    taking_over = replace(options, take_over=True)
    planned = plan(hub, *first(releases()), taking_over)
    assert planned.takes_over
    deleted = {
        "data/dev-extra.jsonl", "data/train-00000-of-00001.parquet", f"{TERRA}.py", ".huggingface.yaml"
    }  # fmt: skip
    assert set(planned.deletes) == deleted
    published = publish(hub, *first(releases()), taking_over)
    repository = hub.repos[REPO]
    assert repository.moves[-3:] == [(TAG, theirs), ("main", published.commit), ("v1.0.0", published.commit)]
    assert hub.tree(REPO, TAG) == hub.tree(REPO, theirs)
    tree = hub.tree(REPO)
    assert not tree.keys() & deleted
    assert tree["data/dev.csv"] == THEIRS["data/dev.csv"], "no pattern of our card matches it"
    assert tree["figure.png"] == THEIRS["figure.png"]
    assert "viewer: false" in tree["README.md"].decode()
    assert not publish(hub, *first(releases()), options).plan.takes_over


def test_a_tag_of_an_earlier_take_over_at_another_commit_is_an_error(
    hub: LoopbackHub, options: PublishOptions, releases: Any, theirs: str
) -> None:
    hub.repos[REPO].tags[TAG] = theirs
    now = hub.commit(REPO, {"data/dev.csv": b"c,d\n"})
    with pytest.raises(PublishError, match=f"the tag {TAG} is that of another commit") as caught:
        publish(hub, *first(releases()), replace(options, take_over=True))
    assert (caught.value.found, caught.value.expected) == (theirs, now)
    assert hub.repos[REPO].branches["main"] == now


def test_a_tag_of_an_earlier_take_over_that_somebody_creates_meanwhile_is_an_error_too(
    hub: LoopbackHub, options: PublishOptions, releases: Any, theirs: str
) -> None:
    initial = hub.repos[REPO].commits[theirs].parent
    assert initial is not None
    hub.before_answer["/tag/"] = lambda: hub.repos[REPO].tags.update({TAG: initial})
    with pytest.raises(PublishError, match="that of another commit"):
        publish(hub, *first(releases()), replace(options, take_over=True))
    assert hub.repos[REPO].branches["main"] == theirs


@pytest.mark.usefixtures("theirs")
def test_tags_of_somebody_else_do_not_make_a_version_an_older_one(
    hub: LoopbackHub, options: PublishOptions, releases: Any, theirs: str
) -> None:
    hub.repos[REPO].tags["v3.0.0"] = theirs
    published = publish(hub, *first(releases()), replace(options, take_over=True))
    assert published.plan.branch == "main"
    assert hub.repos[REPO].branches == {"main": published.commit}


@pytest.mark.parametrize(
    ("fault", "every"),
    [("the answer is cut", False), *(pytest.param(fault, True, marks=pytest.mark.slow) for fault in FAULTS)],
)
def test_after_a_fault_at_any_request_of_a_take_over_the_next_run_finishes(
    hub: LoopbackHub, options: PublishOptions, releases: Any, theirs: str, fault: str, *, every: bool
) -> None:
    dataset, outcomes = releases()
    taking_over = replace(options, take_over=True)
    for number, run_options in each_request(hub, taking_over, (dataset, outcomes), "1.0.0", [], every=every):
        hub.fail(number, FAULTS[fault])
        try:
            publish(hub, dataset, outcomes["1.0.0"], run_options)
        except PublishError:
            assert FAULTS[fault] == Fault(status=412), "the other faults pass, and retries succeed"
        hub.stop_failing()
        publish(hub, dataset, outcomes["1.0.0"], run_options)
        repository = hub.repos[REPO]
        assert repository.tags == {TAG: theirs, "v1.0.0": repository.branches["main"]}
        assert repository.commits[repository.branches["main"]].parent == theirs
