"""The words that the Hub accepts in the front matter of a card and that no library has.

CATEGORIES, TASK_IDS: those of texts in `tasks/src/pipelines.ts` of
huggingface.js, which the Hub checks `task_categories` and `task_ids` with.
"""

CATEGORIES = frozenset(
    [
        "text-classification",
        "token-classification",
        "table-question-answering",
        "question-answering",
        "zero-shot-classification",
        "translation",
        "summarization",
        "feature-extraction",
        "text-generation",
        "fill-mask",
        "sentence-similarity",
        "table-to-text",
        "multiple-choice",
        "text-ranking",
        "text-retrieval",
    ]
)
TASK_IDS = frozenset(
    [
        "acceptability-classification",
        "entity-linking-classification",
        "fact-checking",
        "intent-classification",
        "language-identification",
        "multi-class-classification",
        "multi-label-classification",
        "multi-input-text-classification",
        "natural-language-inference",
        "semantic-similarity-classification",
        "sentiment-classification",
        "topic-classification",
        "semantic-similarity-scoring",
        "sentiment-scoring",
        "sentiment-analysis",
        "hate-speech-detection",
        "text-scoring",
        "document-retrieval",
        "utterance-retrieval",
        "entity-linking-retrieval",
        "fact-checking-retrieval",
        "multiple-choice-qa",
        "multiple-choice-coreference-resolution",
    ]
)
