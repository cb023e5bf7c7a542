"""What a reader sees of a dataset: card and manifest."""

DISTRIBUTION = "embedding-datasets"  # tells embedding_datasets.own_packages that this package is ours
