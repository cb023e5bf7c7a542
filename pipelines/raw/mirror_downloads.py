"""Raw files from mirrors, where their publisher no longer has them: each mirror is asked in turn, and what it sends verified."""

import logging
import os
import stat
from dataclasses import replace
from functools import cache
from pathlib import Path

from huggingface_hub import constants

from builders.errors import SourceError
from builders.raw_files import Member
from pipelines.raw.digests import Digest
from pipelines.raw.download import DownloadRequest, Patience, copy_file, download_file
from pipelines.raw.mirrors import HubMirror, Mirror, digest_path
from pipelines.raw.pins import find_pin
from pipelines.raw.requests import hub_token
from pipelines.raw.settings import FileRequest

RETRIES, LONGEST_WAIT = 2, 60  # of a server that is not the only one: retries, and seconds that it may ask to wait
NOT_THERE, NO_FOLDER = "not there", "no such folder"
HIDES = frozenset({"status 401", "status 403"})  # what the Hub answers for a repository that is not there, or private
LACKS = frozenset({"status 404", "status 410", NOT_THERE})  # how a mirror says that it does not have a file

logger = logging.getLogger(__name__)


def may_ask_mirrors(request: FileRequest) -> bool:
    """Whether there is a mirror to ask for a file, and a digest to ask it for."""
    return bool(_mirrors(request)) and request.pin.has_digest


def patience_before_mirrors(request: FileRequest) -> Patience:
    """How long to wait for the publisher of a file: less where mirrors may have it, or the member that is needed of it."""
    wanted = [request.file] if request.member is None else [request.file, request.member]
    pins = [find_pin(request.source.name, file, request.settings.lock_files) for file in wanted]
    mirrored = _mirrors(request) and any(pin.has_digest for pin in pins)
    return _impatient(request.settings.patience) if mirrored else request.settings.patience


def explain_failure(request: FileRequest, failure: SourceError) -> SourceError:
    """The error for a file that no mirror can be asked for: it says so, but for an archive, whose member is asked for next."""
    unknown = _mirrors(request) and not request.pin.has_digest and request.member is None
    return _explain(failure, ["mirrors not asked, because no digest of it is known"] if unknown else [])


def fetch_from_mirrors(request: FileRequest, target: Path, failure: SourceError) -> Digest:
    """Get a file from the first mirror that has it; the caller holds `lock_cached_file(target)`.

    failure: why the file cannot be obtained otherwise.

    Raises SourceError: `failure` with the answer of each mirror, or the error for a full disk.
    """
    if not may_ask_mirrors(request):
        raise explain_failure(request, failure)
    answers = []
    # Users know which files are not on this machine. They do not know that a publisher failed; for a member, its archive did.
    absent = failure.missing is not None and failure.missing.reason in {"offline", "by hand"}
    level = logging.DEBUG if absent or isinstance(request.file.location, Member) else logging.INFO
    logger.log(level, "%s: %s; asking mirrors", request.name, failure.found or failure.what)
    for mirror in _mirrors(request):
        try:
            logger.debug("%s: asking the mirror %s", request.name, mirror)
            download = _download_request(request, mirror)
            if isinstance(mirror, Path):
                path = mirror / (digest_path(request.pin) or "")
                digest = copy_file(download, path, _file_size(path), target)
            else:
                digest = download_file(download, target, _impatient(request.settings.patience))
        except SourceError as error:
            if error.local:
                raise
            answers.append(f"mirror {mirror}: {_answer(request, error, mirror)}")
            if error.found == NO_FOLDER:
                _log_missing_folder(mirror)
            else:
                level = logging.DEBUG if error.found in LACKS | HIDES else logging.INFO
                logger.log(level, "%s: %s", request.name, answers[-1])
            continue
        logger.info("%s: taken from the mirror %s", request.name, mirror)
        return digest
    raise _explain(failure, answers)


def _mirrors(request: FileRequest) -> list[Mirror]:
    """The mirrors that may be asked: with --offline, folders alone."""
    settings = request.settings
    return [mirror for mirror in settings.mirrors if isinstance(mirror, Path) or not settings.offline]


@cache
def _log_missing_folder(mirror: Mirror) -> None:
    """Say, once, that a folder is missing: it may be misspelt, or not mounted."""
    logger.info("mirror %s: %s", mirror, NO_FOLDER)


def _impatient(patience: Patience) -> Patience:
    longest = min(patience.longest_retry_after, LONGEST_WAIT)
    return replace(patience, retries=min(patience.retries, RETRIES), longest_retry_after=longest)


def _explain(failure: SourceError, answers: list[str]) -> SourceError:
    """The error for a file that is nowhere, with the answer of each mirror."""
    if not answers:
        return failure
    error = SourceError(
        failure.what,
        where=failure.where,
        found="; ".join([failure.found or failure.what, *answers]),
        expected=failure.expected,
        todo=failure.todo,
    )
    error.missing = failure.missing
    return error


def _answer(request: FileRequest, error: SourceError, mirror: Mirror) -> str:
    """The answer of a mirror in words. The Hub gives the same one for what a token may not see."""
    if error.found in LACKS:
        hides = ", or does not show it to you" if isinstance(mirror, HubMirror) else ""
        return f"it does not have {request.file.name}{hides}"
    if error.found in HIDES:
        return f"{error.found}: it does not have {request.file.name}, or keeps it private"
    return f"{'another file, ' * error.what.endswith('not the pinned file')}{error.found or error.what}"


def _download_request(request: FileRequest, mirror: Mirror) -> DownloadRequest:
    """The request to a mirror. Only the Hub is sent the user's token."""
    path, token = digest_path(request.pin), None
    match mirror:
        case HubMirror():
            base, token = request.settings.hub or constants.ENDPOINT, hub_token()
            url = f"{base}/datasets/{mirror.repository(request.source.name)}/resolve/main/{path}"
        case Path():
            url = f"{mirror.as_uri()}/{path}"
        case str():
            url = f"{mirror}/{path}"
    hint = "ask the operator of the mirror"
    return DownloadRequest(request.name, url, request.pin, "the file with this digest", hint, hint, token)


def _file_size(path: Path) -> int:
    """The size of a regular file; anything else could be endless."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        absent = NOT_THERE if os.path.isdir(path.parents[2]) else NO_FOLDER  # noqa: PTH112 - never raises
        raise SourceError("not there", found=f"a broken link at {path}" if path.is_symlink() else absent) from None
    except OSError as error:
        raise SourceError("not readable", found=error.strerror or str(error)) from error
    if not stat.S_ISREG(status.st_mode):
        raise SourceError("not a file", found=f"not a file: {path}")
    return status.st_size
