"""Every kind of finding: its names, severity and meaning, and what is counted: python -m cards.kinds > docs/findings.md

A new kind is a record here, and a search in the module of its family in pipelines/audit/. The thresholds that definitions quote
are here too; the searches import them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from cards import markdown
from cards.front_matter import MIN_LETTERS
from cards.manifest import SEVERITIES, Severity


@dataclass(frozen=True)
class Kind:
    """What a kind of finding means.

    name: in manifests and options. title: for people. severity: the usual one; the definition names exceptions. definition: one
    sentence. counted: what the count of a finding counts; its share is of all of these in the table, unless said otherwise.
    exact_or_folded: texts are compared exactly and after folding, and the detail of a folded finding says so. quoted: whether
    cards may quote the text of a row. reported: a recipe or a rule of the user says so; the rows alone do not show it. learned:
    it needs a model that is trained on the rows (pipelines.profile), so no manifest has it.
    """

    name: str
    title: str
    severity: Severity
    definition: str
    counted: str = "rows"
    exact_or_folded: bool = False
    quoted: bool = True
    reported: bool = False
    learned: bool = False


# In the details of findings about texts that are equal only once they are folded.
FOLDED_DETAIL = "ignoring case, punctuation, white space and Unicode form"
MEANING_DETAIL = "ignoring case, white space, Unicode form and most punctuation"
MIN_NEGATIVES = 7  # of a query: as many as ru-en-RoSBERTa was trained with
LARGE_TABLE = 20_000  # rows: every text of a smaller table is checked for its language
SAMPLE = 5_000  # rows of a large table
MIN_SHARED_PERCENT = 90  # of the shingles of two near-duplicates
LONG_TEXT_WORDS = 60  # if one word of 60 differs, the texts share 55 of 61 runs, just over 90 %
SHINGLE_WORDS, SHINGLE_CHARACTERS = 3, 5  # in a run
CONTAINED_RUN, MIN_CONTAINED_WORDS = 5, 8  # words: of a run, and of a text that is looked for in longer ones
MAX_RARE_PERCENT = 5  # of the second texts of pairs that have a rare word
MIN_BLOCK, MAX_PAIRS = 100, 2_000  # pairs that are judged together, and of a split
MIN_SORTED = 20  # pairs that are judged where one side is sorted and the other is not
# Standard errors by which the second text of a neighbouring row fits better; below -4 in all real datasets (sign test).
MIN_SHIFT_LEAD, MIN_RUN_LEAD = 4, 6  # of a run that was chosen because it fits
# Of pairs, the share whose one side has what only the other has elsewhere (0.75 of it, and 0.25 here), and how much more often
# than by chance.
USUAL_SIDE, SWAPPED, SWAPPED_LEAD = 0.75, 0.01, 2
FREQUENT_POSITIVE, MIN_FREQUENT = 0.2, 10  # of the queries, and queries, that a frequent positive is relevant for
MIN_SENTENCE = 20  # characters; a shorter sentence recurs in good texts: `Yes.`
LENGTH_OUTLIER_FACTOR = 10  # between the median length and that of an outlier
# Cramér's V of a label and a column that tells it: a large effect (Cohen, 1988). Annotations and sources in real datasets have
# 0.52 to 0.98, numbers of articles and conversations up to 0.48, all other columns below 0.4.
MIN_ASSOCIATION = 0.5
MIN_LABEL_ROWS = 30  # of a label, and of all others, to be compared with the values of a column
NUMBER_GROUPS = 10  # into which numbers are divided, to be compared like names
MIN_ORDER = 0.4  # from 0 in a random order to 1 with one block for each label; real splits are below 0.2 or above 0.45
MIN_ORDERED_ROWS = 100  # of a split whose order is examined
# Of two rows with different labels, the share in which one number of each (a length, a place in a list) guesses right which is
# which. Lengths in real datasets: up to 0.58 in pairs, 0.72 for a label of texts (CEDR: texts without an emotion are longer) and
# 0.70 in preferences, where people like the longer answer; 0.91 in DIPPER 1.0.0, whose negatives were chosen by length.
MIN_STRENGTH = 0.75
# The same for shared words, if texts with more of them are the same or relevant: that is part of the task. Paraphrases and
# similarities have up to 0.82 (a rank correlation of 0.63), DIPPER 0.91.
MIN_OVERLAP_STRENGTH = 0.85
STANDARD_ERRORS = 3  # from chance, for a guess to be more than that
MIN_POSITION_STRENGTH = 0.6  # for a place in a list, which no task means
MAX_COMPARED = 20_000  # candidates whose words are compared with those of their query
NEAR_SCORES = 0.1  # of the scale: a smaller difference of scores is small
LABEL_IMBALANCE_FACTOR = 10  # between the rows of the most frequent label and those of a rare one

# What shows only over many rows.
# Texts of a column, those of them that have something in common, and words of a text that recurs.
MIN_TEXTS, MIN_RECURRING, BOILERPLATE_WORDS = 100, 20, 5
MIN_CHARACTERS = 10_000  # of a column, for what none of them is to mean something
SHORT_TRAIN = 2  # times as many rows of another split are more than usual
SPIKE_WINDOW, MIN_SPIKE = 0.9, 3  # of the greatest length, and times the texts of each length from there on
STRONG = 0.9  # a strength, an association or a difference from which an info is a warning: guessing comes to a score of about 90
# The least shares of texts; in brackets what real datasets have, where they have the most.
SHARES = MappingProxyType(
    {
        "greatest length": 0.01,
        "clause": 0.02,  # 0.012: `On review aggregator website Rotten Tomatoes ,`
        "numbered form": 0.005,
        "words": 0.2,  # 0.1: questions that begin alike
        "start or end": 0.9,
        "unpaired quotation mark": 0.05,  # 0.02: sentences of news
        "quotation marks": 0.015,  # 0.013: sentences of news
        "number first": 0.03,  # 0.005
        "lost letters": 0.02,  # 0.003: people write no space after a question
        "usual": 0.05,  # of what texts have in which a character is natural
        "one score": 0.8,
        "named label": 0.02,
        "phrase": 0.05,
        "title": 0.5,
        "missing": 0.2,  # at most
        "gap of four": 0.75,  # of the range of all other scores, if these are at least four
        "gap of two": 3,  # if they are fewer
        "labels as texts": 0.005,  # 0.0002: people write `yes`
        "word": 0.9,
        "word elsewhere": 0.01,  # at most
        "told label": 0.05,  # of a smaller one, a topic or an intent, the usual word is its name
    }
)
# The least differences between two splits, from 0 to 1. Official splits differ by up to 0.1 in what texts are written with, but
# in punctuation by 0.59 (ParaPhraser, whose second set of headlines has no full stops) and in length by 0.46 (TREC).
DIFFERENCES = MappingProxyType(
    {
        "letters": 0.3,
        "punctuation": 0.6,
        "decomposed letters": 0.1,
        "length": 0.6,
        "label": 0.2,  # 0.14
        "rounding": 0.5,  # 0.3
        "scores": 0.5,  # 0.25
        "dates": 0.5,
        "ids": 0.01,
    }
)

MIN_DISAGREEMENT = 0.1  # of accuracies, from 0 to 1; twice that of correlations: sound splits of STSb differ by 0.09
MAX_PERIOD = 10  # rows after which labels may repeat
FAR_DEVIATIONS = 12  # median absolute ones, of the rarity of a text
FOLDING = "Unicode NFKC, lower case, every run of punctuation and white space one space"
MEANINGFUL = (
    "as for leaks, but `?`, `!`, faces (`:)`), and the signs, points, colons, dashes and percentages of numbers stay"
)
NEAR = (
    f"the folded texts share at least {MIN_SHARED_PERCENT} % of their shingles (Jaccard similarity; of a pair, on both sides),"
    f" which are all runs of {SHINGLE_WORDS} words if both have {LONG_TEXT_WORDS} words or more, else all runs of"
    f" {SHINGLE_CHARACTERS} characters; MinHash proposes the texts to compare and misses fewer than one pair in 10,000"
)

# The worst first; within a severity, in the order of reports.
# fmt: off
_KINDS = (
    Kind("missing_table", "a table is missing", "error", "A table of the task is missing for a split.", "tables"),
    Kind("unexpected_table", "a table that the task does not have", "error",
        "A table is not one of the task's, or its split was not requested.", "tables"),
    Kind("missing_column", "a column is missing", "error", "A table lacks a column that its readers need.", "columns"),
    Kind("unexpected_column", "a column that the table may not have", "error",
        "A table with fixed columns has another one.", "columns"),
    Kind("wrong_type", "a column of another type", "error",
        "The type of a column is not the one that its readers expect.", "columns"),
    Kind("empty_table", "a table without rows", "error", "A table has no rows.", "tables"),
    Kind("null_text", "null instead of a text", "error", "A text or a title is null."),
    Kind("null_value", "null instead of a value", "error", "A value other than a text is null, or a list contains a null."),
    Kind("empty_id", "empty id", "error", "An id is the empty string."),
    Kind("duplicate_id", "id of an earlier row", "error",
        "An id also occurs in an earlier row.", "rows after the first with an id"),
    Kind("dangling_qrel", "judgement of a query or document that does not exist", "error",
        "A relevance judgement names a query or a document that does not exist.", "judgements"),
    Kind("duplicate_judgement", "the same document judged again", "error",
        "An earlier row also judges the same document for the same query.", "judgements after the first"),
    Kind("query_without_positive", "query without a relevant document", "error",
        "A query has no document judged relevant; a row of training data has no positives.", "queries"),
    Kind("query_without_candidates", "query without candidates", "error", "A query has no list of candidates.", "queries"),
    Kind("query_without_negative", "query whose candidates are all relevant", "error",
        "All candidates of a query are judged relevant.", "candidate lists"),
    Kind("positive_not_listed", "relevant document that is not a candidate", "error",
        "A document judged relevant for a query is not among its candidates.", "judgements above zero"),
    Kind("dangling_candidate", "candidate that does not exist", "error",
        "A candidate list belongs to no query, or contains a document that does not exist.", "candidate lists or candidates"),
    Kind("duplicate_candidate", "document twice in a list of candidates", "error",
        "A candidate list contains a document twice.", "candidate lists"),
    Kind("label_out_of_range", "unknown label", "error", "A label is not one of the task's labels."),
    Kind("label_text_differs", "name of another label", "error", "The label name of a row is not the name of its label."),
    Kind("label_unordered", "labels out of order or repeated", "error",
        "The labels of a row do not ascend, or one of them is repeated."),
    Kind("score_out_of_range", "score outside the scale", "error",
        "A score is outside the task's scale, or a judgement is negative."),
    Kind("one_class_only", "only one label", "error",
        "All rows of a split have the same label (or list of labels), so there is nothing to distinguish (in a sample:"
        " info).", "tables"),
    Kind("empty_query", "empty query", "error", "A query of training data is empty or only white space."),
    Kind("empty_positive", "empty positive", "error", "A positive of training data is empty or only white space."),
    Kind("negatives_without_kinds", "negatives that do not fit their kinds", "error",
        "A row of training data does not have one kind for each negative."),
    Kind("unknown_negative_kind", "unknown kind of negative", "error",
        "The kind of a negative is neither `provided` nor `random`."),
    Kind("label_without_training_rows", "label without training rows", "warning",
        "A row of another split has a label that no row of train has, so that a classifier never predicts it (in a sample:"
        " info)."),
    Kind("few_rows_of_label", "label with few training rows", "warning",
        "A label has fewer training rows than mteb samples, and is not a `label_without_training_rows` (in a sample: info).",
        "labels"),
    Kind("split_leak", "text also in an earlier split", "warning",
        "A text (in pair tasks a pair, in retrieval a query) also occurs in an earlier split, either exactly or, if the"
        f" detail says so, only after folding ({FOLDING}), or only after invisible characters are removed and look-alike letters"
        " of two scripts and `ё` and `е` are taken for one.", "distinct texts of the later split", exact_or_folded=True),
    Kind("near_leak", "nearly the same text in an earlier split", "warning",
        "A text (in pair tasks a pair, in retrieval a query) that is not a `split_leak` is a near-duplicate of one in an"
        f" earlier split: {NEAR}; or, if the detail says so, it has the same words in another order.",
        "distinct texts of the later split"),
    Kind("conflicting_label", "the same text with different labels", "warning",
        "A text (or pair of texts; in retrieval, a query with the text of a document) has two or more labels or scores"
        f" within a split or, if the detail says so, only with the two texts in either order, only after folding ({MEANINGFUL}),"
        " or only together with an earlier split; within a split it counts once, with the strictest of these; the detail counts"
        f" scores that differ by up to {NEAR_SCORES:.0%} of the scale apart from the others.",
        "distinct texts", exact_or_folded=True),
    Kind("identical_pair", "identical texts that count as different", "warning",
        "The two sides of a pair are the same text, either exactly or, if the detail says so, only after folding, but its"
        " score is below the highest of the scale, or its label is 0 (STS and pair classification).", exact_or_folded=True),
    Kind("unjudged_twin", "copy of a relevant document that is not judged", "warning",
        "A document (in reranking, a candidate) has the same text as one judged relevant for a query, after folding, but is not"
        " itself judged for it; the detail counts those that are the same only after folding.",
        "pairs of query and document, as a share of these and the judgements above zero together"),
    Kind("query_in_corpus", "query that is also a document", "warning",
        "A query equals a document, its text or its title, after folding; the detail counts those judged relevant to a document"
        " with their text.", "queries"),
    Kind("shared_ids", "query with the id of a document", "warning",
        "A query has the id of a document, which mteb's tasks with `ignore_identical_ids` then never count as found for it.",
        "queries"),
    Kind("duplicate_pair", "repeated pair", "warning",
        "A pair of texts, in the same order, also occurs in an earlier row of its split, either exactly or, if the detail"
        " says so, only after folding.", "rows after the first; after folding, distinct pairs", exact_or_folded=True),
    Kind("swapped_pair", "pair repeated in reverse order", "warning",
        "A pair occurs in reverse order in an earlier row of its split or, if the detail says so, in an earlier split"
        " (pair classification, STS and, within a split, training data)."),
    Kind("duplicate_text", "repeated text", "warning",
        "A text also occurs in an earlier row of its split, either exactly or, if the detail says so, only after folding (of rows"
        f" with labels or of several splits, {MEANINGFUL}; info if texts recur by design: the queries and candidates of"
        " reranking, and the sides of pairs, where one finding counts the rows with a side of an earlier row).",
        "rows after the first; after folding, distinct texts", exact_or_folded=True),
    Kind("empty_text", "empty text", "warning",
        "A text is empty or only white space, NUL and characters that show nothing (U+2800, format characters), also that of a"
        " document with a title."),
    Kind("mojibake", "text decoded as another encoding", "warning",
        "A text contains UTF-8 that was read as Windows-1252, Latin-1 or Windows-1251: `Ã©` for `é`, `РїСЂРё` for `при`."),
    Kind("encoding_residue", "traces of a wrong decoding", "warning",
        "A text contains the traces of a wrong decoding: U+FFFD, a control character (C0, except tab and line ends, or C1),"
        " U+2028 or U+2029, an escape (`_x000D_`, `\\u0435`, `\\xd0`, or `\\n` outside programs), question marks for letters"
        f" (`пр?вет`; also before or in words, in {SHARES['lost letters']:.0%} of the texts), Russian in one encoding read"
        " as another (KOI8-R, Windows-1251, cp866, UTF-8), or UTF-8 or Latin-1 read as Mac OS Roman, cp437, Windows-1250 or"
        " Windows-1251; escapes of mails and addresses (`=D0=BF`, `%D0%BF`, `a+b+c`); or it"
        " is a printed value (`b'...'`, `['a', 'b']`)."),
    Kind("html_residue", "HTML tags or character references", "warning",
        "A text contains a tag of HTML or of MediaWiki (`<ref>`) with a name in lower or in upper case (`<link>` only with an"
        " attribute; those of several letters also after a space, `< br >`), an HTML comment, or a character reference, the usual"
        " ones (`&nbsp`) also without their semicolon."),
    Kind("preprocessing_residue", "traces of preprocessing", "warning",
        "A text contains a bracket as a treebank writes it (`-LRB-`), a link that lost letters of its scheme (`tts://`), a token"
        " of a language model (`<unk>`, `[CLS]`, `<|im_start|>`), words that a tokenizer (`▁`, `##ing`, `@@`) or the end of a"
        " line divided, or ligatures of a typesetter (`ﬁ`): it is not what was written."),
    Kind("invisible_character", "invisible characters", "warning",
        "A text contains a character that a reader does not see and a tokenizer does: a soft hyphen, a zero-width space or"
        " joiner, a byte order mark, a mark of writing direction; those of emoji and those that Arabic, Hebrew and Indic"
        " scripts need are not counted."),
    Kind("lookalike_word", "word of Latin and Cyrillic letters", "warning",
        "A word mixes Latin and Cyrillic letters that look alike (`сaхар` with a Latin `a`), in its middle or at its start: a"
        " model does not know it."),
    Kind("wrong_language", "text in another language", "warning",
        f"A text of {MIN_LETTERS} letters or more is in none of the languages of its dataset (in bitext, not in that of its"
        " side), as two of three detectors say (of a text in Russian letters alone all three; of a longer text for most of its"
        f" parts); of tables with more than {LARGE_TABLE:,} rows, a fixed sample of {SAMPLE:,} rows is checked (`check"
        " --audit-language all`: all rows).",
        f"texts of the checked rows with {MIN_LETTERS} letters or more; the count says of how many"),
    Kind("wrong_script", "text in another script", "warning",
        "A text has letters, but none of them is of the script of a language of its dataset (`rus-Cyrl`: Cyrillic)."),
    Kind("label_by_length", "length that predicts the label", "warning",
        "The length of a text, or the difference in length of a pair, predicts the label: of two rows, one with a label and one"
        " without (in reranking, of two candidates of a query), the length guesses which one has it in at least"
        f" {MIN_STRENGTH:.0%} of the cases and {STANDARD_ERRORS} standard errors above chance, for a label that at least"
        f" {MIN_LABEL_ROWS} rows have and {MIN_LABEL_ROWS} lack, or for {MIN_LABEL_ROWS} queries; in STS, the rank"
        f" correlation with the score is at least {2 * MIN_STRENGTH - 1:.1f} (info for labels and clusters of single texts,"
        " because kinds of texts differ in length).",
        "labels of single texts; else pairs, or queries with candidates of both kinds"),
    Kind("cut_text", "texts cut at one length", "warning",
        f"At least {SHARES['greatest length']:.0%} of the texts of a column, and {MIN_RECURRING}, have exactly its greatest"
        f" length in characters, bytes or words, {MIN_SPIKE} times as many as have each length in the {1 - SPIKE_WINDOW:.0%}"
        " below it, and at least half of them do not end a sentence; or no text has a comma, and some do not end a sentence.",
        "texts of the greatest length; texts that do not end a sentence"),
    Kind("boilerplate", "text that recurs in many texts", "warning",
        f"A text recurs in different texts of a column of {MIN_TEXTS} or more, in {MIN_RECURRING} of them: a line, or a clause"
        f" between `.,;:!?`, of {BOILERPLATE_WORDS} words or more in {SHARES['clause']:.0%}; any {BOILERPLATE_WORDS} words in a"
        f" row in {SHARES['words']:.0%}; the form of texts that differ in their numbers alone, in"
        f" {SHARES['numbered form']:.1%}, or in one word beside {BOILERPLATE_WORDS} others, in"
        f" {SHARES['clause']:.0%}; three characters or more at the start or at the end of {SHARES['start or end']:.0%} (info,"
        f" because all texts change alike); text and a colon at the start of {SHARES['clause']:.0%}, a number and a full stop in"
        f" {SHARES['number first']:.0%} (info); or, as info, {SHARES['title']:.0%} of documents have the same title.",
        "texts that have it"),
    Kind("csv_residue", "traces of a table read wrongly", "warning",
        "A text contains what a reader of CSV should have removed: doubled quotation marks beside a word, or several"
        " records with their separators and line breaks; or it ends in a field without a value (`nan`) or contains a separator"
        " (`|||`); or it has one quotation mark, at its start or end, as"
        f" {SHARES['unpaired quotation mark']:.0%} of the texts do; or it is the header of a column, or one of the labels, as"
        f" more than {SHARES['labels as texts']:.1%} of the texts are, where the median text has 20 characters or more; or, as"
        f" info, it is between quotation marks, as {SHARES['quotation marks']:.1%} of the texts are."),
    Kind("missing_label", "label or score that seems to mean none", "warning",
        f"A label or score that at most {SHARES['missing']:.0%} of the rows have is the only negative number beside three others"
        f" or more; or a score is as far from all others as {SHARES['gap of four']:.0%} of their range, if they are four or more"
        f" (else {SHARES['gap of two']} times their range); or the name of a label is `-`, `?` or `N/A`: it seems"
        " to mean that there is none."),
    Kind("negative_is_positive", "negative that is also a positive", "warning",
        "A negative of training data equals a positive of its row, exactly or, if the detail says so, only after folding: a"
        " model is asked to move a text away from itself."),
    Kind("positive_is_query", "positive that is the query", "warning",
        "A positive of training data equals its query, exactly or, if the detail says so, only after folding: there is"
        " nothing to learn from the pair."),
    Kind("duplicate_negative", "negative repeated in its row", "warning",
        "A row of training data has the same negative twice, exactly or, if the detail says so, only after folding."),
    Kind("query_in_benchmark_test", "text of a benchmark's test data", "warning",
        "A query, or another text of training data, is also a text of a benchmark's test data, as the contamination index of"
        " the source says; the detail says which kinds of matches were looked up.", reported=True),
    Kind("contained_text", "text inside a longer text of an earlier split", "warning",
        f"A text of {MIN_CONTAINED_WORDS} words or more (in pair tasks a pair; one side may be equal) that is neither a"
        " `split_leak` nor a `near_leak` is inside a longer text of an earlier split, after folding: all its words in a row, or"
        f" at least {MIN_SHARED_PERCENT} % of its runs of {CONTAINED_RUN} words; or, as info, a query is inside a document of its"
        " split.", "distinct texts of the later split; queries"),
    Kind("qrels_at_chance", "relevant documents that fit no better than others", "warning",
        f"Queries share a rare word (one that at most {MAX_RARE_PERCENT} % of the relevant documents have; case and punctuation"
        " do not count) with their relevant documents about as often as with those of other queries: not more than twice as"
        f" often, nor by {STANDARD_ERRORS} standard errors (sign test), of at least {MIN_BLOCK} judgements (of"
        f" {2 * MAX_PAIRS:,} or more, a fixed part), as if they had been judged for other queries.",
        "judgements above zero that were compared"),
    Kind("pairs_at_chance", "pairs that fit no better than texts of different rows", "warning",
        "The two texts of pairs fit no better than those of different rows, as in `qrels_at_chance`; in bitext, their lengths"
        f" do not either (of {MIN_SORTED} pairs or more where one side alone is in alphabetical order).",
        "pairs that were compared"),
    Kind("shifted_pairs", "pairs shifted by a row", "warning",
        "The first text of pairs (in retrieval, the query of judgements above zero) fits the second text of the row before or"
        f" after better than its own, by {MIN_SHIFT_LEAD} standard errors: more of them share a rare word, as in"
        " `qrels_at_chance`, or, in bitext, fit in length; in the whole split, in one of up to 10 parts of at least"
        f" {MIN_BLOCK // 2} pairs, or in as many in a row by {MIN_RUN_LEAD} standard errors.",
        "pairs of these parts, or of the run that fits best, as a share of those that were compared"),
    Kind("swapped_texts", "pairs with their sides exchanged", "warning",
        f"{SWAPPED:.0%} of the pairs of texts (of judgements above zero, queries and documents), and 10, have on one side what"
        f" {USUAL_SIDE:.0%} of the other side's texts have and {1 - USUAL_SIDE:.0%} of its own at most, and lack it on the other:"
        " a question mark or an end of a sentence at the end, a capital letter first, Latin or Cyrillic letters"
        f" ({SWAPPED_LEAD} times as many as by chance).", "pairs that were compared"),
    Kind("frequent_positive", "document relevant for many queries", "warning",
        f"A document is relevant for at least {FREQUENT_POSITIVE:.0%} of the queries of its split, and for {MIN_FREQUENT} or"
        " more, ten times as many as if all documents were relevant for equally many.", "judgements above zero"),
    Kind("metadata_differs", "metadata of mteb that differ from the dataset", "warning",
        "What mteb's metadata say of a task (revision, repository, licence, rows of a split) is not what its dataset is, as"
        " `check mteb:NAME` compares them (info for rows, if mteb's code changes them).", "rows, or the whole dataset",
        reported=True),
    Kind("rule", "violated rule", "warning",
        "A value violates a rule of `checks.yaml` (docs/checking.md), with whose name the detail begins (error or info if it"
        " says so).", reported=True),
    Kind("missing_value_text", "text that says that there is none", "warning",
        "A text only says that something is missing: `N/A`, `None`, `-`, `#REF!`, `[deleted]`, `не указано`,"
        " `This comment was removed`."),
    Kind("label_leaking_column", "column that predicts the label", "info",
        "A column that is neither text nor label predicts a label: Cramér's V with bias correction is at"
        f" least {MIN_ASSOCIATION} and its chi-squared statistic three standard deviations above chance, for a label that at"
        f" least {MIN_LABEL_ROWS} rows have and {MIN_LABEL_ROWS} lack (more than {NUMBER_GROUPS} different numbers or scores"
        f" are divided into {NUMBER_GROUPS} groups of equal size; ids are compared without their numbers or, if nothing else"
        f" is left, by these); a warning from {STRONG} on, unless it holds ids or its name says that it holds the label again"
        " (`label_name`, `rating`).", "labels"),
    Kind("label_by_overlap", "shared words that predict the label", "info",
        "Shared words predict the label of a pair, or the relevant candidate of a query, as lengths do in `label_by_length`, but"
        f" in at least {MIN_OVERLAP_STRENGTH:.0%} of the cases (STS: {2 * MIN_OVERLAP_STRENGTH - 1:.1f}) if more shared words"
        " are the same or relevant, which is part of the task; measured is the share of all words of a pair that both texts"
        " have, or of the words of a query that a candidate has, after folding, and of more than"
        f" {MAX_COMPARED:,} candidates those of a fixed part of the queries (a warning if fewer shared words are the same or"
        " relevant: the scale or the labels may be inverted).", "pairs, or queries with candidates of both kinds"),
    Kind("label_by_token", "word or character that predicts the label", "info",
        "What a text is written with predicts its label, as lengths do in `label_by_length`: a character that is neither a letter"
        " nor a digit nor one of `?!()#@%&`, at the start, the end or anywhere; white space; a first word with such a character;"
        f" digits, capital, small or Latin letters; {BOILERPLATE_WORDS} words in a row; or a single word, if at least"
        f" {SHARES['word']:.0%} of the texts of a label have it and at most {SHARES['word elsewhere']:.0%} of the others, or the"
        f" reverse; for a label of less than {SHARES['told label']:.0%} of the rows this holds for everything else, and words"
        f" never count; {BOILERPLATE_WORDS} words in a row count too if {SHARES['phrase']:.0%} of the texts of a label have them,"
        f" and a fiftieth of that share of the others (warning if the guess is right in {STRONG:.0%} of the cases); or"
        f" {SHARES['named label']:.0%} of the texts begin or end with the name of their label, and {SHARES['word']:.0%} of those"
        " that do with any (warning).",
        "labels; texts that begin or end so"),
    Kind("label_by_position", "position that predicts the relevant candidate", "info",
        "The place of a candidate in the list of its query tells whether it is relevant, as lengths do in `label_by_length`, but"
        f" in at least {MIN_POSITION_STRENGTH:.0%} of the cases (a warning from {STRONG:.0%} on).",
        "queries with candidates of both kinds"),
    Kind("label_sorted", "rows sorted by label", "info",
        f"Rows with the same label follow each other: in a split of {MIN_ORDERED_ROWS} rows or more, the share of rows with"
        f" the label of the row before is at least {MIN_ORDER:.0%} of the way from its value in a random order to 1 (scores"
        f" are divided into {NUMBER_GROUPS} groups of equal size)."),
    Kind("label_imbalance", "label much rarer than others", "info",
        f"A label is more than {LABEL_IMBALANCE_FACTOR} times rarer than the most frequent label of its split.", "labels"),
    Kind("short_text", "text of a single character", "info",
        "A text is a single character, ignoring surrounding white space."),
    Kind("surrounding_whitespace", "white space around a text", "info",
        "A text begins or ends with white space, as a model receives it."),
    Kind("double_full_stop", "two full stops at the end", "info",
        "A text ends with two full stops, ignoring white space: `..`, not `...`."),
    Kind("repeated_sentence", "sentence repeated within a text", "info",
        f"A sentence with {MIN_SENTENCE} characters or more between its `.`, `!` and `?` occurs twice in a text (not looked"
        " for in the documents of retrieval); or a document begins with its title, as a heading, so that a model reads it"
        " twice."),
    Kind("personal_data", "personal data", "info",
        "A text contains what has the form of an e-mail address (also masked: `name [at] host`), a phone number (North American,"
        " Russian, or with a country code), a postal address (of the United States with its ZIP code, of Russia with street and"
        " house), an IP address, a handle (`@name`, outside programs), a passport number behind that word or a key of a program;"
        " or, with valid check digits, the number of a payment card or a bank account (IBAN), a Russian insurance number (SNILS)"
        " or tax number (INN; that of a company only behind that word).", quoted=False),
    Kind("prompt_residue", "part of a prompt", "info",
        "A later line or sentence of a text begins with a part of a prompt (`Human:`, `Assistant:`, `Instruction:` ...), and"
        " the text is not a transcript, which begins with one; or the text begins as language models do when they refuse or"
        " introduce an answer (`I'm sorry, but I cannot help`, `Sure! Here is`), or calls itself one; or it contains options to"
        " choose from (`A) wax B) honey C) pollen`) or an answer behind that word."),
    Kind("near_duplicate", "nearly the same text in an earlier row", "info",
        "A text (in pair tasks a pair) is a near-duplicate of an earlier one of its split, without being equal to it after"
        f" folding: {NEAR}; or, if the detail says so, it has the same words in another order; the detail counts those with"
        " another label or score than the text that they resemble.", "distinct texts"),
    Kind("side_leak", "one side of a pair also in an earlier split", "info",
        "One text of a pair, or both in different pairs, also occurs on either side of a pair of an earlier split, while the"
        " pair itself does not (pair classification and STS)."),
    Kind("length_outlier", "unusually long text", "info",
        f"A text is longer than {LENGTH_OUTLIER_FACTOR} times the median length of the non-empty texts of its split."),
    Kind("split_differs", "split unlike the first", "info",
        "A split differs from the first, which is train where there is one, in a measure that the detail names, by three standard"
        " errors of chance and, from 0 (as often more as less) to 1 (always), by"
        f" {DIFFERENCES['letters']} in capital, small, Latin or other letters and white space before punctuation,"
        f" {DIFFERENCES['punctuation']} in punctuation, {DIFFERENCES['decomposed letters']} in decomposed letters (NFD),"
        f" {DIFFERENCES['length']} in length, {DIFFERENCES['label']} in a label, {DIFFERENCES['scores']} in scores,"
        f" {DIFFERENCES['rounding']} in scores of no or one decimal, {DIFFERENCES['dates']} in dates, if it is older, and"
        f" {DIFFERENCES['ids']} in ids of other texts; of what holds or not, this is the difference in shares (warning from"
        f" {STRONG} on); or it has more than {SHORT_TRAIN} times as many rows as train.",
        "rows of the split"),
    Kind("binary_score", "only two scores, or mostly one", "info",
        f"The scores of a split of {MIN_LABEL_ROWS} rows or more are only two, or {SHARES['one score']:.0%} are one and the same,"
        " so that they order little: it is rather a pair classification.",
        "rows of the split; rows with the same score"),
    Kind("too_few_negatives", "fewer than 7 negatives", "info",
        f"A row of training data has fewer than {MIN_NEGATIVES} negatives, those of the column `mined` included."),
    Kind("number_text", "text that is only a number", "info", "A text is only a number: `1984`, `3,5`, `50 %`."),
    Kind("decomposed_letter", "letters in two characters", "info",
        "A text contains a letter and a combining mark that Unicode joins into one character (NFC): `й` or `é` in two characters,"
        " which other texts with the same words do not match."),
    Kind("junk_text", "text that is not language", "info",
        "A text is only links, an identifier or the name of a file, or the message of a server (`404 Not Found`); contains what"
        " web pages have around texts (`Read more`, `All rights reserved`), advertising, or words in mathematical letters; begins"
        " with a full stop and ends with a capital letter, as if turned round; is mostly symbols (five in a row, and letters and"
        " digits are fewer than a quarter of it); ends in a loop, a character, word or phrase four times in a row or more, which"
        " is half of it or more; or contains base64 or another long code."),
    Kind("absent_characters", "characters that no text has", "info",
        f"No text of a column of {MIN_TEXTS} texts and {MIN_CHARACTERS:,} characters (the median text has {MIN_SENTENCE}) has a"
        " comma, any punctuation, a capital letter or, where its frequent words are German, French, Spanish, Portuguese, Polish"
        " or Czech, an umlaut or another letter of these languages: a program may have removed them.", "texts"),
    Kind("spacing", "white space out of place", "info",
        "A text has white space where none belongs, or lacks it: all its commas and full stops are set apart (`word , word .`),"
        " two or three spaces follow a word of a sentence, none the end of one (`word.Word`), letters are apart (`w o r d`),"
        " words are run together (36 letters, 25 of Cyrillic, 30 with their marks, ten different) or joined by underscores, lines"
        " are broken inside sentences (three times), it has tabs, or no-break spaces alone; or, in"
        f" {SHARES['clause']:.0%} of the texts, words are divided (`di vided`, `di- vided`) that are whole in three others or"
        " more and there four times as frequent as one of the parts; the detail counts each."),
    Kind("markup_residue", "markup other than HTML, or code", "info",
        "A text contains markup of a wiki, of BBCode, Markdown or LaTeX, a heading in brackets (`[title]`), JSON, footnotes"
        " (`[12]`), brackets left empty, time codes, or lines of a program or a style sheet; the detail counts each."),
    Kind("placeholder", "placeholder", "info",
        "A text contains a placeholder: a variable (`{name}`, `{{ name }}`, `%s`), a name for what was left out (`<NAME>`,"
        " `[REDACTED]`, `[Your name]`), the name of an emoji (`:smile:`), or `lorem ipsum`; or it is only a word typed"
        " for one (`test`, `asdf`)."),
    Kind("split_disagrees", "labels that disagree with those of another split", "warning",
        "A model that learned from the first split is right on another one far less often than on the first itself, in folds, or"
        " labels look shifted by rows, permuted, inverted or of another scale, as the detail says; of pairs, scores are compared"
        " with the character trigrams that both sides have.", "rows that the model contradicts", learned=True),
    Kind("label_doubtful", "label that a model contradicts", "info",
        "A model that has not seen the row finds another label likelier, where it is sure of itself.", learned=True),
    Kind("order_tells_label", "order of the rows that predicts the label", "info",
        f"The remainders of the number of a row by 2 to {MAX_PERIOD} predict its label or score better than permuted ones.",
        "tables", learned=True),
    Kind("outlier_text", "text unlike all others", "info",
        f"The character trigrams of a text are rarer than usual by more than {FAR_DEVIATIONS} median absolute deviations, and no"
        " other text is like it.", learned=True),
    Kind("weak_group", "rows on which a model is much worse", "info",
        "In a group of rows (by a column with few values, by length or by script) a model that has not seen them is right less"
        f" often by {MIN_DISAGREEMENT * 100:.0f} points or more than elsewhere, for the same labels.", learned=True),
)
# fmt: on
KINDS: Mapping[str, Kind] = MappingProxyType(
    {kind.name: kind for kind in sorted(_KINDS, key=lambda kind: SEVERITIES.index(kind.severity))}
)


def find_kind(name: str) -> Kind:
    """A kind by its name; of a kind that only another version of this package knows, its name in words is the title."""
    return KINDS.get(name) or Kind(name, name.replace("_", " "), "info", "")


def kind_name(kind: str) -> str:
    """The title of a kind."""
    return find_kind(kind).title


MEANING = {
    "error": "Breaks a reader or silently distorts an evaluation. The release is not written; the build ends with exit code 4.",
    "warning": "Distorts scores or damages texts. A maintainer fixes it in a later version, or declares why it stays.",
    "info": "Common in good datasets; listed for information.",
}
HEADER = """\
# Findings

