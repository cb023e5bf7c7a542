"""Named, versioned, reproducible builders for text-embedding benchmark datasets."""
