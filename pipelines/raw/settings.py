"""Where raw files are looked for, as the command line and the environment say."""

from dataclasses import dataclass, field
from pathlib import Path

from pipelines.raw.cache import default_cache
from pipelines.raw.download import Patience
from pipelines.raw.lock_file import LOCK_FILE
from pipelines.raw.mirrors import Mirror, configured_mirrors
from pipelines.raw.urls import GITHUB_MEDIA, GITHUB_RAW


@dataclass(frozen=True)
class RawSettings:
    """Where raw files are looked for.

    raw_dir: a directory with `<source>/<name>` in it, never written to. cache: the directory of downloads, of cached digests, and
    of a second lock file for an installed package, whose own is never written. offline: never download. lock: the lock file.
    github_raw, github_media, hub: base URLs; without `hub`, that of huggingface_hub, which HF_ENDPOINT sets. mirrors: where else
    files may be, in the order in which they are asked.
    """

    raw_dir: Path | None = None
    cache: Path = field(default_factory=default_cache)
    offline: bool = False
    lock: Path = LOCK_FILE
    github_raw: str = GITHUB_RAW
    github_media: str = GITHUB_MEDIA
    hub: str | None = None
    patience: Patience = field(default_factory=Patience)
    mirrors: tuple[Mirror, ...] = field(default_factory=configured_mirrors)

    @property
    def lock_files(self) -> tuple[Path, Path]:
        """The lock files, in the order in which they are read."""
        return self.lock, self.cache / "raw.lock.json"

    @property
    def digest_cache(self) -> Path:
        """The directory with the digests of unchanged files."""
        return self.cache / "digests"
