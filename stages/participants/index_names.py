"""The name of a reference index.

The name of an index that ragq builds ends with its training split, and with the variant of its transcripts unless they
are raw: `huggingface_qwen3_8b_paper_train_participant_only`.
"""

import re
from collections.abc import Iterable
from pathlib import PurePath

from schemas.values.participants import TranscriptVariant
from stages.participants.splits import TRAINING_SPLITS

_SPLITS = {split.replace("-", "_"): split for split in TRAINING_SPLITS}
_VARIANTS = [variant.value for variant in TranscriptVariant if variant is not TranscriptVariant.UNKNOWN]


def _words(words: Iterable[str]) -> re.Pattern[str]:
    """A pattern of these words in a name, between its separators, with `-` for `_` too."""
    either = "|".join(word.replace("_", "[_-]") for word in words)
    return re.compile(rf"(?<![a-z0-9])(?:{either})(?![a-z0-9])", re.IGNORECASE)


_SPLIT, _VARIANT = _words(_SPLITS), _words(_VARIANTS)
_AT_END = rf"(?=(?:[_-](?:{'|'.join(_VARIANTS)}))?$)"


def index_name(embeddings_file: str) -> str:
    """The name of the index in EMBEDDING_EMBEDDINGS_FILE: its last part, without `.npz`.

    >>> index_name("/data/embeddings/paper_train.npz"), index_name("paper_train")
    ('paper_train', 'paper_train')
    """
    return PurePath(embeddings_file).name.removesuffix(".npz")


def named_parts(name: str, own: str | None = None) -> tuple[str | None, TranscriptVariant | None, str]:
    """The training split and the transcript variant in a name, None where it names none, and the name without them. A
    published split is known wherever it stands, and `own`, a split of a user's, at the end, before a variant.

    >>> named_parts("qwen3_8b_paper_train_participant_only")
    ('paper-train', <TranscriptVariant.PARTICIPANT_ONLY: 'participant_only'>, 'qwen3_8b')
    >>> named_parts("qwen3_8b_clinic_a", "clinic-a")
    ('clinic-a', None, 'qwen3_8b')
    """
    pattern = _split_words(own)
    split, variant = pattern.search(name), _VARIANT.search(name)
    rest = re.sub(r"[_-]{2,}", "_", _VARIANT.sub("", pattern.sub("", name))).strip("_-")
    named = None if split is None else _SPLITS.get(_slug(split[0]), own)
    return named, None if variant is None else TranscriptVariant(_slug(variant[0])), rest


def built_name(name: str, split: str, variant: TranscriptVariant) -> str:
    """The name of an index of a training split and a variant: what `name` says of another split is replaced. A split,
    or a variant other than raw, that the name lacks is appended.

    >>> built_name("qwen3_8b_paper_train", "avec-train", TranscriptVariant.RAW)
    'qwen3_8b_avec_train'
    >>> built_name("short_windows", "paper-train", TranscriptVariant.PARTICIPANT_ONLY)
    'short_windows_paper_train_participant_only'
    >>> built_name("qwen3_8b_paper_train", "clinic-a", TranscriptVariant.RAW)
    'qwen3_8b_clinic_a'
    """
    (named, named_variant, _), slug = named_parts(name, split), _slug(split)
    built = f"{name}_{slug}" if named is None else name if named == split else _SPLIT.sub(slug, name)
    is_named = variant in (TranscriptVariant.RAW, TranscriptVariant.UNKNOWN, named_variant)
    return built if is_named else f"{built}_{variant}"


def answers_to(index: str, asked: str, split: str | None = None) -> bool:
    """Whether a run that asks for a name may search an index, of `split`: it has the parts asked for, or more.

    >>> answers_to("short_windows_paper_train", "short_windows", "paper-train")
    True
    >>> answers_to("x_avec_train", "x_paper_train", "avec-train"), answers_to("x_clinic_a", "x", "clinic-a")
    (False, True)
    """
    has_split, has_variant, has_rest = named_parts(index, split)
    asked_split, asked_variant, rest = named_parts(asked, split)
    return rest == has_rest and asked_split in (None, has_split) and asked_variant in (None, has_variant)


def _split_words(own: str | None) -> re.Pattern[str]:
    if own is None or own in TRAINING_SPLITS:
        return _SPLIT
    mine = _slug(own).replace("_", "[_-]")
    return re.compile(rf"{_SPLIT.pattern}|(?<![a-z0-9]){mine}{_AT_END}", re.IGNORECASE)


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
