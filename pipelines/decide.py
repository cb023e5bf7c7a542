"""embedding-datasets decide SOURCE --raw-dir DIR : let a classifier decide, once, which sentences of a source are acceptable.

The decisions become a raw file of the source, so that no build needs the classifier. Needs transformers and torch, the extra
`acceptability` of this package.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import UsageError
from pipelines import command

if TYPE_CHECKING:
    import argparse

    from builders.spec import Decisions, Source

EXAMPLES = """\
  embedding-datasets decide stsb_ru --raw-dir DIR               with the pinned classifier of the Hub (1.4 GB)
  embedding-datasets decide stsb_ru --raw-dir DIR --offline     with the same one from the Hub's cache on this machine
  embedding-datasets decide stsb_ru --raw-dir DIR --model PATH  with another one, to try it: no version is built from that"""


def main() -> int:
    """Decide for the source that the command line names; an interrupted command resumes. Returns the exit code."""
    options = _parse()
    from builders.reading.errors import shorten
    from builders.spec import Raw
    from pipelines.raw import decisions as deciding
    from pipelines.raw.cache import lock_cached_file
    from pipelines.raw.locations import locate

    source, decisions = _find(options.source)
    settings = command.raw_settings(options)
    sentences = decisions.sentences([locate(source, key, settings).raw for key in decisions.inputs])
    name = source.files[decisions.key].name
    target = options.raw_dir / source.name / name
    raw = Raw(f"{source.name}/{name}", target)
    local = options.model is not None
    classifier = deciding.local_classifier_name(options.model) if local else f"{decisions.model}@{decisions.revision}"
    with lock_cached_file(settings.cache / raw.name, raw.name, activity="writing"):
        if not target.exists():
            model, revision = (str(options.model), None) if local else (decisions.model, decisions.revision)
            classify = deciding.load_classifier(model, revision, offline=options.offline)
            deciding.write_decisions(decisions, sentences, classify, classifier, target)
        rejected = decisions.rejected(raw, classifier, sentences)
    print(f"{target}: {len(sentences):,} sentences, {len(rejected):,} of them not acceptable")
    for sentence in rejected[:5]:
        print(f"  {shorten(sentence, 100)}")
    return 0


def _find(name: str) -> tuple[Source, Decisions]:
    """The source of a name, and what is decided for it.

    Raises UsageError for a source that needs no decisions, and for a name that is not a source's.
    """
    from builders import catalogue

    sources = {entry.source: entry for entry in catalogue.entries().values()}
    if name in sources:
        source = catalogue.load(sources[name]).source
        if source.decisions is not None:
            return source, source.decisions
    deciding = [
        source.name for source in (catalogue.load(entry).source for entry in sources.values()) if source.decisions
    ]
    what = f"{name} needs no decisions" if name in sources else f"no source is named {name!r}"
    raise UsageError(what, expected=", ".join(deciding), todo="name a source that needs decisions")


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser("decide", "Let a classifier decide which sentences are acceptable.", EXAMPLES)
    arguments.add_argument("source", metavar="SOURCE", help="the source whose sentences are judged, such as stsb_ru")
    command.add_raw_options(arguments)
    arguments.add_argument("--model", type=Path, metavar="PATH", help="another model and its tokenizer, in a folder")
    return arguments


def _parse() -> argparse.Namespace:
    arguments = parser()
    options = command.parse(arguments)
    if options.raw_dir is None:
        arguments.error("--raw-dir is needed: the decisions are written to DIR/<source>/")
    return options


if __name__ == "__main__":
    command.run(main)
