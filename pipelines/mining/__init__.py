"""Mining: an embedding model ranks the documents of a training set for each of its queries, once, into a raw file."""
