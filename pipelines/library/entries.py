"""What the catalogue offers, as records: catalogue() of `import embedding_datasets`."""

from collections.abc import Sequence

from builders import catalogue
from builders.catalogue import Definition
from builders.spec import version_key
from pipelines.library.records import Catalogue, CatalogueEntry


def list_catalogue(names: Sequence[str]) -> Catalogue:
    """The datasets that names mean, all of them without a name. Imports the builders of these datasets."""
    definitions = [catalogue.load(entry) for entry, _ in catalogue.resolve(names or ["all"])]
    return Catalogue(_describe(definition) for definition in definitions)


def _describe(definition: Definition) -> CatalogueEntry:
    dataset, source = definition.dataset, definition.source
    return CatalogueEntry(
        dataset.name,
        tuple(sorted(dataset.versions, key=version_key)),
        dataset.task.type.name,
        dataset.languages,
        dataset.task.splits,
        dataset.benchmark.name if dataset.benchmark else None,
        source.name,
        definition.license,
        source.homepage,
        dataset.summary,
    )
