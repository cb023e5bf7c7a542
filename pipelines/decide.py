"""embedding-datasets decide SOURCE --raw-dir DIR : let a model decide, once, what a build needs to know of a source's texts.

A classifier decides which sentences are acceptable; a tokenizer or a model measures texts. Either result becomes a raw file of
the source, so that no build needs the model. Needs the extra `acceptability` or `measurements` of this package.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import UsageError
from pipelines import command

if TYPE_CHECKING:
    import argparse

    from builders.spec import Decisions, Measurement, Source
    from pipelines.raw.settings import RawSettings

EXAMPLES = """\
  embedding-datasets decide stsb_ru --raw-dir DIR               with the pinned classifier of the Hub (1.4 GB)
  embedding-datasets decide stsb_ru --raw-dir DIR --offline     with the same one from the Hub's cache on this machine
  embedding-datasets decide stsb_ru --raw-dir DIR --model PATH  with another one, to try it: no version is built from that
  embedding-datasets decide opus_100 --raw-dir DIR              measure texts: their lengths in tokens
  embedding-datasets decide NAME --raw-dir DIR --only cosines   only one of several raw files"""


def main() -> int:
    """Decide for the source that the command line names; an interrupted command resumes. Returns the exit code."""
    options = _parse()
    source = _find(options.source)
    settings = command.raw_settings(options)
    keys = [one.key for one in (source.decisions, *source.measurements) if one]
    if options.only and options.only not in keys:
        raise UsageError(f"{source.name} has no such raw file", found=options.only, expected=" or ".join(keys))
    keys = [options.only] if options.only else keys
    if options.model and len(keys) > 1:
        todo = "add --only with one of them"
        raise UsageError("--model is for one raw file", found=f"{source.name} needs {', '.join(keys)}", todo=todo)
    if source.decisions and source.decisions.key in keys:
        _decide(source, source.decisions, settings, options.model)
    for measurement in source.measurements:
        if measurement.key in keys:
            _measure(source, measurement, settings, options.model)
    return 0


def _decide(source: Source, decisions: Decisions, settings: RawSettings, model_dir: Path | None) -> None:
    """Write the decisions of a classifier, and print what it rejects."""
    from builders.reading.errors import shorten
    from builders.spec import Raw
    from pipelines.raw import decisions as deciding
    from pipelines.raw.cache import lock_cached_file
    from pipelines.raw.locations import locate

    sentences = decisions.sentences([locate(source, key, settings).raw for key in decisions.inputs])
    name = source.files[decisions.key].name
    target = _raw_dir(settings) / source.name / name
    raw = Raw(f"{source.name}/{name}", target)
    named = f"{decisions.model}@{decisions.revision}"
    classifier = named if model_dir is None else deciding.local_classifier_name(model_dir)
    with lock_cached_file(settings.cache / raw.name, raw.name, activity="writing"):
        if not target.exists():
            model, revision = (decisions.model, decisions.revision) if model_dir is None else (str(model_dir), None)
            classify = deciding.load_classifier(model, revision, offline=settings.offline)
            deciding.write_decisions(decisions, sentences, classify, classifier, target)
        rejected = decisions.rejected(raw, classifier, sentences)
    print(f"{target}: {len(sentences):,} sentences, {len(rejected):,} of them not acceptable")
    for sentence in rejected[:5]:
        print(f"  {shorten(sentence, 100)}")


def _measure(source: Source, measurement: Measurement, settings: RawSettings, model_dir: Path | None) -> None:
    """Write a file of measurements, or check the one that exists, and print what it has."""
    from builders.spec import Raw
    from pipelines.raw.cache import lock_cached_file
    from pipelines.raw.locations import locate
    from pipelines.raw.measuring import check_measurements, describe_measurements, write_measurements
    from pipelines.raw.measuring_models import load_model

    inputs = {key: locate(source, key, settings).raw for key in measurement.inputs}
    name = source.files[measurement.key].name
    target = _raw_dir(settings) / source.name / name
    raw = Raw(f"{source.name}/{name}", target)
    with lock_cached_file(settings.cache / raw.name, raw.name, activity="writing"):
        if target.exists():
            named = "@".join(filter(None, (measurement.model, measurement.revision)))
            check_measurements(measurement, inputs, raw, named if model_dir is None else None)
        else:
            model = load_model(measurement, model_dir, offline=settings.offline)
            write_measurements(measurement.texts(inputs), model, target)
    print(describe_measurements(raw))


def _raw_dir(settings: RawSettings) -> Path:
    assert settings.raw_dir is not None, "the command line has been checked"
    return settings.raw_dir


def _find(name: str) -> Source:
    """The source of a name.

    Raises UsageError for a source that needs no decisions, and for a name that is not a source's.
    """
    from builders import catalogue

    sources = {entry.source: entry for entry in catalogue.entries().values()}
    if name in sources:
        source = catalogue.load(sources[name]).source
        if source.decisions or source.measurements:
            return source
    deciding = [
        source.name
        for source in (catalogue.load(entry).source for entry in sources.values())
        if source.decisions or source.measurements
    ]
    what = f"{name} needs no decisions" if name in sources else f"no source is named {name!r}"
    raise UsageError(what, expected=", ".join(deciding), todo="name a source that needs decisions")


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser("decide", "Let a model decide or measure what a build needs to know of texts.", EXAMPLES)
    arguments.add_argument("source", metavar="SOURCE", help="the source whose texts are judged, such as stsb_ru")
    command.add_raw_options(arguments)
    arguments.add_argument("--model", type=Path, metavar="PATH", help="another model and its tokenizer, in a folder")
    arguments.add_argument("--only", metavar="KEY", help="write this raw file of the source and no other")
    return arguments


def _parse() -> argparse.Namespace:
    arguments = parser()
    options = command.parse(arguments)
    if options.raw_dir is None:
        arguments.error("--raw-dir is needed: the decisions are written to DIR/<source>/")
    return options


if __name__ == "__main__":
    command.run(main)
