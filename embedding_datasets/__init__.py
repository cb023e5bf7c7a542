"""Named, versioned, reproducible builders for text-embedding benchmark datasets."""

from embedding_datasets.own_packages import load_own_packages

load_own_packages()  # before any import of pipelines, cards or builders
