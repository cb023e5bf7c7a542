"""Puts scores into a release: scores.json, the card and the manifest change together, or nothing does."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

from builders.errors import ReleaseError
from cards.manifest import Manifest, encode
from cards.score_section import with_scores
from cards.scores import Scores, encode_scores
from pipelines.release import folder
from pipelines.release.staging import dataset_lock, recover_release, staged_release


def require_unedited(release_dir: Path, manifest: Manifest) -> None:
    """Refuse a release that lacks files, or whose documents were edited: the manifest would get the digests of the edits.

    Raises ReleaseError.
    """
    if damage := folder.find_damage(release_dir, manifest):
        raise ReleaseError(
            "the release is not the one of its manifest",
            where=str(release_dir),
            found="; ".join(damage[:5]),
            todo=f"build it again: embedding-datasets build {manifest.name} --force",
        )


def record_scores(release_dir: Path, scores: Scores) -> Manifest:
    """Write the scores of a release into its folder, which holds the old documents or the new ones at every moment.

    The data files are not written again: the new folder links to them where the file system can. Returns the new manifest.

    Raises ReleaseError for a damaged release, and for one that has other rows than were scored, by another build meanwhile.
    """
    with dataset_lock(release_dir.parent.parent, scores.dataset):
        recover_release(release_dir)
        manifest = folder.require_manifest(release_dir)
        require_unedited(release_dir, manifest)
        if manifest.content_sha256 != scores.content_sha256:
            raise ReleaseError(
                "the release has changed since it was scored",
                where=str(release_dir),
                found=f"content {manifest.content_sha256[:12]}",
                expected=f"content {scores.content_sha256[:12]}",
                todo=f"score it again: embedding-datasets score {manifest.name}",
            )
        with staged_release(release_dir) as staging_dir:
            others = shutil.ignore_patterns(folder.CARD, folder.SCORES, folder.MANIFEST)
            shutil.copytree(release_dir, staging_dir, ignore=others, copy_function=_link, dirs_exist_ok=True)
            card = with_scores((release_dir / folder.CARD).read_text("utf-8"), scores)
            (staging_dir / folder.CARD).write_bytes(card.encode())
            (staging_dir / folder.SCORES).write_bytes(encode_scores(scores))
            manifest = replace(manifest, documents=folder.describe_documents(staging_dir))
            (staging_dir / folder.MANIFEST).write_bytes(encode(manifest))
    return manifest


def _link(source: str, target: str) -> None:
    """Give a file a second name; copy it where the file system cannot do that."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
