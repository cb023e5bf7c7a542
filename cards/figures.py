"""The statistics of a release for reading: shares of labels and lengths of texts as bars, and all of them in one table."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from builders.tasks import Task
from cards import front_matter, markdown
from cards.columns import label_name

WIDTH = 20  # characters of a bar for the whole
EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def bar(share: float, width: int = WIDTH) -> str:
    """A bar for a share of 0 to 1, to an eighth of a character; a share above 0 is never an empty bar."""
    eighths = round(share * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8]


MAX_LABELS = 12  # that are shown one by one
NARROW = 10  # characters of a bar where splits are side by side, also on a phone
# The keys of statistics.json in words; any other key is shown with spaces for underscores.
WORDS = {
    "num_samples": "rows",
    "samples_in_train": "texts also in train",
    "number_of_characters": "characters in all texts",
    "unique_pairs": "distinct pairs",
    "num_documents": "documents",
    "num_queries": "queries",
    "text_statistics": "text",
    "text1_statistics": "first text",
    "text2_statistics": "second text",
    "sentence1_statistics": "first text",
    "sentence2_statistics": "second text",
    "documents_text_statistics": "document",
    "queries_text_statistics": "query",
    "label_statistics": "labels",
    "labels_statistics": "labels",
    "relevant_docs_statistics": "relevant documents",
    "top_ranked_statistics": "candidates",
    "total_text_length": "characters in all",
    "min_text_length": "shortest",
    "average_text_length": "average length",
    "max_text_length": "longest",
    "unique_texts": "distinct",
    "text_length_quantiles": "length, shortest ",
    **front_matter.LANGUAGE_FIGURES,
    "min_labels_per_text": "fewest labels of a text",
    "average_label_per_text": "labels of a text, on average",
    "max_labels_per_text": "most labels of a text",
    "unique_labels": "distinct labels",
    "min_score": "lowest score",
    "avg_score": "average score",
    "max_score": "highest score",
    "num_relevant_docs": "relevant documents of all queries",
    "min_relevant_docs_per_query": "fewest relevant documents of a query",
    "average_relevant_docs_per_query": "relevant documents of a query, on average",
    "max_relevant_docs_per_query": "most relevant documents of a query",
    "unique_relevant_docs": "distinct judged documents",
    "num_missing_query_ids": "judged queries that do not exist",
    "num_missing_corpus_ids": "judged documents that do not exist",
    "num_top_ranked": "candidates of all queries",
    "min_top_ranked_per_query": "fewest candidates of a query",
    "average_top_ranked_per_query": "candidates of a query, on average",
    "max_top_ranked_per_query": "most candidates of a query",
    "preferences": "preferences",
    "num_pairs": "all",
    "num_positives": "positives",
    "num_negatives": "negatives",
    "query_statistics": "query",
    "positive_statistics": "first positive",
    "training_sets": "set",
    "num_same_length": "with candidates of the same length",
    "longer_is_relevant": "of the others, the share whose longer candidate is relevant",
}
REPEATED = "hf_subset_descriptive_stats"  # the same figures again, as mteb nests them
NOT_SHOWN = (REPEATED, "queries_with_all_gold_black_or_white")  # the second is of images


def label_shares(task: Task, statistics: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """The labels, each with its rows in every split, a bar and a share there; a dash for a split without it.

    The most frequent come first; what is beyond MAX_LABELS is summed up in one line.
    """
    counts = {split: _label_counts(values) for split, values in statistics.items()}
    rows = {split: values.get("num_samples") or 1 for split, values in statistics.items()}
    total = sum(map(Counter, counts.values()), Counter[str]())
    order = sorted(total, key=lambda key: (-total[key], key))
    shown = order if len(order) <= MAX_LABELS else order[: MAX_LABELS - 2]
    width = WIDTH if len(statistics) == 1 else NARROW
    largest = max((count / rows[split] for split, labels in counts.items() for count in labels.values()), default=1)
    shares = [
        (
            label_name(task, key),
            [_share(counts[split].get(key, 0), rows[split], largest, width) for split in statistics],
        )
        for key in shown
    ]
    if rest := order[len(shown) :]:
        cells = []
        for labels in counts.values():
            of_split = [labels[key] for key in rest if key in labels]
            least, most = min(of_split, default=0), max(of_split, default=0)
            cells.append(f"{f'{least:,} to ' if least < most else ''}{most:,} each" if of_split else "")
        shares.append((f"{len(rest):,} more", cells))
    return shares


def text_lengths(statistics: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """For each kind of text and each split: what, split, and its lengths in characters in words."""
    lines = []
    for split, values in statistics.items():
        for key, figures in values.items():
            if isinstance(figures, dict) and "text_length_quantiles" in figures and key != REPEATED:
                quantiles = figures["text_length_quantiles"]
                words = (
                    f"shortest {figures['min_text_length']:,}, median {quantiles['p50']:,}, "
                    f"95 % have at most {quantiles['p95']:,}, longest {figures['max_text_length']:,}"
                )
                lines.append((WORDS[key], split, words))
    return lines


def longer_candidates(statistics: Mapping[str, Any]) -> str:
    """How often the longer of two candidates is the relevant one, in a sentence; empty without preferences."""
    parts = []
    for split, values in statistics.items():
        preferences = (values.get("top_ranked_statistics") or {}).get("preferences") or {}
        if (share := preferences.get("longer_is_relevant")) is not None:
            pairs = preferences["num_pairs"] - preferences["num_same_length"]
            where = f" in {markdown.code(split)}" if len(statistics) > 1 else ""
            parts.append(f"{100 * share:.1f} % of {pairs:,} pairs{where}")
    if not parts:
        return ""
    shares = markdown.join_with_and(parts)
    return f"Where two candidates differ in length, the longer one is the relevant one in {shares}. Chance is 50 %."


def statistics_table(task: Task, statistics: Mapping[str, Any], *, labels: bool = True) -> list[tuple[str, list[str]]]:
    """All statistics in words, each with its value in every split, a dash where a split does not have it.

    labels: with a line for each label.
    """
    flat = {split: dict(_flat(task, values, labels=labels)) for split, values in statistics.items()}
    names = list(dict.fromkeys(name for values in flat.values() for name in values))
    return [(name, [values.get(name, "–") for values in flat.values()]) for name in names]


def figure_name(path: Sequence[str]) -> str:
    """A figure of statistics.json in the words of the card, by its keys there: "text: shortest". A label is shown as it is."""
    words = {**WORDS, "text_length_quantiles": "length"}
    named = [(key, before == "labels") for before, key in pairwise(("", *path))]
    return ": ".join(
        key if is_label else words.get(key, key)
        for key, is_label in named
        if is_label or key not in (REPEATED, "labels")
    )


def _label_counts(values: Mapping[str, Any]) -> dict[str, int]:
    labels = (values.get("label_statistics") or values.get("labels_statistics") or {}).get("labels") or {}
    return {key: value["count"] for key, value in labels.items()}


def _share(count: int, rows: int, largest: float, width: int) -> str:
    """The rows of a label with its share, and a bar that is full for the largest share of all; a dash for none."""
    share = count / rows
    return f"{count:,} `{bar(share / largest, width)}` {share * 100:.1f}{markdown.NO_BREAK}%" if count else "–"


def _flat(
    task: Task, values: Mapping[str, Any], path: tuple[str, ...] = (), *, labels: bool
) -> Iterator[tuple[str, str]]:
    """Name and value of every leaf of nested statistics; leaves that are None are skipped.

    A label is data: it is shown by its name, as code. Quantiles and language shares are one leaf.
    """
    for key, value in values.items():
        name = WORDS.get(key) or markdown.plain(key.replace("_", " "))
        if key in NOT_SHOWN or value is None:
            continue
        if key == "labels" and isinstance(value, dict):
            for label, figures in value.items() if labels else ():
                yield ": ".join((*path, markdown.code(label_name(task, label)))), markdown.number(figures["count"])
            continue
        if isinstance(value, dict) and key not in ("text_length_quantiles", "shares"):
            yield from _flat(task, value, (*path, name), labels=labels)
            continue
        if key == "text_length_quantiles":
            name += " / ".join(str(int(quantile.removeprefix("p"))) for quantile in value) + " %"
            shown = " / ".join(map(markdown.number, value.values()))
        elif key == "shares":
            shown = ", ".join(f"{language} {markdown.percent(share)}" for language, share in value.items()) or "–"
        else:
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            shown = markdown.number(value) if is_number else markdown.code(value)
        named = path[:-1] if path and path[-1] in name else path  # not `labels: fewest labels of a text`
        yield ": ".join((*named, name)), shown
