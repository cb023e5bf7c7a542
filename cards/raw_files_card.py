"""The card of a Hub repository that keeps the raw files of a source under their digests."""

from collections.abc import Iterable

import yaml

from builders.licenses import describe_license
from builders.spec import Source
from cards import markdown
from cards.front_matter import license_keys

MARK = "<!-- Written by embedding-datasets publish --raw, which replaces all of this page. -->"


def render_raw_card(source: Source, repo: str, files: Iterable[tuple[str, str, str | None]]) -> bytes:
    """What the files are, whose they are, under which licence, and how they are used; as UTF-8.

    files: path in the repository, name in the source, and the URL of the publisher, unless a person must fetch it.
    """
    metadata = {
        "pretty_name": f"Raw files of {source.title}",
        **license_keys(source.name, source.license, source.homepage),
        "tags": ["embedding-datasets", "raw-files"],
        "viewer": False,
    }
    head = yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True, width=120)
    note = f" {markdown.hand_written(source.license_note)}" if source.license_note else ""
    organisation = repo.partition("/")[0]
    purpose = (
        f"Unchanged copies of the files behind {markdown.link(source.homepage)}, kept so that datasets can be built from the "
        "same bytes when the originals are gone. This is not a dataset: `load_dataset` reads nothing here."
    )
    lines = [
        "---",
        f"{head}---",
        MARK,
        "",
        f"# Raw files of {markdown.plain(source.title)}",
        "",
        purpose,
        "",
        f"**Licence**: {markdown.plain(source.license)}, as the publisher states it ({describe_license(source.license)}).{note}",
        "",
        "Each path is the digest of the bytes: a sha256, or a git blob id where the source is pinned by one.",
        "",
        *markdown.table(
            dict.fromkeys(("file", "path here", "published at"), "---"),
            [
                (markdown.code(name), f"`{path}`", markdown.link(url) if url else "fetched by hand")
                for path, name, url in files
            ],
        ),
        "",
        "`embedding-datasets` takes files from here where their publisher no longer has them, and verifies each digest:",
        "",
        "```console",
        f"export EMBEDDING_DATASETS_MIRRORS=hf://datasets/{organisation}",
        f"embedding-datasets fetch {source.name}",
        "```",
        "",
    ]
    return "\n".join(lines).encode()
