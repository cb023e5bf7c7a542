"""embedding-datasets reproduce NAME : build a release again from its raw files, and compare rows and bytes."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import DatasetError, UsageError
from pipelines import command

if TYPE_CHECKING:
    import argparse

    from pipelines.raw.settings import RawSettings
    from pipelines.release.statements import Signer
    from pipelines.reproduction.reproducing import Reproduction

EXAMPLES = """\
  embedding-datasets reproduce ORG/cedr-classification@v1.0.0    a published release
  embedding-datasets reproduce cedr@1.0.0 --raw-dir DIR          one below outputs/, from raw files in DIR/cedr/...
  embedding-datasets reproduce path/to/release --offline --json  for programs: docs/reproducibility.md lists the keys
  embedding-datasets reproduce cedr@1.0.0 --attest cedr.json --sign key.pem --by NAME    a signed statement of the verdict

verdicts: rows and bytes equal (0); rows equal, bytes not (0); rows differ (1);
manifest differs: equal rows, and other findings, dropped rows or addresses (1);
cannot say, something is missing (3)"""


logger = logging.getLogger(__name__)


def main() -> int:
    """Build the release that the command line names again; returns 0 for equal rows, 1 for others or another
    manifest, 3 where it cannot say."""
    options = command.parse(parser(), command.attest_mistakes)
    from pipelines.reproduction import reproducing
    from pipelines.reproduction.reproducing import EXIT_CODES

    try:
        signer = command.statement_signer(options, 1)
        release_dir, result = _reproduce(options, command.raw_settings(options))
    except DatasetError as error:
        return command.print_failure(error, as_json=options.json, dataset=options.name, version=None)
    if options.json:
        command.print_json(reproducing.to_json(options.name, result))
    else:
        command.print_page(reproducing.page(options.name, result))
    if options.attest:
        _attest(options, release_dir, result, signer)
    return EXIT_CODES[result.verdict]


def _attest(options: argparse.Namespace, release_dir: Path, result: Reproduction, signer: Signer | None) -> None:
    """Write what was found as a statement; nothing where nothing was."""
    from datetime import UTC, datetime

    from pipelines.release.statements import verification

    if result.verdict == "cannot say" or result.rebuilt is None:
        logger.info("no statement was written: there is nothing to state")
        return
    rebuild = (result.rebuilt, result.verdict)
    statement = verification(release_dir, result.release, rebuild, options.by, datetime.now(UTC))
    command.write_statement(options.attest, statement, signer)


def _reproduce(options: argparse.Namespace, raw: RawSettings) -> tuple[Path, Reproduction]:
    """The folder of the release, and the result."""
    from pipelines.checking.targets import resolve_release
    from pipelines.process.stages import show_stages
    from pipelines.reproduction.reproducing import reproduce, require_sound

    command.require_local(options.name, options)
    with show_stages(options.name):
        release_dir = resolve_release(options.name, options.releases, raw.cache)
        manifest = require_sound(release_dir)
    keep = options.keep and options.keep / manifest.dataset / manifest.version
    if keep and keep.exists():
        raise UsageError("--keep would overwrite a folder", where=str(keep), todo="remove it, or name another folder")
    return release_dir, reproduce(release_dir, manifest, raw, shown=lambda: show_stages(options.name), keep=keep)


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser(
        "reproduce", "Build a release again from its raw files, and compare rows and bytes.", EXAMPLES
    )
    arguments.add_argument(
        "name",
        metavar="NAME",
        help="the release: ORG/NAME@TAG on the Hub, a folder, or a dataset built below outputs/ (cedr@1.0.0)",
    )
    command.add_raw_options(arguments)
    command.add_releases_option(arguments)
    arguments.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the rebuilt release as DIR/<dataset>/<version>"
    )
    command.add_attest_options(arguments, "the verdict")
    arguments.add_argument("--json", action="store_true", help="one JSON object on stdout, for programs")
    return arguments


if __name__ == "__main__":
    command.run(main)
