"""Hand edits of a card on the Hub: shown, and never overwritten unless that is asked for. Repositories with data of
somebody else: refused, or taken over after what they held got a tag.
"""

from dataclasses import replace

import pytest

from builders.errors import PublishError
from pipelines.hub import foreign_edits, publishing
from pipelines.hub.foreign_edits import TAG
from tests.support.loopback_hub import WRITER, Fault, LoopbackHub
from tests.support.publishing import (
    FAULTS,
    REPO,
    TERRA,
    Versions,
    each_request,
    published_card,
    verified_hash,
)


def edited(hub: LoopbackHub, old: str, new: str) -> bytes:
    """The card on main with a text replaced."""
    card = hub.tree(REPO)["README.md"].decode()
    assert old in card
    return card.replace(old, new, 1).encode()


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            "\n## Before you use it\n",
            "\n## Before you use it\n\nDo not use it for profiling.\n",
            "+Do not use it for profiling.",
        ),
        ("license: mit", "license: cc-by-4.0", "+license: cc-by-4.0"),
        ("tags:\n", "tags:\n- nli\n", "+- nli"),
    ],
    ids=["body", "licence", "tags"],
)
@pytest.mark.usefixtures("first_published")
def test_a_hand_edited_card_is_shown_as_a_diff_and_not_overwritten(
    hub: LoopbackHub, terra: Versions, old: str, new: str, line: str
) -> None:
    sha = hub.commit(REPO, {"README.md": edited(hub, old, new)})
    edits = terra.plan("2.0.0").card_edits
    assert edits[:2] == ("--- README.md of v1.0.0", "+++ README.md on main")
    assert line in edits
    assert terra.refuse("2.0.0", "edited by hand since our last release", line, "--overwrite-card").exit_code == 5
    assert hub.repos[REPO].branches["main"] == sha
    terra.publish("2.0.0", overwrite_card=True)
    assert hub.tree(REPO)["README.md"] == published_card(terra.outcomes["2.0.0"])


@pytest.mark.usefixtures("first_published")
def test_front_matter_keys_that_others_added_are_kept_and_do_not_count_as_edits(
    hub: LoopbackHub, terra: Versions
) -> None:
    hub.commit(REPO, {"README.md": edited(hub, "license: mit", "viewer: false\nlicense: mit")})
    assert terra.plan("2.0.0").card_edits == ()
    terra.publish("2.0.0")
    assert b"viewer: false" in hub.tree(REPO)["README.md"]


@pytest.mark.usefixtures("first_published")
def test_another_order_of_keys_and_other_line_ends_do_not_count_as_edits(hub: LoopbackHub, terra: Versions) -> None:
    card = edited(hub, "license: mit\n", "").replace(b"---\n", b"---\nlicense: 'mit'\n", 1).replace(b"\n", b"\r\n")
    hub.commit(REPO, {"README.md": card})
    assert terra.plan("2.0.0").card_edits == ()


@pytest.mark.both_hubs
@pytest.mark.usefixtures("first_published")
def test_a_card_that_was_deleted_is_written_again(hub: LoopbackHub, terra: Versions) -> None:
    hub.commit(REPO, {"README.md": None})
    terra.publish("2.0.0")
    assert hub.tree(REPO)["README.md"] == published_card(terra.outcomes["2.0.0"])


@pytest.mark.usefixtures("first_published")
def test_an_edited_card_is_noticed_without_the_tag_of_its_version_too(hub: LoopbackHub, terra: Versions) -> None:
    hub.commit(REPO, {"README.md": edited(hub, "\n## Before you use it\n", "\n## Before you use it\n\nOne more.\n")})
    del hub.repos[REPO].tags["v1.0.0"]
    assert terra.plan("2.0.0").card_edits == ("the card was edited; there is no tag with its text as it was published",)


@pytest.mark.usefixtures("first_published")
def test_of_a_long_diff_forty_lines_are_shown_and_long_lines_are_cut(hub: LoopbackHub, terra: Versions) -> None:
    lines = "".join(f"{number} {'x' * 1_000}\n" for number in range(3_000))
    hub.commit(REPO, {"README.md": edited(hub, "\n## Before you use it\n", f"\n## Before you use it\n{lines}")})
    edits = terra.plan("2.0.0").card_edits
    assert len(edits) == foreign_edits.MAX_DIFF + 1
    assert max(map(len, edits)) == foreign_edits.MAX_WIDTH + 3
    assert edits[-1].startswith("... and ")
    assert edits[-1].endswith(" more lines")


