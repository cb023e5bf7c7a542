"""The benchmarks that datasets belong to: their paper, what to cite, and what they demand of a dataset.

A dataset names its benchmark, or none. The folder of a builder says nothing of it: one source may feed several benchmarks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

MTEB = "muennighoff2023mteb"


@dataclass(frozen=True)
class Benchmark:
    """A benchmark as its paper describes it.

    name: the group name on the command line and the tag on the Hub. paper: its address. citations: keys in cards/citations.bib.
    needs_prompts: whether a dataset must declare prompts, because the paper has one for each.
    """

    name: str
    title: str
    paper: str
    citations: tuple[str, ...]
    needs_prompts: bool = False


BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType(
    {
        benchmark.name: benchmark
        for benchmark in (
            Benchmark(
                "rumteb",
                "ruMTEB",
                "https://aclanthology.org/2025.naacl-long.12/",
                ("snegirev2025rumteb", MTEB),
                needs_prompts=True,  # Table 7
            ),
            Benchmark("ateb", "ATEB", "https://arxiv.org/abs/2502.16766", ("han2025ateb", MTEB)),
            Benchmark("rarb", "RAR-b", "https://arxiv.org/abs/2404.06347", ("xiao2024rarb", MTEB)),
        )
    }
)
