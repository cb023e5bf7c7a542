"""Some damaged files for every reader, with a fixed seed: benchmarks/fuzz_readers.py runs as many as one likes."""

from pathlib import Path

import pytest

from benchmarks import fuzz_readers

CASES = 40
READERS = fuzz_readers.readers()


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_an_error_for_the_user(name: str, tmp_path: Path) -> None:
    for number in range(CASES):
        data = fuzz_readers.damage(READERS[name], 1, number)
        problem = fuzz_readers.run_case(READERS[name], data, tmp_path)
        assert problem == "", f"python benchmarks/fuzz_readers.py {name} --seed 1 --first {number} --count 1"
