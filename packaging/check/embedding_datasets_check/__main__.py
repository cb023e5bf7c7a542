"""The command embedding-datasets-check as a module."""

from embedding_datasets_check import run

if __name__ == "__main__":
    run()
