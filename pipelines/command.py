"""What the commands share: options, how errors are shown, exit codes.

0 done, 1 the build or check failed, 2 usage, 3 a source is missing or wrong, 4 quality findings forbid it, 5 publishing
failed; 130 interrupted, 141 the reader of the results closed before their end, 143 terminated.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from builders.errors import DatasetError, SourceError, UsageError, error_line
from pipelines.process import installation, interrupts
from pipelines.process.files import disk_failure, protect, temporary_file_error, write_atomically
from pipelines.process.safe_text import SafeOutput, safe_text
from pipelines.process.tables import WIDTH, wrap
from pipelines.process.terminal import color_words, configure_logging, discard_output, has_colors

if TYPE_CHECKING:
    from builders.catalogue import Definition
    from pipelines.checking.datasets import ForeignOptions
    from pipelines.raw.settings import RawSettings
    from pipelines.release.statements import Signer

PROGRAM = installation.DISTRIBUTION
READER_CLOSED = 141  # as shells number the signal that ends other programs then, SIGPIPE
# The groups of the catalogue, which --help does not read: a test compares them.
NAMES = (
    "a dataset, a source, a group (rumteb, ateb, rarb, mteb-rus-v1.1, training, all) or an unambiguous beginning of one"
)
EXIT_CODES = (
    "exit codes: 0 done, 1 failed, 2 usage, 3 a source is missing or wrong,\n"
    "            4 findings forbid it, 5 publishing failed"
)
MAX_NAME = 100  # characters
MAX_NUMBER = 2**31 - 1  # what every library counts rows with

logger = logging.getLogger(__name__)


def parser(command: str, description: str, examples: str) -> argparse.ArgumentParser:
    """A parser with a --help that teaches: what the command does, its options, examples, exit codes."""
    created = argparse.ArgumentParser(
        prog=f"{PROGRAM} {command}",
        description=_fit_help(description),
        epilog=_fit_help(f"examples:\n{examples}\n\n{EXIT_CODES}".replace(f"{installation.NAME} ", f"{PROGRAM} ")),
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=min(WIDTH, shutil.get_terminal_size()[0])),
        allow_abbrev=False,
    )
    loudness = created.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="show errors and results only")
    loudness.add_argument(
        "-v", "--verbose", action="store_true", help="show what is done, from where and how long it took"
    )
    return created


def _fit_help(text: str) -> str:
    """A text in lines of at most WIDTH characters: the comment of a long example below it, a long command on several lines."""
    lines = list[str]()
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        if len(line) <= WIDTH:
            lines.append(line)
        elif not line.startswith(f"{indent}{PROGRAM} "):
            lines += wrap(line.strip(), indent)
        else:
            example, _, comment = re.split(r"(?<=\S)( {2,}|$)", line, maxsplit=1)
            label = f"{indent}{PROGRAM} "
            pairs = re.sub(
                r"(--[\w-]+) (?=[^-])", "\\1\0", example.removeprefix(label)
            )  # an option stays with its value
            *folded, last = (part.replace("\0", " ") for part in wrap(pairs, label, width=WIDTH - 2, break_words=False))
            lines += [*(f"{part} \\" for part in folded), last, *(wrap(comment, f"{indent}    ") if comment else [])]
    return "\n".join(lines)


def add_flags(arguments: argparse.ArgumentParser, helps: Mapping[str, str]) -> None:
    """Add options without a value, by name, each with its text for --help."""
    for name, words in helps.items():
        arguments.add_argument(name, action="store_true", help=words)


def add_releases_option(arguments: argparse.ArgumentParser, *older: str) -> None:
    """Add the option that names the folder with the releases, `<dataset>/<version>`. older: other spellings of it."""
    arguments.add_argument(
        "--releases", *older, type=Path, default=Path("outputs"), metavar="DIR", help="where releases are (outputs/)"
    )


def add_output(arguments: argparse.ArgumentParser, option: str, kind: str, *older: str, **details: Any) -> None:
    """Add an option that names a file or folder to write. kind: a key of `pipelines.process.outputs.KINDS`. older: spellings.

    A value that is not a path is not compared with others: the command does so.
    """
    added = arguments.add_argument(option, *older, **{"type": Path} | details)
    outputs = arguments.get_default("outputs")
    if outputs is None:
        outputs = {}
        arguments.set_defaults(outputs=outputs)
        arguments.add_argument(
            "--overwrite", action="store_true", help="replace an output that this program did not write, never an input"
        )
    outputs[added.dest] = (option, kind)


def claim_outputs(options: argparse.Namespace) -> None:
    """Compare the outputs that the command line names with each other and with all else that it names.

    Whatever else is named and exists is protected until the process ends, even where an output leads to it only later.

    Raises UsageError where something would be lost; see `pipelines.process.outputs.claim`.
    """
    protect(())
    named = vars(options).get("outputs") or {}
    if all(vars(options)[dest] is None for dest in named):
        return
    from pipelines.process.outputs import KINDS, Output, claim, existing
    from pipelines.raw.pins import LOCK_FILE
    from pipelines.release.ledger import LEDGER

    outputs = [
        Output(option, vars(options)[dest], KINDS[kind])
        for dest, (option, kind) in named.items()
        if isinstance(vars(options)[dest], Path)
    ]
    values = [value for dest, value in vars(options).items() if dest not in {*named, "outputs"}]
    flat = [item for value in values for item in (value if isinstance(value, list | tuple) else [value])]
    names = [str(item) for item in flat if isinstance(item, str | Path)]
    inputs = [path for name in names for path in existing(name)]
    records = [path for path in (LOCK_FILE, LEDGER) if path.exists()]  # to which a build adds
    claim(outputs, [*inputs, *records], overwrite=options.overwrite)
    protect(path for path in inputs if path.is_file() and not any(path.samefile(record) for record in records))


def add_yes_option(
    arguments: argparse.ArgumentParser, what: str = "download without a question, however much it is"
) -> None:
    """Add the option that answers the question of `confirm`. what: it does then, for --help."""
    arguments.add_argument("--yes", action="store_true", help=what)


def add_raw_options(arguments: argparse.ArgumentParser) -> None:
    """Add the options that say where raw files are."""
    arguments.add_argument("--raw-dir", type=Path, metavar="DIR", help="local raw files: DIR/<source>/<file>")
    arguments.add_argument(
        "--cache", type=Path, metavar="DIR", help="where downloads are kept (default: the user's cache)"
    )
    arguments.add_argument("--offline", action="store_true", help="never download")


def add_attest_options(arguments: argparse.ArgumentParser, what: str) -> None:
    """Add the options for a statement. what: what it says, for --help."""
    add_output(arguments, "--attest", "statement", metavar="FILE", help=f"write an in-toto statement of {what}")
    arguments.add_argument("--sign", type=Path, metavar="KEY", help="sign the statement with this private key (PEM)")
    arguments.add_argument("--by", default="", metavar="NAME", help="who makes the statement: a public name")


def attest_mistakes(options: argparse.Namespace) -> Mapping[str, object]:
    """The usage errors that these options may make together, each with whether they do."""
    folder = options.attest and options.attest.absolute().parent
    return {
        "--sign and --by belong to --attest FILE": (options.sign or options.by) and not options.attest,
        f"--by: a name of at most {MAX_NAME} characters in one line": (
            len(options.by) > MAX_NAME or not options.by.isprintable()
        ),
        f"--attest: no such folder: {folder}": folder and not folder.is_dir(),
    }


def statement_signer(options: argparse.Namespace, datasets: int) -> Signer | None:
    """What signs the statement, read before anything long begins; None without --sign. datasets: how many were asked for.

    Raises UsageError for a key that cannot be used, and for a statement of several datasets.
    """
    if options.attest and datasets > 1:
        raise UsageError("--attest is for one dataset", found=f"{datasets} datasets", todo="name one")
    if options.sign is None:
        return None
    from pipelines.release.statements import read_signer

    return read_signer(options.sign)


def write_statement(path: Path, statement: dict[str, Any], signer: Signer | None) -> None:
    """Write a statement, in a signed envelope if there is a signer."""
    from pipelines.release.statements import encode, sign_statement

    content = encode(statement)
    write_atomically(path, sign_statement(content, signer) if signer else content)
    logger.info("statement written: %s%s", path, ", signed" if signer else "")


def add_trust_option(arguments: argparse.ArgumentParser) -> None:
    """Add the option that lets a model run code. Nothing else sets it: no file, no variable, no other option."""
    arguments.add_argument(
        "--trust-model-code",
        action="store_true",
        help="run Python code that comes with a model, or with the library that knows it; without it such a model is refused",
    )


def add_findings_option(arguments: argparse.ArgumentParser) -> None:
    """Add the option that says where the rows of findings are written."""
    add_output(
        arguments,
        "--findings",
        "findings",
        metavar="DIR",
        help="write all rows of every finding, and the rows that make them findings, as Parquet below this folder",
    )


def add_foreign_options(arguments: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options that say how a dataset that is not a release is read; returns their group."""
    from builders.tasks import TYPES

    others = arguments.add_argument_group("for datasets that are not releases of this package")
    others.add_argument("--task", choices=TYPES, metavar="TYPE", help=f"the type of their task: {', '.join(TYPES)}")
    for name, metavar, words in (
        ("--language", "CODE", "one of their languages as in mteb: rus-Cyrl"),
        (
            "--map",
            "OURS=THEIRS",
            "a column of the task and the one in the files: --map text=sentence --map label=target",
        ),
        ("--subset", "NAME", "one of several subsets as in mteb: ru"),
    ):
        others.add_argument(name, action="append", default=[], metavar=metavar, help=f"{words}; repeatable")
    arguments.set_defaults(scale=None)  # not all commands have this option
    return others


