"""What the licence of a source permits."""

import pytest

from builders.licenses import describe_license, permitted_uses


@pytest.mark.parametrize(
    ("license_id", "words"),
    [
        ("apache-2.0", "you may share it with the notices of the licence, also commercially"),
        ("cc-by-4.0", "you may share it with credit, also commercially"),
        ("cc-by-nc-sa-4.0", "you may share it with credit and under the same licence, non-commercially only"),
        ("cc-by-nc-nd-4.0", "permits no derivatives, ask the owners before you share this dataset"),
        ("cc0-1.0", "you may share it, also commercially"),
        ("unknown", "none is stated, ask the authors before you share this dataset"),
        ("other", "terms of its own, see the licence section before you share it"),
    ],
)
def test_a_licence_is_described_in_words(license_id: str, words: str) -> None:
    assert describe_license(license_id) == words


@pytest.mark.parametrize(
    ("license_id", "commercial", "redistribution"),
    [
        ("apache-2.0", True, True),
        ("cc-by-nc-4.0", False, True),
        ("cc-by-nd-4.0", True, False),
        ("cc-by-nc-nd-4.0", False, False),
        ("other", False, False),
        ("unknown", False, False),
    ],
)
def test_what_a_licence_is_not_known_to_permit_is_not_listed(
    license_id: str, *, commercial: bool, redistribution: bool
) -> None:
    uses = permitted_uses(license_id)
    assert ("commercial use allowed" in uses, "may be redistributed" in uses) == (commercial, redistribution)
