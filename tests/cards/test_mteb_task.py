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


def test_every_line_of_python_that_needs_the_repository_gets_it_and_all_others_stay_as_they_are() -> None:
    named = CARD.replace('"<organisation>/x"  # or the path of this folder', '"org/name"')
    assert name_repository(CARD, "x", "org/name") == named.replace(
        "hf://datasets/<organisation>/x@", "hf://datasets/org/name@"
    )
