"""A first contact as a script of commands, each once and in order: `fetch NAME... --plan`. Running it again continues."""

import shlex
from collections.abc import Iterable, Sequence

from builders import papers
from builders.catalogue import load_all
from builders.licenses import permits_redistribution
from builders.raw_files import ByHand, GitHub, Https, Hub, RawFile
from builders.shaping import benchmark_index
from builders.spec import Source
from pipelines.process.terminal import format_duration, format_size
from pipelines.raw.missing_files import SPEED, NeededFiles, list_needs, total_size
from pipelines.raw.requests import HUB
from pipelines.raw.settings import RawSettings, make_request, stored_file

PROGRAM = "embedding-datasets"
HEAD = """\
#!/bin/sh
# Run it as often as you like: what is there is neither fetched, nor made, nor built again. RAW and ORG may be set before. It goes
# on where a command fails; at the end it lists what failed, and its exit code is that of the first.
failed= code=0
run() { "$@" || { status=$?; test $code -ne 0 || code=$status; failed="$failed
  exit code $status: $*"; }; }
trap 'exit 130' INT"""
END = 'test $code -eq 0 || { printf "%s\\n" "failed:$failed" >&2; exit $code; }'
MINER = "intfloat/multilingual-e5-small"
BENCHMARKS = ("rumteb", "ateb")
BUILT, TOKENS, MODEL = 3_000_000, 500_000, 2_000  # bytes of raw files a second, on two cores: docs/first-contact.md
RANKED = 20  # texts a second, on two cores


def plan_script(needs: Sequence[NeededFiles], settings: RawSettings) -> list[str]:
    """The lines of the script: what a person does, what is downloaded, what this package makes, what is built, what to mirror."""
    sources = {need.definition.source.name: need.definition.source for need in needs}
    files = _files(needs)
    names = [f"{need.definition.dataset.name}@{need.version}" for need in needs]
    hands = {(source.name, file.name): file.location for source, file in files if isinstance(file.location, ByHand)}
    made = {
        kind: [place for place, location in hands.items() if location.made_by == kind]
        for kind in ("contamination index", "decide")
    }
    benchmarks = list_needs(load_all(BENCHMARKS)) if made["contamination index"] else []
    sizes, all_sizes = _sizes(needs, settings), _sizes([*needs, *benchmarks], settings)
    gated = {file.location.repo: None for _, file in files if isinstance(file.location, Hub) and file.location.gated}
    lines = [
        HEAD,
        f"RAW=${{RAW:-{shlex.quote(str(settings.raw_dir or 'raw'))}}} ORG=${{ORG:-ORG}}",
        'mkdir -p "$RAW"',
        f"# disk: {total_size(list(all_sizes.values()))} to download, and as much again for releases",
        f"# time: estimates, for two cores and {format_size(SPEED)} a second from the network",
        *(f"# accept the terms, then set HF_TOKEN or run hf auth login: {HUB}/datasets/{repo}" for repo in gated),
    ]
    for (source, name), location in hands.items():
        if location.made_by in ("", "published"):
            said = shlex.quote(f"get {source}/{name}: {' '.join(location.instructions.split())}")
            lines.append(f'test -e "$RAW"/{source}/{shlex.quote(name)} || echo {said} >&2')
    lines.append(_step(f"fetch {' '.join(names)} --yes", _bytes(sizes) / SPEED))
    if made["contamination index"]:
        index, theirs = f'"$RAW"/{benchmark_index.FILE}', _bytes(_sizes(benchmarks, settings))
        lines += [
            _step(f"build {' '.join(BENCHMARKS)} --yes", theirs / SPEED + theirs / BUILT),
            f"test -e {index} || run {PROGRAM} contamination index {' '.join(BENCHMARKS)} --output {index}  # minutes",
        ]
    for name in dict.fromkeys(source for source, _ in made["decide"]):
        kinds = {each.kind for each in sources[name].measurements}
        slow, note = (0.0, "no GPU is used") if kinds == {"tokens"} else (1 / MODEL, "much less with a GPU")
        lines.append(_step(f"decide {name}", _bytes(sizes, name) * (("tokens" in kinds) / TOKENS + slow), f"; {note}"))
    for need in needs:
        name, mining = need.definition.dataset.name, need.definition.dataset.mining
        if mining and set(mining.files.values()) <= set(need.keys):
            texts = 2 * sum(each.pairs for each in papers.training_sets() if each.dataset == name)
            built = _bytes(sizes, need.definition.source.name) / BUILT
            lines.append(_step(f"build {mining.of or name}@{mining.version}", built))
            miners = [f"{model} --device cuda" for model in mining.files] if mining.of else [MINER]
            note = "; with a GPU" if mining.of else "; no GPU is used"
            lines += [_step(f"decide {name} --model {miner}", texts / RANKED, note) for miner in miners]
    return [
        *lines,
        _step(f"build {' '.join(names)}", _bytes(sizes) / BUILT),
        "# mirror first what may vanish first:",
        *(
            f'# {PROGRAM} publish --raw {name} --org "$ORG" --raw-dir "$RAW"  # {why}'
            for name, why in mirror_first(sources.values())
        ),
        END,
    ]


def _step(command: str, seconds: float, note: str = "") -> str:
    """A command that is run, and how long it may take: no time where no size is known."""
    took = f"about {format_duration(seconds)}" if seconds else "a time nobody knows, as the size"
    return f'run {PROGRAM} {command} --raw-dir "$RAW"  # {took}{note}'


def _files(needs: Iterable[NeededFiles]) -> list[tuple[Source, RawFile]]:
    return [
        (need.definition.source, stored_file(need.definition.source.files[key])) for need in needs for key in need.keys
    ]


def _sizes(needs: Iterable[NeededFiles], settings: RawSettings) -> dict[tuple[str, str], int | None]:
    """The bytes of each file to download, as far as they are known, by source and name."""
    return {
        (source.name, file.name): make_request(source, file, settings).size
        for source, file in _files(needs)
        if not isinstance(file.location, ByHand)
    }


def _bytes(sizes: dict[tuple[str, str], int | None], source: str = "") -> int:
    """The known bytes of all files, or of one source."""
    return sum(size or 0 for (name, _), size in sizes.items() if source in ("", name))


def mirror_first(sources: Iterable[Source]) -> list[tuple[str, str]]:
    """The sources whose licence permits copies, those that may vanish first at the beginning, each with the reason."""
    ranked = []
    for source in sources:
        stored = [stored_file(file) for file in source.files.values()]
        reasons = [(0, f"withdrawn: {file.withdrawn}") for file in stored if file.withdrawn]
        reasons += [
            (1, "one address, without a commit")
            for file in stored
            if isinstance(file.location, Https) and not file.copies
        ]
        reasons += [(2, "its publisher may replace it") for file in stored if file.name in source.moving]
        reasons += [
            (3, "one repository of its publisher") for file in stored if isinstance(file.location, GitHub | Hub)
        ]
        if reasons and permits_redistribution(source.license):
            ranked.append((*min(reasons), source.name))
    return [(name, why) for _, why, name in sorted(ranked)]
