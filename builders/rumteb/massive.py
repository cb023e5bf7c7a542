"""MASSIVE: what people say to a voice assistant, in 52 languages; here in Russian (FitzGerald et al., 2023)."""

import polars as pl

from builders.raw_files import GitHub, https, member
from builders.reading.json import read_json_lines
from builders.shaping.cleaning import clean_rows
from builders.shaping.labels import label_numbers
from builders.spec import RawFiles, Source, Tables, Version, dataset
from builders.tasks import Classification

ARCHIVE = https(
    "https://amazon-massive-nlu-dataset.s3.amazonaws.com/amazon-massive-dataset-1.1.tar.gz",
    sha256="4cba5faa11c71437928e17cb1b9b3d8b8e727e7ea363a3a9a8045e19c0491577",
)
COPY = GitHub("timworks/massive-raw", "488aac094e94af5ba7c85b9a01237b64727b669d", "1.1/data/ru-RU.jsonl", lfs=True)
SPLITS = {"train": "train", "dev": "validation", "test": "test"}  # by the name of the source's partition
INTENTS = (
    "alarm_query", "alarm_remove", "alarm_set", "audio_volume_down", "audio_volume_mute", "audio_volume_other",
    "audio_volume_up", "calendar_query", "calendar_remove", "calendar_set", "cooking_query", "cooking_recipe",
    "datetime_convert", "datetime_query", "email_addcontact", "email_query", "email_querycontact", "email_sendemail",
    "general_greet", "general_joke", "general_quirky", "iot_cleaning", "iot_coffee", "iot_hue_lightchange",
    "iot_hue_lightdim", "iot_hue_lightoff", "iot_hue_lighton", "iot_hue_lightup", "iot_wemo_off", "iot_wemo_on",
    "lists_createoradd", "lists_query", "lists_remove", "music_dislikeness", "music_likeness", "music_query",
    "music_settings", "news_query", "play_audiobook", "play_game", "play_music", "play_podcasts", "play_radio",
    "qa_currency", "qa_definition", "qa_factoid", "qa_maths", "qa_stock", "recommendation_events",
    "recommendation_locations", "recommendation_movies", "social_post", "social_query", "takeaway_order",
    "takeaway_query", "transport_query", "transport_taxi", "transport_ticket", "transport_traffic", "weather_query",
)  # fmt: skip
SCENARIOS = (
    "alarm", "audio", "calendar", "cooking", "datetime", "email", "general", "iot", "lists", "music", "news", "play", "qa",
    "recommendation", "social", "takeaway", "transport", "weather",
)  # fmt: skip
CLEAN = (
    "Every text once: drops rows whose text has different {label}, rows that duplicate an earlier row of their split, and rows"
    " whose text is also in a later split, ignoring case, punctuation and white space."
)

SOURCE = Source(
    name="massive",
    title="MASSIVE 1.1, utterances for voice assistants",
    license="cc-by-4.0",
    homepage="https://github.com/alexa/massive",
    citation=("fitzgerald2023massive", "bastianelli2020slurp"),
    annotations=("expert-generated",),
    files={
        "russian": member(
            ARCHIVE,
            "1.1/data/ru-RU.jsonl",
            sha256="af7367861ea21c1d69a084b290145815f7eaf82dcdc43b7ab572b993f9b2a69d",
            bytes=13_029_758,
            copies=(COPY,),
        ),
    },
)


@dataset(
    "massive-intent-classification",
    pretty_name="MASSIVE intent classification (Russian)",
    task_ids=("intent-classification",),
    benchmark="rumteb",
    task=Classification(labels=INTENTS),
    needs=("russian",),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper, as in MTEB: the source unchanged.",
        "2.0.0": Version(CLEAN.format(label="intents"), {"clean": True}),
    },
)
def intent(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Which of 60 intents does an utterance to a voice assistant have?

    The Russian utterances in the source's order; its partition `dev` is the split `validation`. `clean` drops texts that are
    empty, a single character or damaged by a wrong decoding, have different labels, repeat an earlier one of their split, or are
    also in a later split, ignoring case, punctuation and white space (builders.shaping.cleaning.clean_rows). Columns: id (String:
    the source's id); text (String: the source's utt); label (Int64: the intent's rank among all intents in alphabetical order,
    from 0); label_text (String: the intent's name); lang (String: ru).
    """
    return _classification(raw, "intent", INTENTS, clean=clean)


@dataset(
    "massive-scenario-classification",
    pretty_name="MASSIVE scenario classification (Russian)",
    benchmark="rumteb",
    task=Classification(labels=SCENARIOS),
    needs=("russian",),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper, as in MTEB: the source unchanged.",
        "2.0.0": Version(CLEAN.format(label="scenarios"), {"clean": True}),
    },
)
def scenario(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Which of 18 scenarios does an utterance to a voice assistant belong to?

    The Russian utterances in the source's order; its partition `dev` is the split `validation`. `clean` drops texts that are
    empty, a single character or damaged by a wrong decoding, have different labels, repeat an earlier one of their split, or are
    also in a later split, ignoring case, punctuation and white space (builders.shaping.cleaning.clean_rows). Columns: id (String:
    the source's id); text (String: the source's utt); label (Int64: the scenario's rank among all scenarios in alphabetical
    order, from 0); label_text (String: the scenario's name); lang (String: ru).
    """
    return _classification(raw, "scenario", SCENARIOS, clean=clean)


def _classification(raw: RawFiles, kind: str, names: tuple[str, ...], *, clean: bool) -> Tables:
    """The splits, labelled by `kind`: intent or scenario. Raises SourceError for an unknown partition or label."""
    file = raw["russian"]
    rows = read_json_lines(file, dict.fromkeys(("id", "partition", "utt", kind), pl.String))
    rows = rows.select(
        "id",
        label_numbers(rows["partition"], tuple(SPLITS), file).alias("split"),
        label_numbers(rows[kind], names, file).alias("label"),
        text="utt",
        label_text=kind,
        lang=pl.lit("ru"),  # mteb's multilingual tasks select their rows by this column
    )
    frames = {
        split: rows.filter(pl.col("split") == number).select("id", "text", "label", "label_text", "lang")
        for number, split in enumerate(SPLITS.values())
    }
    if not clean:
        return Tables({"default": {split: frames[split] for split in raw.splits}})
    frames, dropped = clean_rows(frames, raw.splits)
    return Tables({"default": frames}, dropped)
