"""How this package names itself to servers: their operators see who sends requests, and in which version."""

from pipelines.installation import NAME, version


def user_agent() -> str:
    """The User-Agent of requests: name and version."""
    return f"{NAME}/{version()}"
