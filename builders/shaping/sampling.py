"""Samples and splits without a random generator: rows are put in an order given by hashes, and the first ones are taken.

The position of a row depends only on its own key and the seed (`hash_order`). So a choice does not depend on input order,
library or machine; a larger sample begins with the smaller one; and a row added to the data enters a sample only by pushing out
its last row (of the same class). If splits follow each other, the row pushed out of one moves on to the next; if splits keep the
proportions of classes, an added row may also change these.

Frames are eager. Columns come back unchanged, rows in hash order. `key` names a column of unique strings or integers. `by`
names the column of classes, of any type polars can group; in a column of lists (several labels per row), each distinct list is a
class. A class without any row cannot be noticed here: if the classes are known, the caller must check.

All functions raise RecipeError if the data do not permit the choice (null or repeated keys, null classes, too few rows), and
ValueError or TypeError for wrong arguments (a negative size, an invalid seed, a key that is neither string nor integer).
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

import numpy as np
import polars as pl

from builders.errors import RecipeError
from builders.spec import Dropped, Tables

EXAMPLES = 5
AVAILABLE, LEFT_OVER = "rows of class {} to choose from", "rows of class {} left over"  # as recipes observe them


def hash_order(keys: pl.Series, seed: str | int) -> pl.Series:
    """The hash of each key under a seed (UInt64). Rows in ascending order of these hashes are "in hash order".

    The hash is BLAKE2b (RFC 7693) with a digest of 8 bytes, the key as message and the seed as secret key, without salt or
    personalisation; the digest is read as an unsigned big-endian integer. A string is hashed as its UTF-8 bytes, unchanged; an
    integer as its decimal digits, after `-` if it is negative. On the command line:
    `printf %s "$KEY" | openssl mac -macopt size:8 -macopt key:"$SEED" BLAKE2BMAC`.

    Raises RecipeError for a null key, TypeError for keys that are neither strings nor integers, ValueError for a seed that is
    not 1 to 64 bytes long.
    """
    secret = str(seed).encode()
    if not 1 <= len(secret) <= blake2b.MAX_KEY_SIZE:
        raise ValueError(f"a seed must be 1 to {blake2b.MAX_KEY_SIZE} bytes long, not {len(secret)}")
    messages = _as_text(keys).cast(pl.Binary)
    digests = (blake2b(message, digest_size=8, key=secret).digest() for message in messages)
    hashes = np.fromiter(digests, "S8", len(messages)).view(">u8")  # 8 bytes a key, where a list of digests needs 50
    return pl.Series(keys.name, hashes.astype(np.uint64))


def sort_by_hash(frame: pl.DataFrame, *, key: str, seed: str | int) -> pl.DataFrame:
    """All rows in hash order; rows with equal hashes are ordered by the UTF-8 bytes of their keys.

    Raises RecipeError for a null or repeated key.
    """
    keys = _as_text(frame.get_column(key))
    if keys.n_unique() < keys.len():
        repeated = keys.filter(keys.is_duplicated())
        raise RecipeError(
            f"cannot put rows in hash order: repeated values in column {key!r}",
            found=f"{repeated.n_unique()} values on {repeated.len()} rows, for example {repeated.min()!r:.80}",
            expected="a different value on each row",
            todo="drop the repeated rows, or choose a column that identifies rows",
        )
    ranks = pl.DataFrame({"hash": hash_order(keys, seed), "key": keys})
    return frame[ranks.select(pl.arg_sort_by("hash", "key")).to_series()]


def sample(frame: pl.DataFrame, n: int, *, key: str, seed: str | int, what: str = "rows") -> pl.DataFrame:
    """The first n rows in hash order. what: the word for rows in an error.

    Raises RecipeError for fewer than n rows and for a null or repeated key.
    """
    _check_sizes([n])
    if frame.height < n:
        raise too_few(what, f"{frame.height} {what}", f"{n} {what}")
    return sort_by_hash(frame, key=key, seed=seed).head(n)


def sample_per_class(frame: pl.DataFrame, n_per_class: int, *, by: str, key: str, seed: str | int) -> pl.DataFrame:
    """The first n rows of each class in hash order, all classes together in hash order.

    Raises RecipeError for a class of fewer than n rows, no class at all, a null class, a null or repeated key.
    """
    return split(frame, {"sample": n_per_class}, key=key, seed=seed, by=by)["sample"]


def sample_stratified(frame: pl.DataFrame, n: int, *, by: str, key: str, seed: str | int) -> pl.DataFrame:
    """A sample of n rows in total, with the same share of every class, all classes together in hash order.

    If a class has c of N rows, its first floor(n * c / N) rows in hash order are taken. The rows still missing come one each from
    the classes with the largest remainders; of equal remainders, from the class whose next row comes first in hash order.

    Raises RecipeError for too few rows, no class at all, a null class, a null or repeated key.
    """
    _check_sizes([n])
    if frame.height < n:
        raise too_few("rows", f"{frame.height} rows", f"{n} rows")
    rows = sort_by_hash(frame, key=key, seed=seed)
    _, queues = _queues(rows, by)
    return _take(rows, [queue.head(share) for queue, share in zip(queues, _shares(queues, n), strict=True)])


def split(
    frame: pl.DataFrame,
    sizes: Mapping[str, int],
    *,
    key: str,
    seed: str | int,
    by: str | None = None,
    group: str | None = None,
) -> dict[str, pl.DataFrame]:
    """Disjoint splits, filled in the order of `sizes`, each with the first rows in hash order that are still left.

    sizes: the rows of each split; with `by`, its rows of each class. Rows left over are in no split.

    group: a column of strings or integers; rows with the same value never go to different splits. Rows are then taken group by
    group (groups by the hash of their value under the same seed, rows within a group by their own hash). If a split is full in
    the middle of a group, the rest of that group is left over. With `by`, all rows of a group must have the same class.

    Raises RecipeError for too few rows (of a class), no class at all, a null class or group, a group with two classes, a null or
    repeated key.
    """
    _check_sizes(sizes.values())
    rows = sort_by_hash(frame, key=key, seed=seed)
    names, queues = _queues(rows, by)
    groups = None if group is None else rows.get_column(group)
    if groups is not None:
        queues = _gather_groups(groups, queues, seed)
    cuts = [_cut(queue, sizes.values(), groups) for queue in queues]
    needed = sum(sizes.values())
    short = [
        f"{queue.len()} {name}"
        for name, queue, pieces in zip(names, queues, cuts, strict=True)
        if sum(map(len, pieces)) < needed
    ]
    if short:
        more = [f"and {len(short) - EXAMPLES} more classes"] if len(short) > EXAMPLES else []
        each = "" if by is None else " of each class"
        spare = "" if group is None else f", plus spare rows so that no {group} is in two splits"
        raise too_few("rows", ", ".join(short[:EXAMPLES] + more), f"{needed} rows{each}{spare}")
    return {name: _take(rows, pieces) for name, pieces in zip(sizes, zip(*cuts, strict=True), strict=True)}


def draw_splits(
    rows: pl.DataFrame,
    requested: Iterable[str],
    *,
    seed: str,
    dropped: tuple[Dropped, ...] = (),
    observed: Mapping[str, int] | None = None,
    **sizes: int,
) -> Tables:
    """The table `default` of a recipe that draws its own splits, with as many rows of each class.

    rows: with id, label and label_text. requested: the splits to return. sizes: the rows of each class by split, in the order in
    which `split` fills them. dropped, observed: so far; how many rows of each class are left over is observed too.

    Raises RecipeError as `split` does.
    """
    frames = split(rows, sizes, by="label", key="id", seed=seed)
    left_over = count_left_over(rows, frames.values(), by="label_text")
    return Tables({"default": {name: frames[name] for name in requested}}, dropped, {**(observed or {}), **left_over})


def count_left_over(frame: pl.DataFrame, splits: Iterable[pl.DataFrame], *, by: str) -> dict[str, int]:
    """How many rows each class had and how many no split took, for what a recipe observes.

    It tells how many more rows of a class a stricter rule may drop. splits: with the column `by`, as the frame.
    """
    counts: dict[str, int] = {}
    taken = pl.concat(splits).get_column(by)
    for name, available in frame.get_column(by).value_counts().sort(by).iter_rows():
        left = available - int((taken == name).sum())
        counts |= {AVAILABLE.format(name): available, LEFT_OVER.format(name): left}
    return counts


def scarcest_class(observed: Mapping[str, int]) -> str:
    """The class with the fewest rows left over, as words; empty if no classes were counted (`count_left_over`)."""
    ending, available = LEFT_OVER.partition("{}")[2], AVAILABLE.partition("{}")[2]
    left = {name.removesuffix(ending): count for name, count in observed.items() if name.endswith(ending)}
    if not left:
        return ""
    name, count = min(left.items(), key=lambda pair: pair[1])
    return f"{count:,} of {observed[name + available]:,} {name}, the fewest of {len(left)} classes"


def list_candidates(pairs: pl.DataFrame, *, seed: str | int) -> pl.DataFrame:
    """The candidates of each query for reranking: query-id, corpus-ids (List(String)). The order of the queries is undefined.

    pairs: query-id, corpus-id (String). Candidates are in the hash order of `<query-id> <corpus-id>`, so that no position reveals
    which ones are relevant.
    """
    keys = pairs.select(pl.concat_str("query-id", "corpus-id", separator=" ")).to_series()
    ranked = pairs.with_columns(__hash=hash_order(keys, seed)).sort("__hash", "corpus-id")
    return ranked.group_by("query-id").agg(pl.col("corpus-id").alias("corpus-ids"))


def too_few(what: str, found: str, expected: str, *, where: str | None = None) -> RecipeError:
    """The error for data that cannot fill a sample, a split or a list."""
    return RecipeError(
        f"too few {what}",
        where=where,
        found=found,
        expected=f"at least {expected}",
        todo="check that the raw files are complete; for a smaller build, lower the numbers in the recipe's options",
    )


def _as_text(keys: pl.Series) -> pl.Series:
    """The keys as they are hashed: strings, or the digits of integers. Raises RecipeError for a null."""
    if keys.dtype != pl.String and not keys.dtype.is_integer():
        raise TypeError(f"column {keys.name!r} must hold strings or integers, not {keys.dtype}")
    _check_no_nulls(keys)
    return keys.cast(pl.String)


def _queues(rows: pl.DataFrame, by: str | None) -> tuple[list[str], list[pl.Series]]:
    """For each class, its name in errors and its ascending row numbers; without `by`, all rows are one class."""
    numbers = pl.int_range(rows.height, eager=True)
    if by is None:
        return ["rows"], [numbers]
    classes = rows.get_column(by)
    _check_no_nulls(classes)
    if classes.is_empty():
        raise too_few("rows", "none", f"one row with a class in column {by!r}")
    grouped = pl.DataFrame({"class": classes, "row": numbers}).group_by("class", maintain_order=True).agg("row")
    names = [f"rows of class {value!r:.80}" for value in grouped.get_column("class").to_list()]
    return names, list(grouped.get_column("row"))


def _gather_groups(groups: pl.Series, queues: Sequence[pl.Series], seed: str | int) -> list[pl.Series]:
    """Each queue with the rows of a group next to each other. Raises RecipeError for a group in two queues."""
    distinct = pl.concat([groups[queue].unique() for queue in queues])
    if distinct.n_unique() < distinct.len():
        raise RecipeError(
            f"cannot split by {groups.name!r}: a group has rows of two classes",
            found=f"for example {_as_text(distinct).filter(distinct.is_duplicated()).min()!r:.80}",
            expected="rows of one class in each group",
            todo="drop such rows, or split without classes",
        )
    ranks = pl.DataFrame({"hash": hash_order(groups, seed), "group": _as_text(groups)})
    by_group = pl.arg_sort_by("hash", "group", maintain_order=True)
    return [queue[ranks[queue].select(by_group).to_series()] for queue in queues]


def _cut(queue: pl.Series, sizes: Iterable[int], groups: pl.Series | None) -> list[pl.Series]:
    """Consecutive pieces of these sizes, shorter where the queue ends; no group is in two pieces."""
    pieces = []
    for size in sizes:
        piece, queue = queue.head(size), queue.slice(size)
        pieces.append(piece)
        if groups is not None and not piece.is_empty():
            queue = queue.filter(groups[queue] != groups[piece[-1]])
    return pieces


def _shares(queues: Sequence[pl.Series], size: int) -> list[int]:
    """How many of `size` rows each queue gives, in proportion to its length, by the largest remainder method.

    For example, queues of 53, 31 and 16 rows and a size of 10 give 5.3, 3.1 and 1.6: 5, 3 and 1, and the last row to the third.
    """
    total = max(sum(map(len, queues)), 1)
    quotas = [divmod(size * queue.len(), total) for queue in queues]
    shares = [whole for whole, _ in quotas]
    claims = [
        (-remainder, queue[0], number)
        for number, ((_, remainder), queue) in enumerate(zip(quotas, queues, strict=True))
        if remainder
    ]
    for _, _, number in sorted(claims)[: size - sum(shares)]:
        shares[number] += 1
    return shares


def _take(rows: pl.DataFrame, numbers: Iterable[pl.Series]) -> pl.DataFrame:
    """The rows with these numbers, in ascending order."""
    return rows[pl.concat(list(numbers)).sort()]


def _check_sizes(sizes: Iterable[int]) -> None:
    negative = [size for size in sizes if size < 0]
    if negative:
        raise ValueError(f"a size must be 0 or more, not {negative[0]}")


def _check_no_nulls(column: pl.Series) -> None:
    if column.null_count():
        raise RecipeError(
            f"cannot sample or split: column {column.name!r} is null on some rows",
            found=f"{column.null_count()} null of {column.len()}",
            expected="a value on every row",
            todo="drop these rows and count them, or correct how the column is read",
        )
