"""How large the project is: python benchmarks/sizes.py

Statements (`ast.stmt`, which no formatting moves) of code, tests and benchmarks, with their files; and the
words of the documentation, without fenced blocks, which tests execute, and without what is generated.
"""

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
GENERATED = (
    "docs/contamination-map.md",
    "docs/findings.md",
    "docs/results.md",
    "docs/scores.md",
    "docs/sources.md",
    "docs/troubleshooting.md",
)
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"<!-- generated: .*?-->\n(?:\n|\|.*\n)*")


def count_statements(text: str) -> int:
    """The statements of a module."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(text)))


def count_words(text: str) -> int:
    """The words of a page that a person wrote and nothing executes."""
    return len(TABLE.sub("", BLOCK.sub("", text)).split())


def main() -> None:
    """Print the sizes."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    sizes: dict[str, Counter[str]] = {"code": Counter(), "tests": Counter(), "benchmarks": Counter()}
    words = Counter[str]()
    for name in listed:
        path = ROOT / name
        if name.endswith(".py"):
            text = path.read_text("utf-8")
            size = sizes.get(name.split("/")[0], sizes["code"])
            lines = len(text.splitlines())
            size.update(files=1, statements=count_statements(text), lines=lines, short=lines < 80)
        elif re.fullmatch(r"(docs/(tutorials/)?)?[^/]+\.md", name) and name not in GENERATED:
            words[name] = count_words(path.read_text("utf-8"))
    for name, size in sizes.items():
        files = f"{size['files']} files, {size['short']} of fewer than 80 lines"
        print(f"{name:10} {size['statements']:7,} statements, {size['lines']:7,} lines, {files}")
    for name, count in sorted(words.items()):
        print(f"{count:7,} words  {name}")
    print(f"{sum(count for name, count in words.items() if name != 'CHANGELOG.md'):7,} words without CHANGELOG.md")


if __name__ == "__main__":
    main()
