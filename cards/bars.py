"""Bars of Unicode blocks: they are right at every tag, in a terminal and without a network."""

WIDTH = 20  # characters of a bar for the whole
EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def bar(share: float, width: int = WIDTH) -> str:
    """A bar for a share of 0 to 1, to an eighth of a character; a share above 0 is never an empty bar."""
    eighths = round(share * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8]
