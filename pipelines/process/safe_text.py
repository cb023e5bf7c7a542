"""Text that is safe to show: without the user's tokens, and without characters that control a terminal.

Messages quote what servers answer, and results quote texts of datasets; both are written by others. A server may echo the token
that it was sent. Characters such as ESC can recolour, overwrite or retitle the terminal that shows them.
"""

import contextlib
import os
import re
from pathlib import Path
from typing import TextIO

MASK = "[token]"
MAX_QUOTED = 300  # characters of an error
SHORTEST_TOKEN = 8  # characters: replacing a shorter text everywhere would garble messages
TOKENS = re.compile(
    r"""
    \bhf_[A-Za-z0-9]{6,}                            # of the Hub, also one that was cut
    | \b(?:hf_[a-z]+_)?eyJ[\w-]{7,}(?:\.[\w-]+)*    # a JSON Web Token: of a login to the Hub, of its storage
    | (?<=\bBearer[ ])[^\s"',;]+                    # in the header of a request
    | (?<=://)[^/?\#\s@"<>]+(?=@)                   # user and password in an address, or a token in their place
    | (?<=[?&])(?P<name>(?i:(?:[\w-]*[_-])?(?:token|signature|credential|password|secret)|sig|api_?key|policy|key-pair-id))=
      [^&\#\s"'<>]+                                # in the query of an address
    """,
    re.ASCII | re.VERBOSE,
)
TOKEN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
# Controls but tab and line feed; characters that reverse the order of a line; line separators; lone surrogates, which Python
# uses for bytes of file names that are not UTF-8.
UNSAFE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def safe_text(text: str) -> str:
    r"""A text without tokens, and with JSON's escapes in place of control characters: ESC becomes `\u001b`.

    JSON stays JSON with the same values, but for the tokens.
    """
    return UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", mask_tokens(text))


def mask_tokens(text: str) -> str:
    """A text with `[token]` in place of the user's tokens for the Hub, and of what looks like a token or a password."""
    for token in _user_tokens():
        text = text.replace(token, MASK)
    return TOKENS.sub(lambda found: f"{found['name']}={MASK}" if found["name"] else MASK, text)


def first_line(error: BaseException) -> str:
    """The first line of an error's text, cut, to quote it in another error; its type where it has no text."""
    return str(error).strip().partition("\n")[0][:MAX_QUOTED] or type(error).__name__


def _user_tokens() -> list[str]:
    """The tokens in the environment and the stored one, the longest first.

    They are read here, not asked of the Hub's library, which takes half a second to import.
    """
    home = os.environ.get("HF_HOME") or f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/huggingface"
    tokens = [os.environ.get(name, "") for name in TOKEN_VARIABLES]
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # none stored, not UTF-8, no home
        tokens.append(Path(os.environ.get("HF_TOKEN_PATH") or f"{home}/token").expanduser().read_text("utf-8"))
    return sorted({token.strip() for token in tokens if len(token.strip()) >= SHORTEST_TOKEN}, key=len, reverse=True)


class SafeOutput:
    """Writes only safe text to a text stream, and is used in its place. An error names the stream, as one of a file does.

    trusted: the stream itself, for what was made safe and then got colours.
    """

    def __init__(self, stream: TextIO, name: str) -> None:
        self.trusted = stream
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        return getattr(self.trusted, attribute)

    def write(self, text: str) -> int:
        """Write a text, made safe."""
        try:
            self.trusted.write(safe_text(text))
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._name) from error
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        try:
            self.trusted.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._name) from error