def foreign_options(options: argparse.Namespace) -> ForeignOptions:
    """What --task, --language, --subset, --map and --scale say about a dataset that is not a release of this package."""
    from pipelines.checking.columns import parse_column_map
    from pipelines.checking.datasets import ForeignOptions

    scale = None if options.scale is None else (options.scale[0], options.scale[1])
    columns = parse_column_map(options.map)
    return ForeignOptions(options.task, tuple(options.language), tuple(options.subset), scale, columns)


def raw_settings(options: argparse.Namespace) -> RawSettings:
    """Where raw files are, as the options say."""
    from pipelines.raw.digests import default_cache
    from pipelines.raw.settings import RawSettings

    return RawSettings(raw_dir=options.raw_dir, cache=options.cache or default_cache(), offline=options.offline)


def require_local(name: str, options: argparse.Namespace) -> None:
    """Raise UsageError for the name of a dataset on the Hub where --offline is set."""
    from pipelines.hub import client

    if options.offline and client.parse_reference(name, "main"):
        todo = "leave out --offline, or name a folder with a copy"
        raise UsageError("a dataset on the Hub has to be downloaded, and --offline is set", where=name, todo=todo)


def split_names(text: str, of: str = "splits", example: str = "test,validation") -> tuple[str, ...]:
    """`test,validation` as a tuple. of, example: for the error of a name that is empty."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"names of {of} joined by commas, such as {example}")
    return names


def positive_int(text: str) -> int:
    """A whole number from 1 to MAX_NUMBER."""
    # The length comes first: Python refuses to convert thousands of digits.
    if not (text.isascii() and text.isdigit() and len(text) <= 20 and 1 <= int(text) <= MAX_NUMBER):
        shown = text if len(text) <= 20 else f"{text[:20]}..."
        raise argparse.ArgumentTypeError(f"a whole number from 1 to {MAX_NUMBER}, not {shown!r}")
    return int(text)


def parse(
    arguments: argparse.ArgumentParser,
    find_mistakes: Callable[[argparse.Namespace], Mapping[str, object]] = lambda _: {},
) -> argparse.Namespace:
    """The command line; options and names may come in any order: `build a --output o b`. --quiet and --verbose take effect.

    find_mistakes: the usage errors that options may make together, each with whether they do. The first that they make ends the
    process.

    Raises UsageError where an output would replace an input, or what this program did not write.
    """
    options = arguments.parse_intermixed_args()
    configure_logging(int(options.verbose) - int(options.quiet))
    for message, is_made in find_mistakes(options).items():
        if is_made:
            arguments.error(message)
    claim_outputs(options)
    return options


def resolve_datasets(names: Sequence[str]) -> list[tuple[Definition, str]]:
    """The datasets that names mean, loaded, each with its version.

    Raises UsageError for names or versions that do not exist, and for a builder that cannot be imported.
    """
    from builders import catalogue

    try:
        return catalogue.load_all(names)
    except (AttributeError, ImportError, NameError, SyntaxError, TypeError, ValueError) as error:
        raise UsageError(
            "a builder cannot be imported",
            where=error_line(error, catalogue.ROOT),
            found=f"{type(error).__name__}: {error}",
            todo=f"correct it; {PROGRAM} new SOURCE lists what a source lacks",
        ) from error


def all_versions(datasets: Sequence[tuple[Definition, str]], names: Sequence[str]) -> list[tuple[Definition, str]]:
    """Each dataset in all its versions but those that wait for `decide`, the oldest first. names: as on the command line.

    Raises UsageError for a NAME@VERSION.
    """
    from builders.spec import version_key
    from pipelines.raw.pins import is_waiting

    if named := [name for name in names if "@" in name]:
        raise UsageError("--all-versions is for datasets, not for versions", found=named[0], todo="leave @VERSION out")
    every = [
        (definition, version)
        for definition, _ in datasets
        for version in sorted(definition.dataset.versions, key=version_key)
    ]
    for definition, version in (passed := [item for item in every if is_waiting(*item)]):
        logger.info("%s@%s: passed over, it waits for decide", definition.dataset.name, version)
    return [item for item in every if item not in passed]


def print_error(error: DatasetError) -> None:
    """Show an error on stderr; after a signal, end instead, as the error may be its consequence."""
    interrupts.stop_for(error)
    logger.error("%s", error)


def print_failure(error: DatasetError, said: bool = False, /, *, as_json: bool, **names: str | None) -> int:
    """Show an error on stderr, for programs too, with the names of what failed; returns its exit code.

    said: stderr has it already, or its summary will.
    """
    from pipelines.build_report.records import error_to_json

    if not said:
        print_error(error)
    if as_json:
        print_json({**names, "state": "failed", "error": error_to_json(error)})
    return error.exit_code


def confirm(what: str, *, yes: bool, refused: DatasetError | None = None) -> None:
    """Say what is about to be done, and ask whether to do it where a person can answer: on a terminal, without --yes.

    Raises `refused` where the answer is not yes, by default a SourceError about downloads.
    """
    logger.info("%s", what)
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    print("go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise refused or SourceError(
            "nothing was downloaded", todo="answer y, or add --yes; fetch --dry-run lists each file"
        )


def is_terminal() -> bool:
    """Whether results go to a terminal, not to a file or another program."""
    return sys.stdout.isatty()


def width() -> int | None:
    """The columns of the terminal that results go to; None where they go elsewhere, and nothing needs to fit."""
    return shutil.get_terminal_size().columns if is_terminal() else None


def print_page(lines: Sequence[str]) -> None:
    """Lines of text on stdout; on a terminal, severities and verdicts have colours, unless NO_COLOR is set."""
    text = "".join(f"{line}\n" for line in lines)
    if isinstance(sys.stdout, SafeOutput) and has_colors(sys.stdout):
        sys.stdout.trusted.write(color_words(safe_text(text)))
    else:
        sys.stdout.write(text)
    sys.stdout.flush()


def print_json(*values: Any) -> None:
    """JSON objects, each on a line of stdout."""
    for value in values:
        print(json.dumps(value, ensure_ascii=False), flush=True)


def run(main: Callable[[], int]) -> None:
    """Run a command and leave with its exit code; a user's mistake ends in an error, never in a traceback."""
    gc.set_threshold(200_000)  # new objects, at most 40 MB: a small build makes fewer, and nearly all of them stay
    _open_streams()
    configure_logging()
    try:
        interrupts.handle_signals(signal.SIGINT, signal.SIGTERM)  # what they raise is caught here
        with interrupts.stop_at_any_error():  # an import that a signal interrupts may fail with another error
            _refuse_undecodable(sys.argv)
            code = main()
            sys.stdout.flush()
    except DatasetError as error:
        print_error(error)
        code = error.exit_code
    except SystemExit:
        if not interrupts.is_stopping():
            raise
        code = interrupts.TERMINATED
    except KeyboardInterrupt:
        logger.info("interrupted")
        code = interrupts.INTERRUPTED
    except BrokenPipeError:  # the reader of our results has closed, as `| head` does
        discard_output(1)
        code = READER_CLOSED
    except Exception as error:
        failure = _explain(error)
        if failure is None:
            raise
        print_error(failure)
        if isinstance(error, OSError):  # what is still buffered cannot be written either
            discard_output(1)
        code = failure.exit_code
    if interrupts.is_stopping():
        interrupts.end_process(code)  # a thread may compute for minutes
    gc.freeze()  # Python would look through everything for garbage before it ends, a quarter of a small build
    sys.exit(code)


