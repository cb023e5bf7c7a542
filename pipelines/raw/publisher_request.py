"""The request to the publisher of a raw file: its address, the token where it is on the Hub, and what to do if it is denied."""

from huggingface_hub import constants

from builders.errors import MissingReason
from builders.raw_files import GitHub, Hub
from pipelines.raw.download import DownloadRequest
from pipelines.raw.file_request import FileRequest
from pipelines.raw.missing import placement
from pipelines.raw.urls import HUB, file_url, hub_token


def publisher_request(request: FileRequest) -> DownloadRequest:
    """The request for a file at the address of its publisher."""
    settings = request.settings
    alternative = f"fetch it by hand and {placement(request)}"
    hub, token, version, access_hint = "", None, "the file at its URL", alternative
    match request.file.location:
        case Hub(repo, revision):
            hub, token, version = settings.hub or constants.ENDPOINT, hub_token(), f"revision {revision} of {repo}"
            reason = "the token has no access" if token else "no token was found"
            access_hint = (
                f"{reason}: accept the terms at {HUB}/datasets/{repo}, then use a token of that account "
                "(set HF_TOKEN, or run `hf auth login`)"
            )
        case GitHub(repo, commit):
            version = f"commit {commit} of {repo}"
    url = file_url(request.file.location, github_raw=settings.github_raw, github_media=settings.github_media, hub=hub)
    assert url is not None, "files that are fetched by hand are never downloaded"
    denied: MissingReason = "gated" if isinstance(request.file.location, Hub) else "unavailable"
    return DownloadRequest(request.name, url, request.pin, version, access_hint, alternative, token, denied)