The problems that a build and `embedding-datasets check` look for in a dataset. `manifest.json` and the dataset card list every
finding: its kind, severity, location (config, split, column), count, share, and up to five rows as examples, with the rows
that make them findings; `--findings DIR` writes all of them ([checking.md](checking.md)). Errors,
`few_rows_of_label` and `label_without_training_rows` come from `pipelines/audit/integrity.py`, `query_in_benchmark_test` from
recipes (`pipelines/release/finding_files.py`), all others from `pipelines/audit/quality.py`. They check all rows of all splits,
unless a definition says otherwise. What is learned comes from `check --profile` alone and is in no manifest
([checking.md](checking.md#a-profile)): {learned}.

This page is generated from the definitions in the code, `cards.kinds.KINDS`:

```console
python -m cards.kinds > docs/findings.md
```
"""


BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
JUDGED_HEADER = """\
## How well they are found: true

Two readers, language models that saw neither the rules nor each other's verdicts, judged real texts one by one, from the
text and the definitions alone: of 183,000 texts from the raw files all hits, or a part where there are hundreds, and others
drawn by hash among those that could be mistaken. A hit is right if neither reader called it wrong; recall is that among the
judged texts. `tests/judgements` has the verdicts and where each text is, and `benchmarks/judged_hits.py` measures the rules
with them; intervals are of 95 %.

The rules were corrected after each of two draws, so the table is not a measurement on unseen texts. On the second draw,
before those corrections, all kinds had a precision of 0.97 or more except `csv_residue` (none of 81: doubled quotation marks
as a treebank writes them, a rule that was withdrawn), `html_residue` (17 of 20: pages of HTML that someone asked for),
`placeholder` (5 of 7: variables of programs) and `personal_data` (34 of 84: the film `21 Jump Street`). `spacing` has
texts of its own, 90 hits and 70 others: 81 were right before three patterns were narrowed (lists of words, links, columns);
it misses rows of VitaminC with a tokenised passage and a claim that is not. Kinds of single characters, such as
`invisible_character`, cannot be judged by reading, and those that compare texts are measured below.
"""
DAMAGE_HEADER = """\
## What is found of damage that others planted

Two writers (language models) who had seen neither the auditor nor its tests planted damage into real texts, each kind
alone: one from a list of defects, one from public reports (a link for each). Digests of both were kept before the auditor
was changed. A third read what `check` and its profile found, and said whether it names the damage: its kind, its column
and, within a fifth, its count. *At first* is what the auditor named when it saw the damage for the first time; *now* is
after it was improved with what it had missed, so only the first is a measurement. The 18 verdicts that changed last
are of the improver, not of a third reader. When that was done, the auditor met the damage of another such writer once, and has
not been improved with it: 46 of 59 (78 %, interval 66 to 87). One of their 60 needs a release with two language pairs, and was
not planted. `benchmarks/damage.py` builds the data from raw files and plants,
`benchmarks/damage_verdicts.tsv` has each verdict.
"""
MEASURED_HEADER = """\
## How well they are found: defined

`benchmarks/audit_quality.py` plants defects of all kinds but those of training data, audits the tables as `check` does, and
compares the rows that are reported with those that were planted. The cost is that of the whole audit, on one machine with two
cores; only its ratios mean something elsewhere. For near-duplicates and near-leaks, what was planted is what comparing all pairs
finds.
"""


def render_page() -> str:
    """The page in Markdown: a table of kinds for each severity, in the order of reports, then the measurements."""
    learned = ", ".join(f"`{name}`" for name, kind in KINDS.items() if kind.learned)
    sections = [HEADER.replace("{learned}", learned)]
    for severity in SEVERITIES:
        rows = [
            (f"`{name}`", _escape(kind.definition), _escape(kind.counted))
            for name, kind in KINDS.items()
            if kind.severity == severity
        ]
        table = markdown.table(dict.fromkeys(("kind", "what it means", "what is counted"), "---"), rows)
        sections.append("\n".join([f"## {severity}", "", MEANING[severity], "", *table]) + "\n")
    judged, planted = (BENCHMARKS.joinpath(name).read_text("utf-8") for name in ("judged_hits.md", "audit_quality.md"))
    return "\n".join([*sections, JUDGED_HEADER, judged, DAMAGE_HEADER, _tabulate_damage(), MEASURED_HEADER, planted])


def _tabulate_damage() -> str:
    """How many kinds of damage are named, and the names of those that are not."""
    lines = BENCHMARKS.joinpath("damage_verdicts.tsv").read_text("utf-8").splitlines()[1:]
    verdicts = [line.split("\t") for line in lines]  # writer, damage, dataset, at first, now, by
    columns = ("damage from", "kinds", "named at first", "named now", "of these by the profile alone")
    rows = []
    sources = {"described": "a list of defects", "reported": "public reports", "third": "other public reports"}
    for writer, source in sources.items():
        own = [verdict for verdict in verdicts if verdict[0] == writer and verdict[3] != "not planted"]
        counts = [len(own), *(sum(verdict[at] == "named" for verdict in own) for at in (3, 4))]
        rows.append((source, *counts, sum(verdict[5] == "profile" for verdict in own)))
    table = markdown.table(dict.fromkeys(columns, "---:") | {"damage from": "---"}, rows)
    missed = {word: ", ".join(verdict[1] for verdict in verdicts if verdict[4] == word) for word in ("part", "none")}
    table += ["", f"Named in part: {missed['part']}.", "", f"Not named: {missed['none']}."]
    return "\n".join(table) + "\n"


def _escape(text: str) -> str:
    return text.replace("|", r"\|")


if __name__ == "__main__":
    print(render_page(), end="")
