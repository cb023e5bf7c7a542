"""How a release came about, in Croissant: raw files, recipe, rows dropped, findings.

The words are those of three vocabularies. PROV (W3C), which Croissant recommends for provenance: the release `wasDerivedFrom` its
raw files and `wasGeneratedBy` its recipe. DQV (W3C), for data quality: a finding is a QualityMeasurement, its value the number of
rows. schema.org's PropertyValue for the rest: options of the recipe, rows dropped, numbers that it counted.
"""

import json
import math
from typing import Any

from cards.kind_names import kind_name
from cards.manifest import Finding, Manifest, RawEntry

NAMESPACES = {"prov": "http://www.w3.org/ns/prov#", "dqv": "http://www.w3.org/ns/dqv#"}


def describe_provenance(manifest: Manifest) -> dict[str, Any]:
    """The properties of the dataset that say how it came about."""
    recipe = manifest.recipe
    properties = [_property("option", name, value) for name, value in sorted(recipe.options.items())]
    properties += [
        _property("dropped", dropped.reason, dropped.count, f"rows of {dropped.split or 'all splits'}")
        for dropped in manifest.dropped
    ]
    properties += [_property("observed", name, count) for name, count in sorted(manifest.observed.items())]
    described: dict[str, Any] = {
        "prov:wasDerivedFrom": [_raw_file(raw) for raw in manifest.raw],
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "name": f"The recipe of {manifest.name} in embedding-datasets",
            "prov:used": {
                "@type": ["prov:Entity", "sc:SoftwareSourceCode"],
                "name": recipe.module,
                "programmingLanguage": "Python",
                "sha256": recipe.sha256,
            },
            "additionalProperty": properties,
        },
    }
    if manifest.findings:
        described["dqv:hasQualityMeasurement"] = [_measurement(finding) for finding in manifest.findings]
    return described


def describe_finding(finding: Finding) -> str:
    """A finding in one line: `repeated text: 7 (0.37 %) in default/test.text`, with its detail if it has one."""
    where = f" in {finding.location}" if finding.location else ""
    share = "below 0.01 %" if 0 < finding.share < 0.0001 else f"{finding.share * 100:.2f} %"
    detail = f", {finding.detail}" if finding.detail else ""
    return f"{kind_name(finding.kind)}: {finding.count_text} ({share}){where}{detail}"


def _raw_file(raw: RawEntry) -> dict[str, Any]:
    described: dict[str, Any] = {"@type": ["prov:Entity", "sc:DataDownload"], "name": raw.name}
    if raw.url is not None:
        described["contentUrl"] = raw.url
    described |= {"contentSize": f"{raw.bytes} B", "sha256": raw.sha256}
    if not raw.verified:
        described["description"] = "No digest of this file was known before the build."
    return described


def _measurement(finding: Finding) -> dict[str, Any]:
    described = {
        "@type": "dqv:QualityMeasurement",
        "name": finding.location or "all tables",
        "dqv:isMeasurementOf": {"@type": "dqv:Metric", "name": finding.kind},
        "dqv:value": finding.count,
        "description": f"{finding.severity}: {describe_finding(finding)}",
    }
    return described | ({"comment": finding.why} if finding.why else {})


def _property(kind: str, name: str, value: Any, description: str = "") -> dict[str, Any]:
    described = {"@type": "sc:PropertyValue", "propertyID": kind, "name": name, "value": _literal(value)}
    return described | ({"description": description} if description else {})


def _literal(value: Any) -> Any:
    """A value as JSON-LD keeps it: it drops null, and reads a list or an object as something else; these become JSON text."""
    if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
