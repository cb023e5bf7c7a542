"""Publish, restore, repair and take over with a fault at each request: is the Hub whole, and does the same command then finish?

    nice -n 10 python -m benchmarks.hub_faults                                  # 14 minutes of one processor
    nice -n 10 python -m benchmarks.hub_faults --scenario "take over" --every 5

Golden samples pass for complete releases, and a server in memory for the Hub. The requests of an undisturbed run of a scenario
are counted. Then it is run with one fault at request k: an answer that is an error, cut, late or of another form, with retries
and without in turn; `kill -9` of a process as the Hub receives request k, or has carried out write k; and `kill -9` before step
k on the files of the ledger and the record. After each run,

- whole: main and each version's tag have always held what they held before, or the complete release that they hold after an
  undisturbed run; the record has only grown, by commits that there are; the exit code is 0, or 5 with what to do; neither a
  traceback nor the token is printed;
- finished: the same command without a fault ends with 0, and the Hub has the commits, refs and files of an undisturbed run;
- green: `check --org` finds nothing wrong, and the same command again writes nothing.

Exits with 1 if a run was otherwise, after a line for each.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from cards.manifest import encode
from pipelines.make import make
from tests.support.loopback_hub import WRITER, Blob, Commit, Fault, LoopbackHub, Repo
from tests.support.publishing import FAULTS, kill_command, run_command
from tests.support.releases import definition_of, sample_settings

TERRA, CEDR = "org/terra-pairclassification", "org/cedr-classification"
ANSWERS = FAULTS | {"500": Fault(status=500), "another form": Fault(status=200)}  # the body is {"error": "a fault"}
KILLS = {"kill before a request": "request", "kill after a write": "write", "kill at the record": "step"}
COLUMNS = ("whole", "finished", "green")


def build(folder: Path) -> None:
    """Build golden samples that pass for complete releases, below `outputs` in a folder."""
    for repo, version in ((TERRA, "1.0.0"), (CEDR, "1.0.0"), (CEDR, "2.0.0")):
        built = make(definition_of(repo.removeprefix("org/")), version, sample_settings(folder))
        (built.release_dir / "manifest.json").write_bytes(encode(replace(built.manifest, sample=False)))


def publish(hub: LoopbackHub, folder: Path, *versions: str) -> Repo:
    """Publish versions of CEDR, in this order; its repository."""
    for version in versions:
        assert run_command(hub, folder, "publish", f"cedr-classification@{version}").returncode == 0
    return hub.repos[CEDR]


def _move_refs(hub: LoopbackHub, folder: Path) -> None:
    # A missing tag, a moved one, a branch in the way, main behind, and a tag that holds another version.
    repo = publish(hub, folder, "2.0.0", "1.0.0")
    repo.tags["v9.9.9"], old = repo.tags["v2.0.0"], hub.tree(CEDR, repo.tags.pop("v1.0.0"))
    behind = hub.commit(CEDR, {**dict.fromkeys(hub.tree(CEDR).keys() - old.keys()), **old})
    repo.tags["v2.0.0"] = repo.branches["v1.0.0"] = behind


def _squash(hub: LoopbackHub, folder: Path) -> None:
    repo = publish(hub, folder, "2.0.0", "1.0.0")
    repo.tags["v2.0.0"] = repo.add("main", replace(repo.commits.pop(repo.tags["v2.0.0"]), parent=None))


def _settle(hub: LoopbackHub, _: Path) -> None:
    # Data of somebody else, whose older state has a tag like ours.
    repo = hub.repos[TERRA] = Repo(private=False)
    repo.tags["v1.0.0"] = repo.add("main", Commit({"train.jsonl": Blob(b"{}\n", lfs=False)}, None, "one", ""))
    hub.commit(TERRA, {"data/dev-old.parquet": b"PAR1", "dataset_infos.json": b"{}", "README.md": b"theirs"})


REPAIR, OLDER = ("publish", "--repair", "cedr"), ("publish", "cedr-classification@1.0.0")
# A command, and what there is before.
SCENARIOS: dict[str, tuple[tuple[str, ...], Callable[[LoopbackHub, Path], object]]] = {
    "first version": (("publish", "terra"), lambda *_: None),
    "next version": (("publish", "cedr-classification@2.0.0"), lambda *at: publish(*at, "1.0.0")),
    "older version": (OLDER, lambda *at: publish(*at, "2.0.0")),
    "restore a tag": (OLDER, lambda *at: publish(*at, "2.0.0", "1.0.0").tags.pop("v1.0.0")),
    "repair a tag": (REPAIR, lambda *at: publish(*at, "2.0.0", "1.0.0").tags.pop("v1.0.0")),
    "repair all refs": (REPAIR, _move_refs),
    "repair after a squash": (REPAIR, _squash),
    "publish a lost version": (
        OLDER, lambda *at: (repo := publish(*at, "2.0.0", "1.0.0")).commits.pop(repo.tags.pop("v1.0.0"))
    ),
    "take over": (("publish", "--take-over", "terra"), _settle),
}  # fmt: skip


def content(hub: LoopbackHub) -> dict[str, tuple[int, dict[str, dict[str, bytes]]]]:
    """The number of commits of each repository, and the files of its branches and tags."""
    return {
        name: (len(repo.commits), {ref: hub.tree(name, sha) for ref, sha in {**repo.branches, **repo.tags}.items()})
        for name, repo in hub.repos.items()
    }


def events(folder: Path) -> list[bytes]:
    """The lines of the record."""
    return [line for path in sorted(folder.glob("record/refs/*.jsonl")) for line in path.read_bytes().splitlines()]


def find_damage(hub: LoopbackHub, before: dict[str, Repo], expected: Any) -> Iterator[str]:
    """Each main and tag of a version that is not whole, compared with those before and the expected ones."""
    for name, repo in hub.repos.items():
        old = before.get(name, Repo(private=False))
        for ref, sha in [*repo.moves[len(old.moves) :], *repo.branches.items(), *repo.tags.items()]:
            files = hub.tree(name, sha)
            kept = sha in (old.branches.get(ref), old.tags.get(ref)) or (name not in before and len(files) == 1)
            if not kept and (ref == "main" or ref[0] == "v") and files != expected[name][1].get(ref):
                yield f"{name}: {ref} is neither what it was nor what it should be"


def judge(
    hub: LoopbackHub, folder: Path, words: Sequence[str], expected: Any, disturb: Callable[[], CompletedProcess[str]]
) -> tuple[int, list[str]]:
    """The exit code of a disturbed run, and what was not whole, finished or green after it."""
    before, recorded = hub.state()[0], events(folder)
    done = disturb()
    hub.stop_failing()
    lines, printed, damage = events(folder), done.stdout + done.stderr, list(find_damage(hub, before, expected))
    damage += [f"{text} is printed" for text in ("Traceback", WRITER) if text in printed]
    if lines[: len(recorded)] != recorded or any(
        event["commit"] not in {None, *hub.repos[event["repo"]].commits}
        for event in map(json.loads, lines[len(recorded) :])
    ):
        damage.append(f"the record: {lines}")
    if done.returncode not in (0, 5, -9) or (done.returncode == 5) != ("to do:" in done.stderr):
        damage.append(f"exit code {done.returncode}: {printed}")
    again, faults = run_command(hub, folder, *words), [f"whole: {text}" for text in damage]
    if again.returncode or content(hub) != expected:
        faults.append(f"finished: exit code {again.returncode}: {again.stdout}{again.stderr}")
    checked, lines, hub.log = run_command(hub, folder, "check"), events(folder), []
    run_command(hub, folder, *words)
    writes = [request for request in hub.log if request.method not in ("GET", "HEAD")]
    if checked.returncode or writes or lines != events(folder):
        faults.append(f"green: exit code {checked.returncode}, {writes}: {checked.stdout}{checked.stderr}")
    return done.returncode, faults


def run_scenario(root: Path, name: str, kinds: Sequence[str], every: int) -> Iterator[tuple[str, int, int, list[str]]]:
    """Disturb a scenario; kind and number of each fault, exit code and what was wrong. First the undisturbed run.

    root: has `outputs`.
    """
    words, prepare = SCENARIOS[name]
    with LoopbackHub() as hub:
        (root / "base" / "record").mkdir(parents=True)
        prepare(hub, root / "base")
        shutil.rmtree(root / "base" / "cache", ignore_errors=True)
        state, folder = hub.state(), root / "run"

        def restore() -> None:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(root / "base", folder)
            hub.restore(state)

        restore()
        done = run_command(hub, folder, *words)
        log, expected, files = hub.log, content(hub), sum("/resolve/" in request.path for request in hub.log)
        yield f"{len(log) - files} requests of the API, {files} of files", 0, done.returncode, []
        for kind in kinds:
            for index, number in enumerate(range(0, len(log) if kind in ANSWERS else 1000, every)):
                restore()
                if fault := ANSWERS.get(kind):
                    hub.fail(number, fault)
                    settings: dict[str, Any] = {"retries": index % 2 * 3, "read": 0.4 if fault.stall else 30}
                    disturb = partial(run_command, hub, folder, *words, **settings)
                else:
                    disturb = partial(kill_command, hub, folder, *words, **{KILLS[kind]: number})
                code, faults = judge(hub, folder, words, expected, disturb)
                if kind in KILLS and code == 0:
                    break  # there are fewer requests, writes or steps
                yield kind, number, code, faults


def main() -> int:
    """Run the scenarios and print a table; returns 1 if anything was not whole, finished or green."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--scenario", nargs="+", choices=SCENARIOS, default=SCENARIOS, help="only these")
    arguments.add_argument("--every", type=int, default=1, metavar="N", help="at every N-th request or step (1)")
    options, failed = arguments.parse_args(), list[str]()
    print("scenario", "fault", "runs", "stopped", *COLUMNS, sep=" | ")
    for name in options.scenario:
        table: dict[str, Counter[str]] = {}
        with tempfile.TemporaryDirectory() as root:
            build(Path(root))
            for kind, number, code, faults in run_scenario(Path(root), name, [*ANSWERS, *KILLS], options.every):
                good = set(COLUMNS) - {fault.partition(":")[0] for fault in faults}
                table.setdefault(kind, Counter()).update(["runs", *["stopped"][: abs(code)], *good])
                failed += [f"{name}, {kind} {number}: {fault}" for fault in faults]
        for kind, counts in table.items():
            print(name, kind, *(counts[column] for column in ("runs", "stopped", *COLUMNS)), sep=" | ", flush=True)
    print(*failed, sep="\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
