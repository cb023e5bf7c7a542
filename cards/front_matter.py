"""The front matter of a card, written and read: the metadata that the Hub indexes and `datasets` loads by.

A card from the Hub is data, not trusted text. PyYAML alone is not enough: a few lines of nested aliases expand to billions of
values, and many tags make it raise exceptions of Python. Everything is measured before any value is built; the limits are in
builders/limits.py.
"""

import re
from collections.abc import Iterable
from typing import Any

import yaml

from builders import limits
from builders.catalogue import Definition
from builders.errors import SourceError
from builders.raw_files import Hub, Member
from builders.spec import Dataset, Source
from builders.tasks import Classification, Task, config_folder, label_names
from cards.manifest import Column, Manifest, Table, tables_by_config

# From ISO 639-3, as in mteb, to ISO 639-1, as on the Hub, with the English name. pipelines.audit.languages detects them all: add
# only languages that both fasttext and py3langid know.
LANGUAGES = {
    "afr": ("af", "Afrikaans"), "ara": ("ar", "Arabic"), "arb": ("ar", "Arabic"), "bel": ("be", "Belarusian"),
    "ben": ("bn", "Bengali"), "bul": ("bg", "Bulgarian"), "cat": ("ca", "Catalan"), "ces": ("cs", "Czech"),
    "cmn": ("zh", "Chinese"), "cym": ("cy", "Welsh"), "dan": ("da", "Danish"), "deu": ("de", "German"),
    "ell": ("el", "Greek"), "eng": ("en", "English"), "est": ("et", "Estonian"), "eus": ("eu", "Basque"),
    "fas": ("fa", "Persian"), "fin": ("fi", "Finnish"), "fra": ("fr", "French"), "gle": ("ga", "Irish"),
    "glg": ("gl", "Galician"), "guj": ("gu", "Gujarati"), "heb": ("he", "Hebrew"), "hin": ("hi", "Hindi"),
    "hrv": ("hr", "Croatian"), "hun": ("hu", "Hungarian"), "hye": ("hy", "Armenian"), "ind": ("id", "Indonesian"),
    "isl": ("is", "Icelandic"), "ita": ("it", "Italian"), "jpn": ("ja", "Japanese"), "kan": ("kn", "Kannada"),
    "kat": ("ka", "Georgian"), "kaz": ("kk", "Kazakh"), "kir": ("ky", "Kyrgyz"), "kor": ("ko", "Korean"),
    "lav": ("lv", "Latvian"), "lit": ("lt", "Lithuanian"), "mal": ("ml", "Malayalam"), "mar": ("mr", "Marathi"),
    "mkd": ("mk", "Macedonian"), "nep": ("ne", "Nepali"), "nld": ("nl", "Dutch"), "nob": ("no", "Norwegian"),
    "nor": ("no", "Norwegian"), "pan": ("pa", "Punjabi"), "pes": ("fa", "Persian"), "pol": ("pl", "Polish"),
    "por": ("pt", "Portuguese"), "ron": ("ro", "Romanian"), "rus": ("ru", "Russian"), "slk": ("sk", "Slovak"),
    "slv": ("sl", "Slovenian"), "som": ("so", "Somali"), "spa": ("es", "Spanish"), "sqi": ("sq", "Albanian"),
    "srp": ("sr", "Serbian"), "swa": ("sw", "Swahili"), "swe": ("sv", "Swedish"), "swh": ("sw", "Swahili"),
    "tam": ("ta", "Tamil"), "tat": ("tt", "Tatar"), "tel": ("te", "Telugu"), "tgl": ("tl", "Tagalog"),
    "tha": ("th", "Thai"), "tur": ("tr", "Turkish"), "ukr": ("uk", "Ukrainian"), "urd": ("ur", "Urdu"),
    "vie": ("vi", "Vietnamese"), "zho": ("zh", "Chinese"),
}  # fmt: skip
MIN_LETTERS = 30  # of a text whose language is detected: with fewer, detectors guess
# The keys of the statistics of languages as they are shown: they are of some texts only.
LANGUAGE_FIGURES = {
    "texts": f"texts looked at, of {MIN_LETTERS} letters or more",
    "shares": "shares of these",
}

# Of several configs, the one that the Hub's viewer shows first and that loads if none is named. Queries say what is asked, and
# load in seconds; a corpus may have gigabytes, and judgements are ids. Without queries it is the first config.
SHOWN_FIRST = "queries"

SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B")


def metadata(definition: Definition, manifest: Manifest) -> dict[str, Any]:
    """The metadata of a card, in the order of its lines.

    Raises ValueError for a language that LANGUAGES does not have.
    """
    source, dataset = definition.source, definition.dataset
    languages = [language(code)[0] for code in dataset.languages]
    task, benchmark = dataset.task.type, dataset.benchmark
    configs = tables_by_config(manifest.tables)
    translation = task.name == "BitextMining"
    names = config_names(dataset, configs)
    first = SHOWN_FIRST if SHOWN_FIRST in configs else next(iter(configs))
    return {
        "pretty_name": dataset.pretty_name,
        "language": languages,
        **license_keys(source.name, definition.license, source.homepage),
        "multilinguality": ["translation" if translation else "monolingual" if len(languages) == 1 else "multilingual"],
        "annotations_creators": list(source.annotations),
        "source_datasets": _source_datasets(source),
        "size_categories": [size_category(sum(table.rows for table in manifest.tables))],
        "task_categories": list(task.hub_categories),
        "task_ids": [*dataset.task_ids, *task.hub_ids],
        "tags": [
            *(["mteb"] if task.mteb_class else []),
            "text",
            *([benchmark.name] if benchmark else []),
            "embedding-datasets",
            task.name.lower(),
        ],
        "configs": [
            {
                "config_name": names[config],
                "data_files": [{"split": split, "path": f"{config_folder(config)}/{split}-*"} for split in tables],
                **({"default": True} if config == first else {}),
            }
            for config, tables in configs.items()
        ],
        "dataset_info": [
            _dataset_info(names[config], list(tables.values()), dataset.task) for config, tables in configs.items()
        ],
    }


def config_names(dataset: Dataset, configs: Iterable[str]) -> dict[str, str]:
    """The name that each config of a manifest has in the card, and loads by: `ru-corpus` for `corpus` of the subset `ru`."""
    return {config: f"{dataset.subset}-{config}" if dataset.subset else config for config in configs}


def language(code: str) -> tuple[str, str]:
    """The ISO 639-1 code and the English name of a language. code: in mteb's notation, `rus-Cyrl`.

    Raises ValueError for a language that LANGUAGES does not have.
    """
    try:
        return LANGUAGES[code.split("-", maxsplit=1)[0]]
    except KeyError:
        raise ValueError(f"unknown language {code!r}: add it to LANGUAGES in {__name__}") from None


def size_category(rows: int) -> str:
    """The Hub's size category for a number of rows."""
    return SIZES[min(max(len(str(rows)) - 3, 0), len(SIZES) - 1)]


def _source_datasets(source: Source) -> list[str]:
    """The datasets of the Hub that files of a source come from; else the source, as the Hub's vocabulary has those elsewhere."""
    locations = [file.location for file in source.files.values()]
    stored = [place.archive.location if isinstance(place, Member) else place for place in locations]
    repos = {place.repo for place in stored if isinstance(place, Hub)}
    return sorted(repos) or [f"extended|other-{source.name}"]


def license_keys(source: str, license_id: str, homepage: str) -> dict[str, str]:
    """The keys of the licence: for `other`, the Hub requires a name and a link too."""
    if license_id != "other":
        return {"license": license_id}
    return {"license": "other", "license_name": f"{source.replace('_', '-')}-terms", "license_link": homepage}


def _dataset_info(name: str, tables: list[Table], task: Task) -> dict[str, Any]:
    """Columns and sizes of a config.

    num_bytes is the size of the values; without it, `datasets` warns at every load that the card is malformed.
    """
    return {
        "config_name": name,
        "features": [_feature(column, task) for column in tables[0].columns],
        "splits": [{"name": table.split, "num_bytes": table.num_bytes, "num_examples": table.rows} for table in tables],
        "download_size": sum(file.bytes for table in tables for file in table.files),
        "dataset_size": sum(table.num_bytes for table in tables),
    }


def _feature(column: Column, task: Task) -> dict[str, Any]:
    """The type of a column, as `datasets` writes it: labels that are numbers with names are class labels.

    The names are in the card alone. The Parquet files hold numbers, and every reader but `datasets` gets these.
    """
    kind: Any = column.type.removeprefix("list<").removesuffix(">")
    names = () if isinstance(task, Classification) and task.bare_labels else label_names(task)
    if column.name == task.type.label and kind == "int64" and names:
        kind = {"class_label": {"names": {str(number): name for number, name in enumerate(names)}}}
    return {"name": column.name, "list" if column.type.startswith("list<") else "dtype": kind}


FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?\r?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)

TOO_DEEP = f"values nested in more than {limits.MAX_DEPTH} levels"
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
UNMEASURED = (0, 0)  # size and depth of a node while its children are being measured


def split_front_matter(card: str) -> tuple[str, str]:
    """The YAML of a card, with its final newline, and the text below it. Without front matter, the YAML is empty."""
    match = FRONT_MATTER.match(card)
    return (match[1] or "", card[match.end() :]) if match else ("", card)


def parse_front_matter(card: bytes, where: str) -> dict[str, Any]:
    """The metadata of a card; empty for a card without front matter.

    card: the bytes of a README.md, or one more than `limits.MAX_CARD` of a longer one. where: the file or repository.

    Raises SourceError for invalid YAML, for a card or YAML that exceeds a limit, and for anything but a mapping.
    """
    if len(card) > limits.MAX_CARD:
        raise SourceError(
            "README.md is too large",
            where=where,
            found=f"more than {limits.MAX_CARD:,} bytes",
            expected=f"at most {limits.MAX_CARD:,}",
            todo="shorten it",
        )
    text, _ = split_front_matter(card.decode("utf-8", "replace"))
    try:
        metadata, _ = load_yaml(text)
    except (yaml.YAMLError, ValueError) as error:
        raise SourceError(
            "invalid YAML in the front matter",
            where=where,
            found=" ".join(str(error).split())[:500],
            todo="fix the front matter of README.md",
        ) from None
    if metadata is not None and not isinstance(metadata, dict):
        raise SourceError(
            "the front matter is not a mapping",
            where=where,
            found=type(metadata).__name__,
            expected="lines of `key: value`",
            todo="fix the front matter of README.md",
        )
    return metadata or {}


def load_yaml(text: str) -> tuple[Any, yaml.Node | None]:
    """The value of YAML, and its node, which knows the lines; None for both where there is none.

    Raises ValueError or YAMLError for what is invalid or exceeds a limit.
    """
    if len(text) > limits.MAX_FRONT_MATTER:
        raise ValueError(f"{len(text):,} characters, more than {limits.MAX_FRONT_MATTER:,}")
    loader = _CountingLoader(text)
    try:
        if (node := loader.get_single_node()) is None:
            return None, None
        _measure(node, {})
        return loader.construct_document(node), node
    except (LookupError, AttributeError):  # what PyYAML raises for `!!int ''`, `!!bool maybe` and `!!timestamp now`
        raise ValueError("a value does not fit its tag") from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    finally:
        loader.dispose()


class _CountingLoader(yaml.SafeLoader):
    """The safe loader of PyYAML, which stops at too many values: each takes it some 20 microseconds."""

    _count = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._count += 1
        if self._count > limits.MAX_VALUES:
            raise ValueError(f"more than {limits.MAX_VALUES:,} values")
        return super().compose_node(parent, index)


def _measure(node: yaml.Node, measured: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """The size and the depth of a node with its aliases expanded: in `[&a xy, *a]` the text counts twice.

    measured: the results so far, by the id of the node.

    Raises ValueError for a node that exceeds a limit or contains itself, and for text that is not Unicode.
    """
    if (extent := measured.get(id(node))) is not None:
        if extent == UNMEASURED:
            raise ValueError("a value contains an alias of itself")
        return extent
    measured[id(node)] = UNMEASURED
    if isinstance(node, yaml.ScalarNode):
        size, depth = 1 + len(node.value.encode()), 1  # `"\ud800"` cannot be encoded
        if node.tag in NUMBERS and size > limits.MAX_DIGITS:
            raise ValueError(f"a number of more than {limits.MAX_DIGITS} digits")
    else:
        children = (
            [child for pair in node.value for child in pair] if isinstance(node, yaml.MappingNode) else node.value
        )
        extents = [_measure(child, measured) for child in children]
        size, depth = 1 + sum(size for size, _ in extents), 1 + max((depth for _, depth in extents), default=0)
    if size > limits.MAX_EXPANDED:
        raise ValueError(f"values of more than {limits.MAX_EXPANDED:,} characters, aliases expanded")
    if depth > limits.MAX_DEPTH:
        raise ValueError(TOO_DEEP)
    measured[id(node)] = size, depth
    return size, depth
