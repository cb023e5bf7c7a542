"""The repository in the code of a card."""

from cards.mteb_task import name_repository

CARD = """---
pretty_name: <organisation>/x
---
Text about <organisation>/x.

```json
"<organisation>/x"
```

```python
repo = "<organisation>/x"  # or the path of this folder
```

```python
frame = pandas.read_parquet("hf://datasets/<organisation>/x@v1.0.0/data/test-00000-of-00001.parquet")
repo = "<organisation>/xy"
```
"""


def test_every_line_of_python_that_needs_the_repository_gets_it() -> None:
    named = name_repository(CARD, "x", "org/name")
    assert 'repo = "org/name"\n```' in named
    assert 'read_parquet("hf://datasets/org/name@v1.0.0/data/' in named


def test_text_and_rows_of_the_card_stay_as_they_are() -> None:
    named = name_repository(CARD, "x", "org/name").splitlines()
    assert [line for line in CARD.splitlines() if line not in named] == [
        'repo = "<organisation>/x"  # or the path of this folder',
        'frame = pandas.read_parquet("hf://datasets/<organisation>/x@v1.0.0/data/test-00000-of-00001.parquet")',
    ]
