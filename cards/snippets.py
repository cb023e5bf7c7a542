"""The repository in the Python code of a card: a placeholder in a release folder, its name once it is published."""

import re

PYTHON = re.compile(r"(?ms)^```python\n.*?^```$")
OR_FOLDER = "  # or the path of this folder"


def unnamed_repository(dataset: str) -> str:
    """What the code of a card says for the repository of a dataset that is not published."""
    return f"<organisation>/{dataset}"


def name_repository(card: str, dataset: str, repo: str) -> str:
    """The card of a release with its repository in every block of Python code. Nothing else changes.

    repo: `ORG/NAME`.
    """
    placeholder = re.compile(
        rf"{re.escape(unnamed_repository(dataset))}(?![\w-])(?:(.*){re.escape(OR_FOLDER)}$)?", re.MULTILINE
    )

    def name(block: re.Match[str]) -> str:
        return placeholder.sub(lambda found: repo + (found[1] or ""), block[0])

    return PYTHON.sub(name, card)
