"""The docstrings of recipes, which cards are made of."""

import inspect
import sys
from collections.abc import Callable

from builders.errors import UsageError


def read_docstring(function: Callable[..., object]) -> str:
    """The docstring of a function, without its indentation; empty if it has none.

    Raises UsageError if Python runs with -OO, which removes all docstrings: a card would lose them without a word.
    """
    if sys.flags.optimize > 1:
        raise UsageError(
            "Python's option -OO removes the docstrings that cards are made of",
            found="-OO, or PYTHONOPTIMIZE=2",
            todo="run the same command without it",
        )
    return inspect.getdoc(function) or ""
