"""score() and scan() of `import embedding_datasets`.

Call pipelines.scores.results.require_packages before this module is imported.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path

import polars as pl

from builders import tasks
from builders.catalogue import require_one
from builders.errors import UsageError
from cards.scores import Scores
from pipelines.checking.checks import read_frames
from pipelines.checking.corpora import open_corpus
from pipelines.checking.datasets import ForeignDataset, ForeignOptions, reading_frames
from pipelines.checking.frames import as_tables
from pipelines.checking.salvage import audit_foreign
from pipelines.checking.targets import define_release, read_dataset
from pipelines.decontamination import indexing, pages, scans
from pipelines.decontamination.engines import Engine
from pipelines.decontamination.index_file import read_index_header
from pipelines.decontamination.matching import MATCH_SCHEMA
from pipelines.hub.published_indexes import find_index
from pipelines.library.checks import as_python, as_texts, find_target, foreign_options, in_python
from pipelines.library.records import Release, ScanReport, ScoreReport
from pipelines.library.releases import Location, release_folders
from pipelines.process.resumable import scratch_folder
from pipelines.profile.releases import profile_release
from pipelines.raw.digests import default_cache
from pipelines.raw.settings import RawSettings
from pipelines.scores.baselines import compute_baselines
from pipelines.scores.scoring import ScoreOptions, score_release

FRAMES = "frames"  # the name of what has none
Others = tuple[str, str, list[ForeignDataset]]


def _read(data: object, options: ForeignOptions, output: Location | None, name: str = FRAMES) -> Path | Others:
    """A release as its folder; of any other dataset its name, its commit, and the dataset, one for each subset."""
    if isinstance(data, Release):
        return data.path
    if isinstance(data, str | PathLike):
        return read_dataset(find_target(fspath(data), output), options)
    return name, "", read_frames(as_tables(data), name, options)


def score(
    data: object,
    *,
    baselines: bool,
    model: str | Sequence[str],
    force: bool,
    trust_model_code: bool,
    raw_dir: Location | None,
    offline: bool,
    task: str | None,
    subset: str | Sequence[str],
    columns: Mapping[str, str],
    output: Location | None,
) -> ScoreReport:
    """Score a release, and write the scores into it as the command does; or the rows of any other dataset."""
    models, options = as_texts(model), foreign_options(task, subset, columns)
    with in_python():
        read = _read(data, options, output)
        if isinstance(read, Path):
            manifest, definition = define_release(read)
            raw = RawSettings(Path(raw_dir).expanduser() if raw_dir is not None else None, default_cache(), offline)
            asked = ScoreOptions(raw.cache, raw, baselines or not models, models, force, trust_model_code)
            scored = score_release(definition, read, asked)
            scored = profile_release(definition, read, scored, asked)
            return ScoreReport(manifest.name, scored.scores, read)
        if models:
            what = "a model is evaluated on a release of this package"
            raise UsageError(what, where=read[0], todo="leave out model, for baselines")
        with reading_frames(read[0]):
            dataset = require_one(read[0], read[2], lambda each: each.subset, "subsets", "subset=")
            return _score_rows(read[0], dataset)


def _score_rows(name: str, dataset: ForeignDataset) -> ScoreReport:
    """The baselines of the rows that have no defects."""
    findings, whole = audit_foreign(dataset)
    if whole is None:
        raise UsageError("no split whose rows can be scored", where=name, todo="ed.check lists what is wrong")
    task, split = whole.task, tasks.evaluated_split(whole.task)
    if not task.type.mteb_class:
        raise UsageError("training data, which nothing is scored on", where=name, found=task.type.name)
    learns = isinstance(task, tasks.Classification | tasks.MultilabelClassification)
    if learns and (split == "train" or "train" not in task.splits):
        what, expected = "a classification is scored on other rows than it learns from", "train, and another split"
        raise UsageError(what, where=name, found=", ".join(task.splits), expected=expected)
    computed = compute_baselines(task, whole.frames, split)
    scores = Scores(
        dataset=name, version="", content_sha256="", metric=task.type.main_score, split=split,
        baselines=computed.baselines, shortcuts=computed.shortcuts, packages=computed.packages,
    )  # fmt: skip
    defects = sorted({found.finding.kind for found in findings if found.finding.severity == "error"})
    notes = [f"left out: rows and splits with defects ({', '.join(defects)}); ed.check lists them"] if defects else []
    return ScoreReport(name, scores, None, (*notes, *(as_python(note) or "" for note in whole.notes)))


def scan(
    corpus: object,
    benchmarks: object,
    *,
    index: Location | None,
    text: str | Sequence[str],
    threshold: float,
    whole_texts: bool,
    task: str | None,
    subset: str | Sequence[str],
    columns: Mapping[str, str],
    output: Location | None,
) -> ScanReport:
    """Search a corpus for the texts of an index, or of benchmarks, which are indexed for it."""
    options = replace(foreign_options(task, subset, columns), keep_ids=True)
    if not 0.5 <= threshold <= 1:
        raise UsageError(f"threshold is {threshold}", expected="a number from 0.5 to 1")
    cache, names = default_cache() / "scans", dict[str, str]()
    with in_python(names), scratch_folder(cache, ".scan-") as scratch, reading_frames("the corpus or a benchmark"):
        datasets = _benchmarks(benchmarks, options, output)
        if index is not None:
            file = find_index(fspath(index), default_cache())
            tables = read_index_header(file).tables
            for releases in release_folders(output):
                datasets += indexing.available_releases(tables, releases)
        elif datasets:
            file = scratch / "index"
            indexing.index_tables(datasets, file)
        else:
            raise UsageError("nothing to look for", todo="name benchmarks, or the file of an index with index=")
        names.update(_corpus(corpus, scratch))
        read = open_corpus([*names], as_texts(text), releases=release_folders(output)[0])
        own = {path: name for path, name in names.items() if path != name}
        checkpoints = cache if index is not None and not own else scratch
        with scans.open_scan(
            read, file, datasets, Engine(), checkpoints=checkpoints, threshold=threshold, whole_texts=whole_texts
        ) as found:
            summaries = scans.summarise(found)
            listed = (result.matches.select(*MATCH_SCHEMA) for result in found.results())
            matches = pl.concat([pl.DataFrame(schema=MATCH_SCHEMA), *listed])
            return ScanReport(
                pages.read_text(found), found.sums.rows, found.sums.rows_found, tuple(summaries),
                matches.with_columns(pl.col("corpus_file").replace(own)),
                tuple(as_python(remark) or "" for remark in pages.remarks(found, summaries)),
            )  # fmt: skip


def _several(data: object) -> Sequence[object]:
    return data if isinstance(data, Sequence) and not isinstance(data, str) else [data]


def _benchmarks(data: object, options: ForeignOptions, output: Location | None) -> list[indexing.IndexedDataset]:
    """The datasets to look for; those without a name are numbered."""
    found, several = list[indexing.IndexedDataset](), _several(data)
    for number, each in enumerate(several, 1):
        name = FRAMES if len(several) == 1 else f"{FRAMES} {number}"
        read = _read(each, options, output, name)
        if isinstance(read, Path):
            found.append(indexing.from_release(read))
        else:
            found += [indexing.from_foreign(dataset, *read[:2]) for dataset in read[2]]
    return found


def _corpus(data: object, scratch: Path) -> Mapping[str, str]:
    """What open_corpus reads, with the name that matches have for it; frames are written into the folder `scratch`."""
    names: dict[str, str] = {}
    for each in _several(data):
        if isinstance(each, Release):
            paths = [str(each.path / file.path) for table in each.manifest.tables for file in table.files]
            names |= {path: path for path in paths}
        elif isinstance(each, str | PathLike):
            names[fspath(each)] = fspath(each)
        else:
            for config, splits in as_tables(each).items():
                for split, frame in splits.items():
                    path = str(scratch / f"{len(names)}.parquet")
                    frame.sink_parquet(path)
                    names[path] = f"{config}/{split}"
    return names