def test_an_edited_card_does_not_keep_an_older_version_from_its_branch(hub: LoopbackHub, terra: Versions) -> None:
    terra.publish("2.0.0")
    card = edited(hub, "\n## Before you use it\n", "\n## Before you use it\n\nOne more.\n")
    hub.commit(REPO, {"README.md": card})
    terra.publish("1.0.0")
    assert hub.tree(REPO)["README.md"] == card


THEIRS: dict[str, bytes | None] = {
    "README.md": b"---\nlicense: cc-by-4.0\nviewer: false\n---\nOur corpus.\n",
    "data/dev.csv": b"a,b\n",
    "data/dev-extra.jsonl": b"{}\n",
    "data/train-00000-of-00001.parquet": b"PAR1",
    "figure.png": b"PNG",
    f"{TERRA}.py": b"raise SystemExit\n",
    ".huggingface.yaml": b"configs: []\n",
    "dataset_infos.json": b"{}\n",
}


@pytest.fixture
def theirs(hub: LoopbackHub) -> str:
    """The sha of main in a repository that somebody else filled."""
    create_repository(hub)
    return hub.commit(REPO, THEIRS)


def create_repository(hub: LoopbackHub) -> None:
    publishing.login(endpoint=hub.url, token=WRITER).api.create_repo(REPO, repo_type="dataset")


@pytest.mark.both_hubs
@pytest.mark.usefixtures("theirs")
def test_a_repository_with_data_of_somebody_else_is_refused(hub: LoopbackHub, terra: Versions) -> None:
    before = hub.repos[REPO].moves.copy()
    error = terra.refuse("1.0.0", "holds data, and no release of this package", "--take-over")
    assert error.exit_code == 5
    assert error.found == (
        "6 files: .huggingface.yaml, data/dev-extra.jsonl, data/dev.csv, data/train-00000-of-00001.parquet, "
        "dataset_infos.json, ..."
    )
    assert hub.repos[REPO].moves == before


@pytest.mark.parametrize("data", ["manifest.json", "a.zip", "train/b.TXT", "c"])
def test_any_file_but_texts_and_pictures_counts_as_data(hub: LoopbackHub, terra: Versions, data: str) -> None:
    create_repository(hub)
    hub.commit(REPO, {data: b"[]"})
    assert terra.refuse("1.0.0", "holds data").found == f"1 file: {data}"


def test_a_repository_with_a_card_and_without_data_can_be_published_to(hub: LoopbackHub, terra: Versions) -> None:
    create_repository(hub)
    hub.commit(REPO, {"README.md": b"Coming soon.", "LICENSE": b"MIT", "figure.PNG": b"PNG", ".gitignore": b"x"})
    terra.publish("1.0.0")
    assert verified_hash(hub.tree(REPO)) == verified_hash(hub.tree(REPO, "v1.0.0"))
    assert TAG not in hub.repos[REPO].tags


@pytest.mark.both_hubs
def test_with_permission_what_the_repository_held_gets_a_tag_and_nothing_of_it_loads_with_the_release(
    hub: LoopbackHub, terra: Versions, theirs: str
) -> None:
    planned = terra.plan("1.0.0", take_over=True)
    assert planned.takes_over
    deleted = {
        "data/dev-extra.jsonl", "data/train-00000-of-00001.parquet", f"{TERRA}.py", ".huggingface.yaml", "dataset_infos.json"
    }  # fmt: skip
    assert set(planned.deletes) == deleted
    published = terra.publish("1.0.0", take_over=True)
    assert hub.repos[REPO].moves[-3:] == [(TAG, theirs), ("main", published.commit), ("v1.0.0", published.commit)]
    assert hub.tree(REPO, TAG) == hub.tree(REPO, theirs)
    tree = hub.tree(REPO)
    assert not tree.keys() & deleted
    assert tree["data/dev.csv"] == THEIRS["data/dev.csv"], "no pattern of our card matches it"
    assert tree["figure.png"] == THEIRS["figure.png"]
    assert "viewer: false" in tree["README.md"].decode()
    assert not terra.publish("1.0.0").plan.takes_over


