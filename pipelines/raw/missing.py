"""What to tell a user about a raw file that is missing: where it was looked for, and where to put it."""

from pathlib import Path
from typing import Literal

from builders.errors import SourceError
from builders.raw_files import ByHand, Hub, Location
from pipelines.raw.file_request import FileRequest
from pipelines.raw.urls import file_url


def missing_reason(location: Location) -> Literal["offline", "gated", "by hand"]:
    """Why a file with this location is missing where nothing may be downloaded."""
    match location:
        case ByHand():
            return "by hand"
        case Hub(gated=True):
            return "gated"
        case _:
            return "offline"


def placement(request: FileRequest) -> str:
    """How to provide a file: "put it at PATH", and for a member of an archive the path of the member by itself."""
    if request.settings.raw_dir is None:
        path = Path("DIR", request.source.name, request.file.name)
        return f"put it at {request.cached_path}, or pass --raw-dir DIR and put it at {path}"
    path, *members = request.local_paths
    return f"put it at {path}" + "".join(f" (or the extracted member at {member})" for member in members)


def by_hand_instructions(location: ByHand, request: FileRequest) -> str:
    """How a person gets a file that no program may download, and where to put it."""
    return f"{location.instructions.rstrip('.')}; {placement(request)}"


def missing_file_error(request: FileRequest) -> SourceError:
    """The error for a file that is neither below --raw-dir nor in the cache, and that cannot be downloaded."""
    paths = [*request.local_paths, request.cached_path]
    found, expected = f"nothing at {', nor at '.join(map(str, paths))}", str(request.pin)
    location = request.file.location
    if isinstance(location, ByHand):
        todo = by_hand_instructions(location, request)
        error = SourceError(f"{request.name} must be fetched by hand", found=found, expected=expected, todo=todo)
        return error.lacking(request.name, "by hand")
    what, todo = f"{request.name} not found, and --offline is set", f"{placement(request)}, or run without --offline"
    error = SourceError(what, where=file_url(location), found=found, expected=expected, todo=todo)
    return error.lacking(request.name, missing_reason(location))


def nested_archive_error(request: FileRequest) -> SourceError:
    """The error for an archive inside another archive, which is read only where a user has extracted it."""
    path = request.local_paths[0] if request.local_paths else Path("DIR", request.source.name, request.file.name)
    todo = f"extract it and put it at {path}" + ("" if request.local_paths else ", and pass --raw-dir DIR")
    return SourceError(f"{request.name} is an archive inside another archive, which cannot be read in place", todo=todo)
