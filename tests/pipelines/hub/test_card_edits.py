"""Hand edits of a card on the Hub: shown, and never overwritten unless that is asked for."""

from dataclasses import replace
from typing import Any

import pytest

from builders.errors import PublishError
from pipelines.hub import foreign_edits
from pipelines.hub.planning import PublishOptions
from tests.support.loopback_hub import LoopbackHub
from tests.support.publishing import REPO, plan, publish, published_card


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
def test_a_hand_edited_card_is_shown_as_a_diff_and_not_overwritten(
    hub: LoopbackHub, options: PublishOptions, releases: Any, old: str, new: str, line: str
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    sha = hub.commit(REPO, {"README.md": edited(hub, old, new)})
    edits = plan(hub, dataset, outcomes["2.0.0"], options).card_edits
    assert edits[:2] == ("--- README.md of v1.0.0", "+++ README.md on main")
    assert line in edits
    with pytest.raises(PublishError, match="edited by hand since our last release") as caught:
        publish(hub, dataset, outcomes["2.0.0"], options)
    assert caught.value.exit_code == 5
    assert line in str(caught.value)
    assert "--overwrite-card" in str(caught.value)
    assert hub.repos[REPO].branches["main"] == sha
    publish(hub, dataset, outcomes["2.0.0"], replace(options, overwrite_card=True))
    assert hub.tree(REPO)["README.md"] == published_card(outcomes["2.0.0"])


def test_front_matter_keys_that_others_added_are_kept_and_do_not_count_as_edits(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    hub.commit(REPO, {"README.md": edited(hub, "license: mit", "viewer: false\nlicense: mit")})
    assert plan(hub, dataset, outcomes["2.0.0"], options).card_edits == ()
    publish(hub, dataset, outcomes["2.0.0"], options)
    assert b"viewer: false" in hub.tree(REPO)["README.md"]


def test_another_order_of_keys_and_other_line_ends_do_not_count_as_edits(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    card = edited(hub, "license: mit\n", "").replace(b"---\n", b"---\nlicense: 'mit'\n", 1).replace(b"\n", b"\r\n")
    hub.commit(REPO, {"README.md": card})
    assert plan(hub, dataset, outcomes["2.0.0"], options).card_edits == ()


def test_a_card_that_was_deleted_is_written_again(hub: LoopbackHub, options: PublishOptions, releases: Any) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    hub.commit(REPO, {"README.md": None})
    publish(hub, dataset, outcomes["2.0.0"], options)
    assert hub.tree(REPO)["README.md"] == published_card(outcomes["2.0.0"])


def test_an_edited_card_is_noticed_without_the_tag_of_its_version_too(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    hub.commit(REPO, {"README.md": edited(hub, "\n## Before you use it\n", "\n## Before you use it\n\nOne more.\n")})
    del hub.repos[REPO].tags["v1.0.0"]
    assert plan(hub, dataset, outcomes["2.0.0"], options).card_edits == (
        "the card was edited; there is no tag with its text as it was published",
    )


def test_of_a_long_diff_forty_lines_are_shown_and_long_lines_are_cut(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    lines = "".join(f"{number} {'x' * 1_000}\n" for number in range(3_000))
    hub.commit(REPO, {"README.md": edited(hub, "\n## Before you use it\n", f"\n## Before you use it\n{lines}")})
    edits = plan(hub, dataset, outcomes["2.0.0"], options).card_edits
    assert len(edits) == foreign_edits.MAX_DIFF + 1
    assert max(map(len, edits)) == foreign_edits.MAX_WIDTH + 3
    assert edits[-1].startswith("... and ")
    assert edits[-1].endswith(" more lines")


def test_an_edited_card_does_not_keep_an_older_version_from_its_branch(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["2.0.0"], options)
    card = edited(hub, "\n## Before you use it\n", "\n## Before you use it\n\nOne more.\n")
    hub.commit(REPO, {"README.md": card})
    publish(hub, dataset, outcomes["1.0.0"], options)
    assert hub.tree(REPO)["README.md"] == card
