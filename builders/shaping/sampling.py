"""Random choices without a random generator: hash order, samples, balanced samples, splits.

Every row has a place that only its own key and the seed decide (`hash_order`), and a choice is always "the first n". So
no choice depends on input order, library or machine; a larger sample begins with the smaller one; and a row added to
the data enters a sample only by pushing out the last one of it (of its class). Between splits that follow each other the
row pushed out moves on to the next, and where shares follow the sizes of classes they are shared out anew.

Frames are eager; their columns come back as they were, their rows in hash order. `key` names a column of unique strings
or integers; `by` names the column of classes, of any type polars can group: of lists (several labels) each different
list, as it stands, is a class. A class without a single row goes unnoticed here: who knows the classes must check.

Raised: RecipeError where the data do not serve (a null or repeated key, a null class, too few rows); ValueError or
TypeError where the caller errs (a negative size, a bad seed, a key that is neither text nor integer).
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import polars as pl

from builders.errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


SHOWN = 5


def hash_order(keys: pl.Series, seed: str | int) -> pl.Series:
    """The place of each key in the order of this seed: one UInt64 a key, the smaller the earlier.

    The place is BLAKE2b (RFC 7693) with a digest length of 8 bytes, the key as its message and the seed as its secret
    key; the 8 bytes are read as an unsigned big-endian integer. Text counts as its UTF-8 bytes, unchanged; an integer
    as its decimal digits, `-` before them where negative. No salt, no personalisation. In a shell it is
    `printf %s "$KEY" | openssl mac -macopt size:8 -macopt key:"$SEED" BLAKE2BMAC`.

    Raises RecipeError for a null key, TypeError for keys that are neither text nor integers, ValueError for a seed that
    is not 1 to 64 bytes long.
    """

    secret = str(seed).encode()
    if not 1 <= len(secret) <= blake2b.MAX_KEY_SIZE:
        raise ValueError(f"a seed is 1 to {blake2b.MAX_KEY_SIZE} bytes long, not {len(secret)}")
    messages = _text(keys).cast(pl.Binary)
    places = [blake2b(message, digest_size=8, key=secret).digest() for message in messages]
    return pl.Series(keys.name, places, dtype=pl.Binary).bin.reinterpret(dtype=pl.UInt64, endianness="big")


def order(frame: pl.DataFrame, *, key: str, seed: str | int) -> pl.DataFrame:
    """All rows by the hash of their key; were two hashes equal, by the UTF-8 bytes of the key's text.

    Raises RecipeError for a null or repeated key.
    """

    keys = _text(frame.get_column(key))
    if keys.n_unique() < keys.len():
        repeated = keys.filter(keys.is_duplicated())
        raise RecipeError(
            f"rows cannot be put in order: values of column {key!r} repeat",
            found=f"{repeated.n_unique()} values on {repeated.len()} rows, for example {repeated.min()!r:.80}",
            expected="another value on each row",
            todo="drop the repeated rows, or take a column that tells all rows apart",
        )
    places = pl.DataFrame({"hash": hash_order(keys, seed), "key": keys})
    return frame[places.select(pl.arg_sort_by("hash", "key")).to_series()]


def sample(frame: pl.DataFrame, n: int, *, key: str, seed: str | int, what: str = "rows") -> pl.DataFrame:
    """The first n rows in hash order. `what` is the error's word for them.

    Raises RecipeError for fewer than n rows and for a null or repeated key.
    """
    _check_sizes([n])
    if frame.height < n:
        raise _too_few(what, f"{frame.height} {what}", f"{n} {what}")
    return order(frame, key=key, seed=seed).head(n)


def balanced(frame: pl.DataFrame, n_per_class: int, *, by: str, key: str, seed: str | int) -> pl.DataFrame:
    """The first n rows of each class in hash order, all classes together in hash order.

    Raises RecipeError for a class of fewer than n rows, no class at all, a null class, a null or repeated key.
    """
    return split(frame, {"sample": n_per_class}, key=key, seed=seed, by=by)["sample"]


def split(
    frame: pl.DataFrame,
    sizes: Mapping[str, int],
    *,
    key: str,
    seed: str | int,
    by: str | None = None,
    group: str | None = None,
) -> dict[str, pl.DataFrame]:
    """Disjoint splits, filled one after another in the order of `sizes`, each from the first rows left in hash order.

    sizes: how many rows each split has; with `by`, how many of each class. Rows left over are in no split.

    group: a column of strings or integers; rows with one value of it never come into two splits. Rows are then taken
    group by group (groups by the hash of their value under the same seed, rows of a group by their own), and where a
    split is full amid a group, the rest of that group is left over. With `by`, a group has rows of one class only.

    Raises RecipeError for too few rows (of a class), no class at all, a null class or group, a group with two classes,
    a null or repeated key.
    """
    _check_sizes(sizes.values())
    rows = order(frame, key=key, seed=seed)
    names, queues = _queues(rows, by)
    groups = None if group is None else rows.get_column(group)
    if groups is not None:
        queues = _by_group(groups, queues, seed)
    cuts = [_cut(queue, sizes.values(), groups) for queue in queues]
    needed = sum(sizes.values())
    short = [
        f"{queue.len()} {name}"
        for name, queue, pieces in zip(names, queues, cuts, strict=True)
        if sum(map(len, pieces)) < needed
    ]
    if short:
        more = [f"and {len(short) - SHOWN} more classes"] if len(short) > SHOWN else []
        each = "" if by is None else " of each class"
        whole = "" if group is None else f", and some to spare: no {group} is divided between splits"
        raise _too_few("rows", ", ".join(short[:SHOWN] + more), f"{needed} rows{each}{whole}")
    return {name: _pick(rows, pieces) for name, pieces in zip(sizes, zip(*cuts, strict=True), strict=True)}


def split_keeping_balance(
    frame: pl.DataFrame, sizes: Mapping[str, int], *, by: str, key: str, seed: str | int
) -> dict[str, pl.DataFrame]:
    """Disjoint splits of `sizes` rows in all, to which each class gives the same share of its rows.

    Splits are filled one after another, each from what those before it left. Of a class with c of the N rows left, a
    split of s rows takes the first s * c / N in hash order, rounded down; the rows it still lacks come one each from the
    classes that lost most by rounding, and among equals from those whose next row is the first in hash order.

    Raises RecipeError for too few rows, no class at all, a null class, a null or repeated key.
    """
    _check_sizes(sizes.values())
    needed = sum(sizes.values())
    if frame.height < needed:
        raise _too_few("rows", f"{frame.height} rows", f"{needed} rows")
    rows = order(frame, key=key, seed=seed)
    _, queues = _queues(rows, by)
    splits = {}
    for name, size in sizes.items():
        shares = _shares(queues, size)
        splits[name] = _pick(rows, [queue.head(share) for queue, share in zip(queues, shares, strict=True)])
        queues = [queue.slice(share) for queue, share in zip(queues, shares, strict=True)]
    return splits


def _text(keys: pl.Series) -> pl.Series:
    """The keys as what is hashed: text, or the digits of integers; none is null."""

    if keys.dtype != pl.String and not keys.dtype.is_integer():
        raise TypeError(f"column {keys.name!r} must hold strings or integers, not {keys.dtype}")
    _check_no_nulls(keys)
    return keys.cast(pl.String)


def _queues(rows: pl.DataFrame, by: str | None) -> tuple[list[str], list[pl.Series]]:
    """What an error calls the rows of each class, and their row numbers, ascending; without `by`, of all rows."""

    numbers = pl.int_range(rows.height, eager=True)
    if by is None:
        return ["rows"], [numbers]
    classes = rows.get_column(by)
    _check_no_nulls(classes)
    if classes.is_empty():
        raise _too_few("rows", "none", f"rows with a class in column {by!r}")
    grouped = pl.DataFrame({"class": classes, "row": numbers}).group_by("class", maintain_order=True).agg("row")
    names = [f"rows of class {value!r:.80}" for value in grouped.get_column("class").to_list()]
    return names, list(grouped.get_column("row"))


def _by_group(groups: pl.Series, queues: Sequence[pl.Series], seed: str | int) -> list[pl.Series]:
    """Each queue with the rows of a group next to each other; a group stands in one queue."""

    apart = pl.concat([groups[queue].unique() for queue in queues])
    if apart.n_unique() < apart.len():
        raise RecipeError(
            f"rows cannot be kept together by column {groups.name!r}: a value of it has rows of two classes",
            found=f"for example {_text(apart).filter(apart.is_duplicated()).min()!r:.80}",
            expected="rows of one class under each value",
            todo="leave such rows out, or split without classes",
        )
    places = pl.DataFrame({"hash": hash_order(groups, seed), "group": _text(groups)})
    by_place = pl.arg_sort_by("hash", "group", maintain_order=True)
    return [queue[places[queue].select(by_place).to_series()] for queue in queues]


def _cut(queue: pl.Series, sizes: Iterable[int], groups: pl.Series | None) -> list[pl.Series]:
    """Pieces of these sizes, one after another, the last too short where the queue is; no group in two of them."""
    pieces = []
    for size in sizes:
        piece, queue = queue.head(size), queue.slice(size)
        pieces.append(piece)
        if groups is not None and not piece.is_empty():
            queue = queue.filter(groups[queue] != groups[piece[-1]])
    return pieces


def _shares(queues: Sequence[pl.Series], size: int) -> list[int]:
    """How many of `size` rows each queue gives: in proportion to its length, by largest remainder."""
    total = max(sum(map(len, queues)), 1)
    quotas = [divmod(size * queue.len(), total) for queue in queues]
    shares = [whole for whole, _ in quotas]
    claims = [
        (-rest, queue[0], place) for place, ((_, rest), queue) in enumerate(zip(quotas, queues, strict=True)) if rest
    ]
    for _, _, place in sorted(claims)[: size - sum(shares)]:
        shares[place] += 1
    return shares


def _pick(rows: pl.DataFrame, numbers: Iterable[pl.Series]) -> pl.DataFrame:
    """The rows of these numbers, ascending."""

    return rows[pl.concat(list(numbers)).sort()]


def _check_sizes(sizes: Iterable[int]) -> None:
    negative = [size for size in sizes if size < 0]
    if negative:
        raise ValueError(f"a size is a number of rows, not {negative[0]}")


def _check_no_nulls(column: pl.Series) -> None:
    if column.null_count():
        raise RecipeError(
            f"column {column.name!r} is null on some rows, which then have no place in a sample or split",
            found=f"{column.null_count()} null of {column.len()}",
            expected="a value on every row",
            todo="drop these rows and count them as dropped, or correct the reading of this column",
        )


def _too_few(what: str, found: str, expected: str) -> RecipeError:
    return RecipeError(
        f"too few {what}",
        found=found,
        expected=f"at least {expected}",
        todo="check that the raw files are complete; a smaller build needs smaller sizes in the recipe's options",
    )
