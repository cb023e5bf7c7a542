"""The likeliest mistakes of users, and the page about them: python -m tests.support.mistakes > docs/troubleshooting.md

Each mistake is made in a separate folder, in this process, without network: the page shows what was printed.
"""

import io
import os
import re
import shlex
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

from builders.errors import DatasetError
from pipelines import command, command_line
from pipelines.hub.planning import PublishOptions
from pipelines.make import make
from pipelines.process.terminal import configure_logging
from tests.support.loopback_hub import LoopbackHub, Repo
from tests.support.publishing import Versions
from tests.support.releases import definition_of, other_golden, sample_settings

GATED = "lmsys/chatbot_arena_conversations"
HEADER = """\
# Troubleshooting

What goes wrong most often: what you typed, what you see, why, and what to do. Every error has the same parts: what happened,
where, what was found, what was expected, and what to do next.

This page is generated. A test makes each mistake and compares what the commands print with what is here:

```console
python -m tests.support.mistakes > docs/troubleshooting.md
```
"""


def nothing() -> None:
    """Prepare nothing."""


@dataclass(frozen=True)
class Mistake:
    """A mistake. typed: the command after `embedding-datasets`. why: the reason, and what to do, for the page.

    prepare: makes what the command finds in the current folder. instead: what is run in place of the command, where that needs
    more than golden samples.
    """

    title: str
    typed: str
    why: str
    prepare: Callable[[], None] = nothing
    instead: Callable[[], None] | None = None


def write(path: str, text: str) -> None:
    """Write a file below the current folder."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, "utf-8")


def other_archive() -> None:
    """Write raw files that are not those of CEDR."""
    for split in ("train", "test"):
        write(f"raw/cedr/main/{split}.jsonl", '{"text": "", "labels": [], "source": ""}\n')


def build_sample() -> None:
    """Build the golden sample of TERRa."""
    run("build terra --sample")


def fetch_gated() -> None:
    """Fetch a gated file from a Hub, without a token."""
    settings = command.raw_settings
    with LoopbackHub() as hub:
        hub.repos[GATED] = Repo(private=False, gated=True)
        with mock.patch.object(command, "raw_settings", lambda options: replace(settings(options), hub=hub.url)):
            run_command("fetch lmsys")


def publish_other_rows() -> None:
    """Publish other rows under a version that is tagged."""
    terra = definition_of("terra-pairclassification")
    settings = sample_settings(Path())
    options = PublishOptions("org", Path("cache"), ledger=Path("ledger.json"), sample=True)
    with LoopbackHub() as hub:
        versions = Versions(hub, options, terra, {})
        versions.publish(make(terra, "1.0.0", settings))
        changed = replace(settings, output=Path("changed"), golden=other_golden(Path("golden")))
        versions.publish(make(terra, "1.0.0", changed))


MISTAKES = (
    Mistake(
        "A name is misspelt",
        "build cedr-clasification",
        "No dataset, source or group has this name. Take one of the names that the error suggests, or look it up with "
        "`embedding-datasets show`. Names that mteb or a paper's authors use work too: `CEDRClassification`, "
        "`ai-forever/cedr-classification`.",
    ),
    Mistake(
        "A version does not exist",
        "build cedr@latest",
        "A version is three numbers, as in `cedr@1.0.0`; `embedding-datasets show cedr` lists them. Without a version, the "
        "newest one is built.",
    ),
    Mistake(
        "A raw file is missing, and nothing may be downloaded",
        "build cedr --offline",
        "`--offline` uses only the files that are here. Fetch them once where there is a network (`embedding-datasets fetch "
        "cedr`), or put them where the error says. To try the package without raw files: "
        "`embedding-datasets build cedr --sample`.",
    ),
    Mistake(
        "A raw file cannot be downloaded by a program",
        "fetch headlines",
        "The publisher of this file serves it only in a browser, or after a form. Do what the last line says; `fetch` verifies "
        "the file and says so.",
    ),
    Mistake(
        "A raw file is gated",
        "fetch lmsys",
        "Its publisher wants you to accept terms first. Log in on the Hub, accept them on the dataset's page, then give the "
        "command a token of the same account.",
        instead=fetch_gated,
    ),
    Mistake(
        "A raw file is not the one that the source pins",
        "build cedr --raw-dir raw --offline",
        "The file was edited, cut short, or comes from another version of the source. Other bytes give other rows, so a build "
        "refuses them. Remove the file and fetch it again.",
        prepare=other_archive,
    ),
    Mistake(
        "A release is checked before it is built",
        "check cedr",
        "A name means a release below `outputs/`, and there is none. Build it, or name the folder where it is. To check the "
        "published dataset, name its repository: `embedding-datasets check ai-forever/cedr-classification`.",
    ),
    Mistake(
        "A folder without a dataset is checked",
        "check notes",
        "`check` reads Parquet, Arrow, JSON lines, JSON, CSV and TSV, in the layout of a repository on the Hub. Name the "
        "folder of one dataset, or a single file; `embedding-datasets check outputs/` checks all releases.",
        prepare=lambda: write("notes/todo.txt", "Check the dataset.\n"),
    ),
    Mistake(
        "The columns of a file have other names than those of the task",
        "check data.csv",
        "The task type is inferred from the columns. Say which column is which, ours first: "
        "`embedding-datasets check data.csv --map text=answer_en --map label=grade`.",
        prepare=lambda: write("data.csv", "answer_en,grade\nIt rains.,0\nThe sun is out.,1\n"),
    ),
    Mistake(
        "There is no token to publish with",
        "publish terra --org ORG",
        "Publishing needs a token that may write. `--dry-run` shows what would be published, and needs none.",
        prepare=build_sample,
    ),
    Mistake(
        "A sample is published",
        "publish terra --org ORG --dry-run",
        "The release in `outputs/` was built with `--sample`, `--limit` or `--splits`. Build it without them; the complete "
        "release takes its place.",
        prepare=build_sample,
    ),
    Mistake(
        "The version is already published, with other rows",
        "publish terra --org org",
        "A tag never moves, because others rely on its rows. If your rows are right, they are a new version: add it to the "
        "builder. If they should be the same, compare them: `embedding-datasets diff ORG/NAME@TAG outputs/NAME`.",
        instead=publish_other_rows,
    ),
)


def run_command(typed: str) -> None:
    """Run a command line in this process; its errors are raised."""
    with mock.patch.object(sys, "argv", [command.PROGRAM, *shlex.split(typed)]):
        command_line.main()


def run(typed: str | Callable[[], None]) -> str:
    """What a command prints, or what is run in its place: results, messages and errors."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            run_command(typed) if isinstance(typed, str) else typed()
        except DatasetError as error:
            command.print_error(error)
    return printed.getvalue()


