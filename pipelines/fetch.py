"""embedding-datasets fetch NAME... : raw files, found or downloaded, and verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from builders.errors import DatasetError, SourceError
from pipelines import command
from pipelines.process.stages import show_stages, stage
from pipelines.process.tables import table
from pipelines.process.terminal import format_size

if TYPE_CHECKING:
    import argparse

    from builders.errors import MissingFile
    from builders.raw_files import RawFile
    from builders.spec import Source
    from pipelines.raw.locations import LocatedFile
    from pipelines.raw.missing_files import NeededFiles
    from pipelines.raw.settings import RawSettings

EXAMPLES = """\
  embedding-datasets fetch rubq                         download what rubq's datasets are built from
  embedding-datasets fetch all --dry-run                what there is to download, from where, and how large it is
  embedding-datasets fetch training --plan > plan.sh    the same as a script of commands, with what this package makes
  embedding-datasets fetch all --raw-dir DIR --offline  verify the files in DIR, list the missing ones
  embedding-datasets fetch hhrlhf-harmlessness --splits test
  embedding-datasets fetch --probe                      whether every file is still there, without downloading it
  embedding-datasets fetch --probe --records 2000 --report probe.json      and whether its first records can be built from"""


def main() -> int:
    """Fetch the raw files of the named datasets; returns the exit code: that of the first file that failed, or 0."""
    options = command.parse(parser(), _find_mistakes)
    from pipelines.raw.locations import locate
    from pipelines.raw.missing_files import is_said, large_download, list_needs, log_missing_files

    settings = command.raw_settings(options)
    datasets = command.resolve_datasets(options.names or ["all", "training"])
    needs = list_needs(datasets, options.splits)
    # By source and file: datasets of one source share files.
    sources = {(need.definition.source.name, key): need.definition.source for need in needs for key in need.keys}
    if options.probe:
        files = [(source, source.files[key]) for (_, key), source in sources.items()]
        code, sizes = _probe(files, settings, as_json=options.json)
        codes = [code, _look(needs, files, settings, options, sizes) if options.records else 0]
        return 1 if 1 in codes else max(codes)
    if options.plan:
        from pipelines.raw.plan import plan_script

        print("\n".join(plan_script(needs, settings)))
        return 0
    if options.dry_run:
        return _dry_run(needs, settings, options.splits, as_json=options.json)
    if much := large_download(datasets, options.splits, settings):
        command.confirm(much, yes=options.yes)
    failed: dict[str, MissingFile] = {}
    codes, rows = list[int](), [["file", "size", "sha256", "state", "from"]]
    for number, ((_, key), source) in enumerate(sources.items(), 1):
        name = f"{source.name}/{source.files[key].name}"
        try:
            with show_stages(f"file {number} of {len(sources)}"), stage(name):
                file = locate(source, key, settings)
        except DatasetError as error:
            missing = error.missing if len(sources) > 1 else None
            said = missing is not None and is_said(error, failed)
            failed |= {missing.name: missing} if missing else {}
            codes.append(command.print_failure(error, said, as_json=options.json, name=name))
            continue
        if options.json:
            command.print_json(_to_json(source.name, file))
        state = "verified" if file.verified else "unverified"
        rows.append([f"{source.name}/{file.name}", format_size(file.bytes), file.sha256[:16], state, file.origin])
    if not options.json and len(rows) > 1:
        command.print_page(table(rows, width=command.width()).splitlines())
    if failed:
        log_missing_files(needs, settings, options.splits, failed.values())
    return next(iter(codes), 0)


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser("fetch", "Find or download raw files and verify them.", EXAMPLES)
    arguments.add_argument("names", nargs="*", metavar="NAME", help=command.NAMES)
    command.add_raw_options(arguments)
    command.add_yes_option(arguments)
    arguments.add_argument("--splits", type=command.split_names, metavar="A,B", help="only the files of these splits")
    command.add_flags(
        arguments,
        {
            "--dry-run": "show what would be downloaded, and do nothing",
            "--plan": "print a script: what to get, download, make, build and mirror, in order",
            "--probe": "ask whether each file is where it is published, in its size and with its digest; of all sources"
            " without a NAME",
        },
    )
    arguments.add_argument(
        "--records",
        type=command.positive_int,
        metavar="N",
        help="with --probe: list repositories, read the first megabyte of each file, and build from its first N records",
    )
    command.add_output(
        arguments, "--report", "probe", metavar="FILE", help="with --records: write what was seen as JSON, for accept"
    )
    arguments.add_argument("--json", action="store_true", help="one JSON object per file on stdout, for programs")
    return arguments


def _find_mistakes(options: argparse.Namespace) -> Mapping[str, object]:
    """The usage errors that options may make together, each with whether they do."""
    other = "--offline" if options.offline else "--dry-run"
    return {
        "the following arguments are required: NAME": not options.names and not options.probe,
        "--records N is for --probe, and --report FILE for --records N": (
            (options.records and not options.probe) or (options.report and not options.records)
        ),
        f"--probe asks servers: leave out {other}": options.probe and (options.offline or options.dry_run),
    }


def _probe(
    files: list[tuple[Source, RawFile]], settings: RawSettings, *, as_json: bool
) -> tuple[int, dict[str, int | None]]:
    """Ask for files without downloading them; returns 1 where one is wrong, 3 where a server is silent, else 0; and sizes."""
    from pipelines.raw.probing import MEMORY, WRONG, count_asked, probe_files, probe_page, to_json

    with show_stages("probe"), stage("asking", total=count_asked(files), unit="files") as advance:
        probed = probe_files(files, settings, advance)
    if as_json:
        command.print_json(*map(to_json, probed))
    else:
        command.print_page(probe_page(probed, settings.cache / MEMORY, width=command.width()))
    states = {file.judgement.state for file in probed}
    code = 1 if states & WRONG else SourceError.exit_code if "unreachable" in states else 0
    return code, {file.name: file.bytes for file in probed}


def _look(
    needs: Sequence[NeededFiles],
    files: list[tuple[Source, RawFile]],
    settings: RawSettings,
    options: argparse.Namespace,
    sizes: dict[str, int | None],
) -> int:
    """Read the beginnings of files, and build from them; returns the exit code. sizes: of files, as `_probe` returns them."""
    from pipelines.build_report import first_look
    from pipelines.raw.probing import count_asked

    with show_stages("probe"), stage("reading", total=count_asked(files), unit="files") as advance:
        datasets = [(need.definition, need.version) for need in needs]
        looks = first_look.look(files, datasets, settings, options.records, advance, sizes=sizes)
    if options.report:
        first_look.write_report(options.report, looks)
    if options.json:
        command.print_json(first_look.to_json(looks))
    else:
        command.print_page(first_look.page(looks))
    return looks.exit_code


def _dry_run(
    needs: Sequence[NeededFiles], settings: RawSettings, splits: tuple[str, ...] | None, *, as_json: bool
) -> int:
    """Show where each file would come from; returns 3 where one is missing, as fetching would."""
    from pipelines.raw.missing_files import download_page, log_missing_files, plan_downloads

    plans = plan_downloads(needs, settings)
    if as_json:
        command.print_json(*map(asdict, plans))
    else:
        print("\n".join(download_page(plans)))
    if any(plan.origin in {"missing", "by-hand"} for plan in plans):
        log_missing_files(needs, settings, splits)
        return SourceError.exit_code
    return 0


def _to_json(source: str, file: LocatedFile) -> dict[str, Any]:
    return {
        "name": f"{source}/{file.name}",
        "url": file.url,
        "sha256": file.sha256,
        "bytes": file.bytes,
        "verified": file.verified,
        "origin": file.origin,
        "path": str(file.raw.path),
        "member": file.raw.member,
    }


if __name__ == "__main__":
    command.run(main)
