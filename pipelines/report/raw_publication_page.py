"""What `publish --raw` prints: what is kept of a source, where, under which licence, and what is not."""

from builders.licenses import describe_license
from pipelines.hub.raw_plans import RawPlan
from pipelines.hub.raw_publishing import RawPublication
from pipelines.report.tables import fact, wrap
from pipelines.terminal import format_size


def raw_publication_page(plan: RawPlan, publication: RawPublication | None) -> list[str]:
    """A plan, and the result of publishing, as lines."""
    source = plan.source
    lines = [f"raw files of {source.name}: {publication.state if publication else plan.state}"]
    if publication:
        lines += [f"  at        {publication.url}", f"  commit    {publication.commit}"]
    created = " (to be created)" if plan.at is None else ""
    lines += fact("as", f"{plan.repo}{created}, {'private' if plan.private else 'public'}")
    lines += fact("licence", f"{source.license}: {describe_license(source.license)}")
    if source.license_note:
        lines += fact("terms", source.license_note)
    if plan.writes:
        lines.append(f"  files     {len(plan.writes)}, {format_size(sum(plan.sizes.values()))}")
        for path, size in plan.sizes.items():
            lines.append(f"    + {plan.names.get(path, path)}  {format_size(size)}")
            lines += [f"      {path}"] if path in plan.names else []
    for path in plan.present:
        lines += [f"    = {plan.names[path]}", f"      {path}"]
    for name in plan.missing:
        todo = f"not here; run embedding-datasets fetch {source.name}, or pass --raw-dir"
        lines += wrap(f"{name}: {todo}", "  missing   ")
    for name, reason in plan.left_out.items():
        lines += wrap(f"{name}: {reason}", "  left out  ")
    for note in plan.notes:
        lines += fact("note", note)
    return lines
