"""Models of one small layer with random weights, in the same files as real ones."""

from pathlib import Path
from typing import Any


def save_tokenizer(folder: Path, text: str, size: int, special: list[str]) -> None:
    """Write a byte-level tokenizer in the files that ruRoberta has: vocab.json and merges.txt, without tokenizer.json."""
    from tokenizers import ByteLevelBPETokenizer

    folder.mkdir()
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator([text] * 3, size, special_tokens=special)
    trained.save_model(str(folder))


def configure_roberta(**changes: Any) -> Any:
    """The configuration of a small RoBERTa; its weights are the same in every test."""
    import torch
    from transformers import RobertaConfig

    torch.manual_seed(0)
    return RobertaConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, type_vocab_size=1, **changes
    )  # fmt: skip


def save_encoder(folder: Path, tokenizer: Path, tokens: int) -> Path:
    """Write a model of sentence-transformers. tokenizer: the folder of one of 300 tokens. tokens: the longest text."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import AutoTokenizer, RobertaModel

    base = folder.with_name(f"{folder.name}-base")
    config = configure_roberta(vocab_size=300, max_position_embeddings=tokens + 2, initializer_range=0.5)
    RobertaModel(config).save_pretrained(str(base))
    AutoTokenizer.from_pretrained(str(tokenizer)).save_pretrained(str(base))
    modules = [Transformer(str(base), max_seq_length=tokens), Pooling(16)]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder))
    return folder


def save_small_tokenizer(folder: Path) -> Path:
    """Write a tokenizer of 300 tokens, with the configuration of its model, which takes 10 of them."""
    save_tokenizer(folder, "кот спит", 300, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    config = '{"model_type": "roberta", "vocab_size": 300, "max_position_embeddings": 12}'
    (folder / "config.json").write_text(config)
    return folder