def _explain(error: Exception) -> DatasetError | None:
    """The error for what is the fault of the user's machine; None for a defect of ours."""
    if isinstance(error, OSError):  # a full disk, a folder without permission
        return DatasetError(error.strerror or str(error), where=error.filename and str(error.filename))
    if isinstance(error, ImportError) and installation.CHECK_ALONE:  # of a module that packaging/check leaves out
        what, found = f"this needs the package {installation.NAME}", f"{PROGRAM}: {str(error).partition(' (')[0]}"
        return UsageError(what, found=found, todo=f"python -m pip install {installation.NAME}, and use its command")
    if isinstance(error, MemoryError):
        return DatasetError("not enough memory", todo="run it on a machine with more, or with a lower --jobs")
    failure = disk_failure(error)
    return None if failure is None else temporary_file_error(failure)


def _open_streams() -> None:
    """Make stdout safe to print to; where it or stderr is closed, throw away what is written there.

    A closed stream is opened on the null device under its own number. Otherwise the next file that the command opens, a table
    perhaps, would get that number, and messages of libraries would go into it.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for the whole process
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # where the terminal's encoding lacks a character
    sys.stdout = cast("TextIO", SafeOutput(sys.stdout, "standard output"))


def _refuse_undecodable(arguments: Sequence[str]) -> None:
    """Raise UsageError for an argument that is not UTF-8: the libraries that read and write Parquet cannot open such a path."""
    for argument in [*arguments, str(Path.cwd())]:
        try:
            argument.encode()
        except UnicodeEncodeError:
            todo = "rename the folder or file"
            raise UsageError("a path is not valid UTF-8", where=argument, expected="UTF-8", todo=todo) from None
