"""What each dataset is, and how a raw source becomes it."""

DISTRIBUTION = "embedding-datasets"  # tells embedding_datasets.own_packages that this package is ours
