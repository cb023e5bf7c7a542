"""The benchmarks that datasets belong to, the tasks of mteb that evaluate them, and other names of our datasets.

A dataset names its benchmark, or none. The folder of a builder says nothing of it: one source may feed several benchmarks.

A built-in task names the path and the revision of a dataset on the Hub. With both changed it reads ours, because our tables have
the columns that mteb reads. tests/test_mteb_built_in.py runs all of them by the code on the cards.

The catalogue resolves them (`resolve` in catalogue.py). tests/test_mteb_built_in.py compares them with mteb.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from builders import papers

MTEB = "muennighoff2023mteb"
# The tasks of MTEB(rus, v1.1), in mteb's order.
MTEB_RUS = (
    "GeoreviewClassification", "HeadlineClassification", "InappropriatenessClassification", "KinopoiskClassification",
    "MassiveIntentClassification", "MassiveScenarioClassification", "RuReviewsClassification", "RuSciBenchGRNTIClassification",
    "RuSciBenchOECDClassification", "GeoreviewClusteringP2P", "RuSciBenchGRNTIClusteringP2P", "RuSciBenchOECDClusteringP2P",
    "CEDRClassification", "SensitiveTopicsClassification", "TERRa", "MIRACLReranking", "RuBQReranking",
    "MIRACLRetrievalHardNegatives.v2", "RiaNewsRetrievalHardNegatives.v2", "RuBQRetrieval", "RUParaPhraserSTS", "STS22",
    "RuSTSBenchmarkSTS",
)  # fmt: skip


@dataclass(frozen=True)
class Benchmark:
    """A benchmark as its paper describes it.

    name: the group name on the command line and the tag on the Hub. paper: its address. citations: keys in cards/citations.bib.
    tasks: of a benchmark that mteb defines, its tasks; the datasets that they evaluate are in the group, whatever their own.
    needs_prompts: whether a dataset must declare prompts, because the paper has one for each. sizes: whether rows are published
    that ours can be compared with. prompts: whose the prompts are. choices: what the paper leaves open for all datasets;
    corrected_choices: the same for versions that drop rows of the evaluated split. Both are lists in Markdown, with quotations.
    """

    name: str
    title: str
    paper: str
    citations: tuple[str, ...]
    needs_prompts: bool = False
    sizes: bool = True
    prompts: str = "The prompts are the paper's"
    choices: str = ""
    corrected_choices: str = ""
    tasks: tuple[str, ...] = ()


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
            Benchmark(
                "ateb",
                "ATEB",
                "https://arxiv.org/abs/2502.16766",
                ("han2025ateb", MTEB),
                sizes=False,
                prompts="The prompts are RAR-b's, because the ATEB paper has none",
                choices="- The metric, and what else mteb decides (such as a classifier), are mteb's; the paper names none.",
                corrected_choices="- A departure: this version drops or merges test rows (see Decisions): {{ paper.complete }}.",
            ),
            Benchmark(
                "rarb",
                "RAR-b",
                "https://arxiv.org/abs/2404.06347",
                ("xiao2024rarb", MTEB),
                prompts="The prompts are RAR-b's",
            ),
            Benchmark(
                "mteb-rus-v1.1",
                "MTEB(rus, v1.1)",
                "https://arxiv.org/abs/2502.13595",
                ("enevoldsen2025mmteb", MTEB),
                prompts="The prompts are the ruMTEB paper's",
                tasks=MTEB_RUS,
            ),
        )
    }
)


@dataclass(frozen=True)
class BuiltInTask:
    """A built-in task of mteb.

    name: mteb's. dataset: ours that it evaluates. subset: the one to evaluate, where mteb's task has several. renames_columns: it
    renames the columns of the original dataset, so a subclass that does not rename reads ours. namesake: our dataset that the
    paper describes under the name of the task, where mteb's task reads another one (`dataset`).
    """

    name: str
    dataset: str
    subset: str = ""
    renames_columns: bool = False
    namesake: str = ""


RUSSIAN = "ru"
MIRACL_POOLS, RIA_POOLS = "miracl-retrieval-hard-negatives-ru", "ria-news-retrieval-hard-negatives"
# The tasks of MTEB(rus, v1) and MTEB(rus, v1.1), those of RAR-b that we have, and their later versions on the same data.
BUILT_IN = (
    BuiltInTask("GeoreviewClassification", "georeview-classification"),
    BuiltInTask("GeoreviewClassification.v2", "georeview-classification"),
    BuiltInTask("HeadlineClassification", "headline-classification"),
    BuiltInTask("HeadlineClassification.v2", "headline-classification"),
    BuiltInTask("InappropriatenessClassification", "inappropriateness-classification"),
    BuiltInTask("InappropriatenessClassification.v2", "inappropriateness-classification"),
    BuiltInTask("KinopoiskClassification", "kinopoisk-sentiment-classification"),
    BuiltInTask("MassiveIntentClassification", "massive-intent-classification", RUSSIAN),
    BuiltInTask("MassiveScenarioClassification", "massive-scenario-classification", RUSSIAN),
    BuiltInTask("RuReviewsClassification", "ru-reviews-classification"),
    BuiltInTask("RuReviewsClassification.v2", "ru-reviews-classification"),
    BuiltInTask("RuSciBenchGRNTIClassification", "ru-scibench-grnti-classification"),
    BuiltInTask("RuSciBenchOECDClassification", "ru-scibench-oecd-classification"),
    BuiltInTask("GeoreviewClusteringP2P", "georeview-clustering-p2p"),
    BuiltInTask(
        "RuSciBenchGRNTIClusteringP2P", "ru-scibench-grnti-classification", namesake="ru-scibench-grnti-clustering-p2p"
    ),
    BuiltInTask(
        "RuSciBenchOECDClusteringP2P", "ru-scibench-oecd-classification", namesake="ru-scibench-oecd-clustering-p2p"
    ),
    BuiltInTask("CEDRClassification", "cedr-classification"),
    BuiltInTask("SensitiveTopicsClassification", "sensitive-topics-classification"),
    BuiltInTask("TERRa", "terra-pairclassification"),
    BuiltInTask("TERRa.V2", "terra-pairclassification"),
    BuiltInTask("MIRACLReranking", "miracl-reranking-ru", RUSSIAN),
    BuiltInTask("RuBQReranking", "rubq-reranking"),
    BuiltInTask("MIRACLRetrieval", "miracl-retrieval-ru", RUSSIAN),
    BuiltInTask("MIRACLRetrievalHardNegatives", MIRACL_POOLS, RUSSIAN),
    BuiltInTask("MIRACLRetrievalHardNegatives.v2", MIRACL_POOLS, RUSSIAN),
    BuiltInTask("RiaNewsRetrieval", "ria-news-retrieval"),
    BuiltInTask("RiaNewsRetrievalHardNegatives", RIA_POOLS),
    BuiltInTask("RiaNewsRetrievalHardNegatives.v2", RIA_POOLS),
    BuiltInTask("RuBQRetrieval", "rubq-retrieval"),
    BuiltInTask("RUParaPhraserSTS", "ru-paraphraser-sts", renames_columns=True),
    BuiltInTask("RuSTSBenchmarkSTS", "ru-stsbenchmark-sts"),
    BuiltInTask("STS22", "sts22-ru", RUSSIAN),
    BuiltInTask("STS22.v2", "sts22-ru", RUSSIAN),
    BuiltInTask("AlphaNLI", "rarb-alphanli"),
    BuiltInTask("ARCChallenge", "rarb-arc-challenge"),
    BuiltInTask("HellaSwag", "rarb-hellaswag"),
    BuiltInTask("PIQA", "rarb-piqa"),
    BuiltInTask("WinoGrande", "rarb-winogrande"),
)

# Later versions of these tasks that no dataset of ours serves, with the reason.
NOT_SERVED: Mapping[str, str] = MappingProxyType(
    {
        "RuSciBenchGRNTIClassification.v2": "other papers, in Russian and English",
        "RuSciBenchOECDClassification.v2": "other papers, in Russian and English",
        "HUMESTS22": "a part of the pairs, judged again",
    }
)


def built_in_tasks(dataset: str) -> tuple[BuiltInTask, ...]:
    """The built-in tasks that evaluate a dataset; none for a dataset that mteb does not have."""
    return tuple(task for task in BUILT_IN if task.dataset == dataset)


def datasets_of_tasks(benchmark: str) -> set[str]:
    """Our datasets that the tasks of a benchmark of mteb evaluate; none for any other name."""
    tasks = BENCHMARKS[benchmark].tasks if benchmark in BENCHMARKS else ()
    return {task.dataset for task in BUILT_IN if task.name in tasks}


def namesake_tasks(dataset: str) -> tuple[BuiltInTask, ...]:
    """The built-in tasks with the name of a dataset that read another of our datasets."""
    return tuple(task for task in BUILT_IN if task.namesake == dataset)


# They publish our datasets under the names of TASKS, or under our own: ai-forever/cedr-classification, mteb/CEDRClassification.
PUBLISHERS = ("ai-forever", "mteb")

# mteb's tasks, and our dataset that their benchmark's paper describes under this name.
TASKS: Mapping[str, str] = MappingProxyType({task.name: task.namesake or task.dataset for task in BUILT_IN})

# The repositories that mteb's tasks load, where their name is neither the task's nor ours.
REPOSITORIES: Mapping[str, str] = MappingProxyType(
    {
        "mteb/georeview": "georeview-classification",
        "mteb/headline": "headline-classification",
        "mteb/inappropriateness": "inappropriateness-classification",
        "mteb/amazon_massive_intent": "massive-intent-classification",
        "mteb/amazon_massive_scenario": "massive-scenario-classification",
        "mteb/ru_reviews": "ru-reviews-classification",
        "mteb/sts22-crosslingual-sts": "sts22-ru",
        "mteb/RiaNewsRetrieval_test_top_250_only_w_correct-v2": RIA_POOLS,
        "merionum/ru_paraphraser": "ru-paraphraser-sts",
    }
)


def fold(name: str) -> str:
    """A name as names are compared: case does not matter, nor whether words are joined by `-` or `_`."""
    return name.casefold().replace("_", "-")


def find_alias(name: str, datasets: Mapping[str, object]) -> str | None:
    """Our dataset that somebody else's name means; None where it is not known.

    datasets: ours, by name.
    """
    owner, _, last = name.rpartition("/")
    if dataset := _folded(REPOSITORIES).get(fold(name)):
        return dataset
    if owner and fold(owner) not in PUBLISHERS:
        return None
    own = {fold(dataset): dataset for dataset in datasets} if owner else {}
    names = _folded(papers.tasks_by_name()) | _folded(TASKS)
    return own.get(fold(last)) or names.get(fold(last))


def _folded(names: Mapping[str, str]) -> dict[str, str]:
    return {fold(name): dataset for name, dataset in names.items()}
