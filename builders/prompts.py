"""What is put before the texts of a dataset: by an evaluation, or in training."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ConfigPrompts:
    """The prefixes of one config of training data for ru-en-RoSBERTa: for queries and documents, or one for both."""

    config: str
    rosberta: tuple[str, ...]


@dataclass(frozen=True)
class Prompts:
    """What an evaluation puts before the texts; two values are for query / document.

    rosberta: prefix for ru-en-RoSBERTa. e5: prefix for E5. instruction: for instruct models, empty for training data.
    configs: of training data, the prefixes of each config.
    """

    instruction: str
    rosberta: tuple[str, ...] = ()
    e5: tuple[str, ...] = ()
    configs: tuple[ConfigPrompts, ...] = ()
