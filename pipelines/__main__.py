"""python -m pipelines COMMAND: the same as the command embedding-datasets."""

from pipelines.command_line import run

if __name__ == "__main__":
    run()
