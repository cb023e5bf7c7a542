"""What the licence of a source permits."""

import pytest

from builders.licenses import describe_license


@pytest.mark.parametrize(
    ("license_id", "words"),
    [
        ("apache-2.0", "sharing permitted with the notices of the licence, also for profit"),
        ("cc-by-4.0", "sharing permitted with credit, also for profit"),
        ("cc-by-nc-sa-4.0", "sharing permitted with credit, under the same licence, not for profit"),
        ("cc-by-nc-nd-4.0", "permits no derivatives, ask the owners before you share this dataset"),
        ("cc0-1.0", "sharing permitted, also for profit"),
        ("unknown", "none is stated, ask the authors before you share this dataset"),
        ("other", "terms of their own"),
    ],
)
def test_a_licence_is_described_in_words(license_id: str, words: str) -> None:
    assert describe_license(license_id) == words