@contextmanager
def empty_folder() -> Iterator[None]:
    """A new current folder, its own caches, and no token."""
    caches = {"EMBEDDING_DATASETS_CACHE": "cache", "HF_HOME": "hf"}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        environment = {name: str(Path.cwd() / cache) for name, cache in caches.items()}
        with (
            mock.patch.dict(os.environ, environment),
            mock.patch("huggingface_hub.constants.HF_TOKEN_PATH", str(Path.cwd() / "token")),
        ):
            for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
                os.environ.pop(name, None)
            yield


def make_mistake(mistake: Mistake) -> str:
    """What is printed when a mistake is made, without the folder of this machine and the address of the loopback Hub."""
    with empty_folder():
        mistake.prepare()
        printed = run(mistake.instead or mistake.typed).replace(str(Path.cwd()), "~")
    return re.sub(r"http://127\.0\.0\.1:\d+", "https://huggingface.co", printed).strip()


def render_section(mistake: Mistake) -> str:
    """The section about a mistake in Markdown."""
    shown = f"$ {command.PROGRAM} {mistake.typed}\n{make_mistake(mistake)}"
    return f"## {mistake.title}\n\n```console\n{shown}\n```\n\n{_wrap(mistake.why)}\n"


def _wrap(text: str) -> str:
    """A text in lines of 120 characters, without a break in `code`."""
    unbroken = re.sub("`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)
    return textwrap.fill(unbroken, 120, break_on_hyphens=False, break_long_words=False).replace("\0", " ")


if __name__ == "__main__":
    configure_logging()
    print("\n".join([HEADER, *map(render_section, MISTAKES)]), end="")