@pytest.mark.both_hubs
def test_the_tags_of_strangers_are_named_and_kept_under_another_name(
    hub: LoopbackHub, theirs: str, terra: Versions
) -> None:
    hub.repos[REPO].tags.update({"v1.0.0": theirs, "v9.0.0": theirs})
    error = terra.refuse("1.0.0", "the tag v1.0.0 holds no release of this package")
    assert error.todo == "pass --take-over: it becomes before-embedding-datasets-v1.0.0"
    published = terra.publish("1.0.0", take_over=True)
    assert published.plan.newest is None, "v9.0.0 is not a version of ours"
    tags = {"v1.0.0": published.commit, "v9.0.0": theirs, TAG: theirs, f"{TAG}-v1.0.0": theirs}
    assert hub.repos[REPO].tags == tags
    assert terra.publish("1.0.0").state == "already published"
    second = terra.publish("2.0.0")
    assert (second.plan.branch, hub.repos[REPO].branches["main"]) == ("main", second.commit)


@pytest.mark.both_hubs
def test_a_tag_of_an_earlier_take_over_at_another_commit_is_an_error(
    hub: LoopbackHub, terra: Versions, theirs: str
) -> None:
    hub.repos[REPO].tags[TAG] = theirs
    now = hub.commit(REPO, {"data/dev.csv": b"c,d\n"})
    error = terra.refuse("1.0.0", f"the tag {TAG} is that of another commit", take_over=True)
    assert (error.found, error.expected) == (theirs, now)
    assert hub.repos[REPO].branches["main"] == now


def test_a_tag_of_an_earlier_take_over_that_somebody_creates_meanwhile_is_an_error_too(
    hub: LoopbackHub, terra: Versions, theirs: str
) -> None:
    initial = hub.repos[REPO].moves[0][1]
    hub.before_answer["/tag/"] = lambda: hub.repos[REPO].tags.update({TAG: initial})
    terra.refuse("1.0.0", "that of another commit", take_over=True)
    assert hub.repos[REPO].branches["main"] == theirs


@pytest.mark.usefixtures("theirs")
def test_tags_of_somebody_else_do_not_make_a_version_an_older_one(
    hub: LoopbackHub, terra: Versions, theirs: str
) -> None:
    hub.repos[REPO].tags["v3.0.0"] = theirs
    published = terra.publish("1.0.0", take_over=True)
    assert published.plan.branch == "main"
    assert hub.repos[REPO].branches == {"main": published.commit}


@pytest.mark.parametrize(
    ("fault", "every"),
    [("the answer is cut", False), *(pytest.param(fault, True, marks=pytest.mark.slow) for fault in FAULTS)],
)
def test_after_a_fault_at_any_request_of_a_take_over_the_next_run_finishes(
    hub: LoopbackHub, terra: Versions, theirs: str, fault: str, *, every: bool
) -> None:
    taking_over = replace(terra, options=replace(terra.options, take_over=True))
    for number, run in each_request(taking_over, "1.0.0", [], every=every):
        hub.fail(number, FAULTS[fault])
        try:
            run.publish("1.0.0")
        except PublishError:
            assert FAULTS[fault] == Fault(status=412), "the other faults pass, and retries succeed"
        hub.stop_failing()
        run.publish("1.0.0")
        repository = hub.repos[REPO]
        assert repository.tags == {TAG: theirs, "v1.0.0": repository.branches["main"]}
        assert repository.commits[repository.branches["main"]].parent == theirs


@pytest.mark.both_hubs
def test_a_tag_of_strangers_is_deleted_only_where_its_commit_has_the_new_one(
    hub: LoopbackHub, terra: Versions, theirs: str
) -> None:
    initial, tags = hub.repos[REPO].commits[theirs].parent or "", hub.repos[REPO].tags
    tags.update({"v1.0.0": theirs, f"{TAG}-v1.0.0": initial})
    error = terra.refuse("1.0.0", f"{TAG}-v1.0.0 is not on its commit", take_over=True)
    assert (error.found, error.expected, tags["v1.0.0"]) == (initial, theirs, theirs)
    del tags[f"{TAG}-v1.0.0"]
    published = terra.publish("1.0.0", take_over=True)
    assert tags == {TAG: theirs, f"{TAG}-v1.0.0": theirs, "v1.0.0": published.commit}


def test_nothing_is_sent_before_the_tag_of_what_was_there(hub: LoopbackHub, terra: Versions, theirs: str) -> None:
    hub.fail_at["/tag/"] = Fault(status=200)  # and no tag is made
    terra.refuse("1.0.0", f"the tag {TAG} is that of another commit", take_over=True)
    assert hub.repos[REPO].branches["main"] == theirs
