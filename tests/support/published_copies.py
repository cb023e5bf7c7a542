"""Published copies of the golden samples of retrieval datasets, invented, and the keys of their rows.

python -m tests.support.published_copies      # writes tests/golden/<source>/raw/published/<dataset>.parquet
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from builders.catalogue import needed_files
from builders.spec import AS_PUBLISHED, Raw, RawFiles, published_key
from pipelines.checking.datasets import ForeignOptions
from pipelines.identity import published
from pipelines.identity.datasets import read_side
from pipelines.make import GOLDEN
from tests.support.releases import definition_of


class Copy(NamedTuple):
    """A published copy: documents (id, title, text), queries (id, text), judgements (query, document, score)."""

    corpus: Sequence[tuple[str, str, str]]
    queries: Sequence[tuple[str, str]]
    qrels: Sequence[tuple[str, str, int]]

    def write(self, folder: Path, split: str, prefix: str = "") -> None:
        """Write it as mteb lays out its own: a config for each table."""
        tables: Mapping[str, list[dict[str, Any]]] = {
            "corpus": [{"_id": name, "title": title, "text": text} for name, title, text in self.corpus],
            "queries": [{"_id": name, "text": text} for name, text in self.queries],
            "qrels": [{"query-id": query, "corpus-id": name, "score": score} for query, name, score in self.qrels],
        }
        for config, rows in tables.items():
            path = folder / f"{prefix}{config}" / f"{split}.jsonl"
            path.parent.mkdir(parents=True)
            path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


RIA = "ria-news-retrieval"
HARD = f"{RIA}-hard-negatives"
MIRACL = "miracl-retrieval-hard-negatives-ru"
SNOW = "ветер стих, и снег лег на крыши ровным слоем. " * 6
TOWER = (
    "Маяк Кривой Ко\u0301сы — действующий маяк у входа в Тальмскую губу. Построен в 1874 году на песчаной косе,"
    " высота башни 26 метров."
)
COAST, STATION = "Маяк Кривой Косы", "Верхнеозёрск (станция)"
COPIES = {
    RIA: Copy(
        [
            ("0", "", "снег на дорогах убирают двести машин."),
            ("1", "", ""),
            ("2", "", "об этом риа новости. она продлится до 8 мая — риа новости. вход свободный."),
            (
                "3",
                "",
                "рига/таллин, 5 дек — ria.ru, и. петров и ольга дальняя. паром вышел в море с опозданием на час.",
            ),
            ("4", "", "маяк в городе белый мыс снова работает."),
            ("5", "", "кружевницы закончили скатерть длиной 12 метров"),
            ("6", "", "сборная города по лапте выиграла третий матч подряд – 7:3 (3:1)."),
        ],
        [
            ("a", "в белом мысе открыли старый маяк"),
            ("b", "выставка часов открылась в музее"),
            ("c", "сборная по лапте выиграла третий матч"),
        ],
        [("c", "6", 1), ("a", "4", 1), ("b", "2", 1)],
    ),
    HARD: Copy(
        [
            ("17", "", f"метель шла весь день. {SNOW}в."),
            ("4", "", "биржа закрылась раньше обычного."),
            ("3", "", "акции завода «северный винт» подорожали на 4,7%, а индекс № 2 упал."),
        ],
        [("8", 'акции "северного винта" подорожали'), ("3", "метель шла весь день")],
        [("8", "3", 1), ("3", "17", 1)],
    ),
    MIRACL: Copy(
        [
            ("734#0", STATION, "Станция находится в черте города."),
            ("205#2", "Заболотов, Лукьян", "С 1958 года в его доме открыта выставка рукописей: музей работает летом."),
            ("101#1", COAST, "Первым смотрителем маяка был отставной боцман. С 1931 года маяк светит без смотрителя."),
            ("733#0", STATION, "Станция находится в черте города."),
            (
                "101#0",
                COAST,
                TOWER,
            ),
        ],
        [("58", "Какой музей открыт в доме Заболотова?"), ("3", "Когда построили маяк на Кривой косе?")],
        [("58", "205#2", 1), ("58", "734#0", 0), ("3", "101#1", 0), ("3", "101#0", 1)],
    ),
}


def decide(name: str, copy: Copy, folder: Path, golden: Path = GOLDEN) -> tuple[published.Provenance, Path]:
    """What decide does, without the command line: where the rows of a copy come from, and the file of keys in a golden sample."""
    definition = definition_of(name)
    dataset, source = definition.dataset, definition.source
    raw = golden / source.name / "raw"
    keys = set(needed_files(definition, dataset.task.splits, AS_PUBLISHED)) - {published_key(name)}
    files = {key: Raw(key, raw / source.files[key].name) for key in keys}
    copy.write(folder / "copy", dataset.task.splits[0], f"{dataset.subset}-" if dataset.subset else "")
    (folder / "scratch").mkdir()
    side = read_side(str(folder / "copy"), ForeignOptions(subsets=(dataset.subset,) * bool(dataset.subset)), folder)
    found = published.find_records(dataset, RawFiles(dataset.task.splits, files, folder / "scratch"), side, {})
    target = raw / source.files[published_key(name)].name
    target.unlink(missing_ok=True)
    published.write_keys(target, name, found, side)
    return found, target


if __name__ == "__main__":
    for name, copy in COPIES.items():
        with tempfile.TemporaryDirectory() as temporary:
            print(*published.describe(decide(name, copy, Path(temporary))[0]), sep="\n")
