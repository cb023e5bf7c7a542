"""Rules of one's own: `checks.yaml`, read, applied to the rows of any dataset, and proposed from what is there.

A rule names a column as the files call it. Patterns are those of polars, whose time is linear in the text whatever they are. The
file is data: no tag of YAML is executed, and what is too large or expands without measure is refused, as in front matter.

docs/checks.schema.json is generated from these records: python -m pipelines.audit.rules > docs/checks.schema.json
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import yaml
from polars import selectors

from builders import limits
from builders.errors import UsageError
from cards.front_matter import load_yaml
from cards.kinds import KINDS
from cards.manifest import Finding, Severity, describe_record
from pipelines.audit.findings import FindingRows, findings_where, with_examples
from pipelines.audit.quality import declare_by_design
from pipelines.audit.tables import Frames
from pipelines.process.safe_text import first_line

RULES_FILE = "checks.yaml"
# What a rule may demand of a value that is not null; the names are those in the file.
DEMANDS: Mapping[str, Callable[[pl.Expr, Any], pl.Expr]] = {
    "must": lambda value, pattern: value.cast(pl.String).str.contains(pattern),
    "must_not": lambda value, pattern: ~value.cast(pl.String).str.contains(pattern),
    "characters": lambda value, ends: value.cast(pl.String).str.len_chars().is_between(*ends),
    "between": lambda value, ends: value.cast(pl.Float64, strict=False).is_between(*ends),
    "unique": lambda value, is_unique: value.is_first_distinct() | ~pl.lit(is_unique),
}


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the values of a column must be, null excepted; those of a list one by one.

    table: only there: a config, a split, or `config/split`. must, must_not: patterns that occur in each text, or in none.
    characters: the lowest and the highest length. between: the lowest and the highest number. unique: no value repeats one of an
    earlier row or split of its config.
    """

    name: str
    column: str
    table: str = ""
    severity: Severity = "warning"
    must: str | None = None
    must_not: str | None = None
    characters: tuple[int, int] | None = None
    between: tuple[float, float] | None = None
    unique: bool | None = None

    def __post_init__(self) -> None:
        """Refuse a rule that demands nothing, and a pattern that cannot be read."""
        if all(getattr(self, name) is None for name in DEMANDS):
            raise ValueError(f"a rule that demands nothing: give one of {', '.join(DEMANDS)}")
        try:
            pl.select(all=pl.any_horizontal(pl.lit("").str.contains(text or "") for text in (self.must, self.must_not)))
        except pl.exceptions.PolarsError as error:
            raise ValueError(f"not a pattern: {first_line(error)}") from None


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of rules.

    severities: of kinds of findings. thresholds: the share, 0 to 1, up to which a kind is for information. by_design: the kinds
    that the design of the data implies, with the reason. languages: as mteb writes them. columns: those of the files by the name
    that the task has for them.
    """

    rules: tuple[Rule, ...] = ()
    severities: dict[str, Severity] = {}
    thresholds: dict[str, float] = {}
    by_design: dict[str, str] = {}
    languages: tuple[str, ...] = ()
    columns: dict[str, str] = {}

    def __post_init__(self) -> None:
        """Refuse kinds that do not exist."""
        for part in ("severities", "thresholds", "by_design"):
            for kind in getattr(self, part).keys() - KINDS.keys():
                raise ValueError(f"unknown kind {kind!r}, docs/findings.md lists them - at `$.{part}.{kind}`")


NO_RULES = Rules()


def read_rules(path: Path) -> Rules:
    """The rules of a file. Raises UsageError, with the line, for invalid YAML and for anything that is not a rule."""
    node = None
    try:
        value, node = load_yaml(limits.read_at_most(path, limits.MAX_FRONT_MATTER).decode())
        return msgspec.convert(value or {}, Rules)
    except (yaml.YAMLError, ValueError, msgspec.ValidationError) as error:
        found, _, place = " ".join(str(error).split()).partition(" - at ")
        keys = re.findall(r"[\w-]+", place) + re.findall(r"unknown field `([\w-]+)`", found)
        line = getattr(getattr(error, "problem_mark", None), "line", _find_line(node, keys))
        raise UsageError(
            "the rules cannot be read",
            where=f"{path}, line {line + 1}",
            found=found[:500],
            expected=f"the keys {', '.join(Rules.__struct_fields__)}; of a rule {', '.join(Rule.__struct_fields__)}",
            todo="docs/checking.md explains each key; without such a file, `check --write-rules` makes an example",
        ) from None


def _find_line(node: yaml.Node | None, keys: Sequence[str]) -> int:
    """The line, from 0, of the value that keys and indices lead to, as far as there is one."""
    for key in keys:
        inner = node.value if isinstance(node, yaml.CollectionNode) else ()
        pairs = inner if isinstance(node, yaml.MappingNode) else enumerate(inner)
        node = next((value for name, value in pairs if str(getattr(name, "value", name)) == key), node)
    return node.start_mark.line if node else 0


def find_violations(rules: Sequence[Rule], tables: Frames) -> list[FindingRows]:
    """The findings about rows that violate rules. tables: by config and split, as the files have them.

    Raises UsageError for a rule about a column that no table has.
    """
    found = []
    schemas = {(config, split): tables[config][split].collect_schema() for config in tables for split in tables[config]}
    for rule in rules:
        places = [
            place
            for place, schema in schemas.items()
            if rule.column in schema and rule.table in ("", *place, "/".join(place))
        ]
        if not places:
            raise UsageError(
                f"no table has the column {rule.column!r}",
                where=f"{RULES_FILE}, rule {rule.name!r}",
                found=", ".join(dict.fromkeys(name for schema in schemas.values() for name in schema)),
                todo="name it as the files do, with its `table` or without",
            )
        asked = {name: getattr(rule, name) for name in DEMANDS if getattr(rule, name) is not None}
        words = ", ".join(f"{name} {json.dumps(demand, ensure_ascii=False)}" for name, demand in asked.items())
        in_list = isinstance(schemas[places[0]][rule.column], pl.List)
        value = pl.element() if in_list else pl.col("value")
        kept = pl.all_horizontal(DEMANDS[name](value, demand).fill_null(value=False) for name, demand in asked.items())
        broken = value.is_not_null() & ~kept
        for config in dict.fromkeys(config for config, _ in places):
            numbered = [
                tables[config][split].select(value=rule.column, split=pl.lit(split)).with_row_index("position")
                for own, split in places
                if own == config
            ]
            rows = pl.concat(numbered, how="vertical_relaxed").select(
                "split", "position", broken=pl.col("value").list.eval(broken).list.any() if in_list else broken
            )
            for (split,), own in rows.collect().group_by("split", maintain_order=True):
                violations = findings_where(
                    "rule",
                    (config, str(split), rule.column),
                    own,
                    pl.col("broken"),
                    detail=f"{rule.name}: {words}",
                    severity=rule.severity,
                )
                found += [replace(violation, pattern=rule.must_not or "") for violation in violations]
    return with_examples(found, tables)


def weigh(finding: Finding, rules: Rules) -> Finding:
    """A finding with the severity that the rules give its kind, and the reason where it is by design; an error as it is."""
    if finding.severity == "error":
        return finding
    severity = rules.severities.get(finding.kind, finding.severity)
    weighed = replace(finding, severity="info" if finding.share <= rules.thresholds.get(finding.kind, -1) else severity)
    return declare_by_design([weighed], rules.by_design)[0]


HEADER = f"""\
# Rules for `embedding-datasets check`, made from the data as they are: keep what must stay so, and tighten it.
# docs/checking.md explains the keys. This file lies beside the data as {RULES_FILE}, or is named with --rules FILE.
"""


def propose_rules(tables: Frames, languages: Sequence[str], findings: Sequence[Finding]) -> str:
    """A file of rules that tables keep: lengths of texts and ranges of numbers; below them kinds of findings to declare."""
    rules = []
    for config, splits in tables.items():
        rows = pl.concat(
            [frame.select(selectors.string() | selectors.numeric()) for frame in splits.values()],
            how="diagonal_relaxed",
        )
        measured = rows.select(selectors.string().str.len_chars(), selectors.numeric())
        ends = pl.concat([measured.min(), measured.max()]).collect().to_dict(as_series=False)
        texts = rows.select(selectors.string()).collect_schema()
        rules += [
            {
                "name": f"{config}-{column}",
                "table": config,
                "column": column,
                "characters" if column in texts else "between": both,
            }
            for column, both in ends.items()
            if None not in both
        ]
    text = yaml.safe_dump({"languages": list(languages), "rules": rules}, sort_keys=False, allow_unicode=True)
    kinds = dict.fromkeys(finding.kind for finding in findings if finding.severity == "info")
    return f"{HEADER}{text}# by_design:\n" + "".join(f"#   {kind}: say why\n" for kind in kinds)


if __name__ == "__main__":
    print(json.dumps(describe_record(Rules, f"{RULES_FILE} of embedding-datasets check"), indent=2, ensure_ascii=False))
