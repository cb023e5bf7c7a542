"""Run a block of Python code from a card as a reader who pastes it does; test_published_snippets.py sets HF_ENDPOINT.

`python run_snippet.py BLOCK.py ...` runs each block unchanged, in a separate process, and writes its variables to BLOCK.json:
the rows of its tables, by variable and split, and the main scores of its mteb results. Only the model of mteb is replaced, by one
that needs no download.
"""

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any


def variables(namespace: dict[str, Any]) -> dict[str, Any]:
    """The tables and the scores that a block leaves, as JSON takes them."""
    values: dict[str, Any] = {}
    for name, value in namespace.items():
        if type(value).__name__ == "DatasetDict":
            values[name] = {split: dataset.to_list() for split, dataset in value.items()}
        if name == "results":
            values[name] = [float(result.get_score()) for result in value.task_results]
    return values


def run(file: Path) -> None:
    block = file.read_text("utf-8")
    if "mteb.get_model(" in block:
        import mteb
        from consumers import encoder

        mteb.get_model = lambda *_, **__: encoder()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(block, file.name, "exec"), namespace)
    file.with_suffix(".json").write_text(json.dumps(variables(namespace), ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    import datasets  # noqa: F401 - once, not in each child

    for argument in sys.argv[1:]:
        child = os.fork()
        if child == 0:
            try:
                run(Path(argument))
            except Exception:  # noqa: BLE001 - shown, and told by the exit code
                traceback.print_exc()
                os._exit(1)
            os._exit(0)  # after streaming, a pyarrow thread may abort the normal interpreter exit
        if os.waitpid(child, 0)[1]:
            sys.exit(1)
