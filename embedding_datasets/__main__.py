"""The command embedding-datasets, and python -m embedding_datasets COMMAND."""

from pipelines.command_line import run

if __name__ == "__main__":
    run()
