"""The names in files and in the environment: those of ai-psychiatrist, misspelt ones, and what ragq does with each."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from schemas.settings.base import Given, Layer, misspelt_name, unknown_names, without_effect
from schemas.settings.run import RUN_SETTINGS
from schemas.suggestions import has_mistakes

_TRUE = ("true", "1", "yes", "on", "t", "y")
_FALSE = ("false", "0", "no", "off", "f", "n")


class Treatment(StrEnum):
    """What ragq does with a name."""

    #: It has its effect.
    HONOURED = "honoured"
    #: Refused, but for some of its values.
    REFUSED = "refused"
    #: It has no effect, and a warning names what to use instead.
    WARNED = "warned about"


class OriginalName(NamedTuple):
    """A name of the original's environment."""

    treatment: Treatment
    note: str
    """The effect, the reason of the refusal, or what to use instead: the end of a sentence, without a full stop."""
    accepted: tuple[str, ...] = ()
    """Of REFUSED: the values that are not refused, in small letters."""
    another_name_of: str | None = None

    @property
    def accepted_in_words(self) -> str:
        """The accepted values; the first two ways to write true or false are enough."""
        return " or ".join(self.accepted[:2])

    @property
    def in_words(self) -> str:
        """Its treatment, with the values that are not refused."""
        return f"{self.treatment}, except {self.accepted_in_words}" if self.accepted else self.treatment


#: The note of a name that is a setting of ragq.
SAME_NAME: Final = "the setting of this name"


def _same(*names: str) -> dict[str, OriginalName]:
    return {name: OriginalName(Treatment.HONOURED, SAME_NAME) for name in names}


def _warned(note: str, *names: str) -> dict[str, OriginalName]:
    return {name: OriginalName(Treatment.WARNED, note) for name in names}


_NO_FEEDBACK = "ragq has no qualitative assessment and no feedback loop; nothing replaces it"

ORIGINAL_NAMES: Final[dict[str, OriginalName]] = {
    **_warned(_NO_FEEDBACK, "MODEL_QUALITATIVE_MODEL", "MODEL_META_REVIEW_MODEL"),
    **_same("OLLAMA_HOST", "OLLAMA_PORT"),
    "OLLAMA_TIMEOUT_SECONDS": OriginalName(
        Treatment.HONOURED, "the setting of this name; if unset, the value of `PYDANTIC_AI_TIMEOUT_SECONDS`"
    ),
    "PYDANTIC_AI_ENABLED": OriginalName(
        Treatment.REFUSED, "replies are always checked, and asked for again when they cannot be used", _TRUE
    ),
    "PYDANTIC_AI_TIMEOUT_SECONDS": OriginalName(
        Treatment.HONOURED, "the setting of this name; if unset, the value of `OLLAMA_TIMEOUT_SECONDS`"
    ),
    "LLM_BACKEND": OriginalName(
        Treatment.REFUSED,
        "ragq asks a server for replies: serve the model with one that has OpenAI's API, and set LLM_BACKEND=openai "
        "and RAGQ_OPENAI_BASE_URL",
        ("ollama", "openai"),
    ),
    **_warned(
        "ragq chooses the device of the embedder itself; set CUDA_VISIBLE_DEVICES to choose one", "LLM_HF_DEVICE"
    ),
    **_warned(
        "ragq quantises no model: name a quantised model of the server, or one of the hub for the embedder",
        "LLM_HF_QUANTIZATION",
        "HF_QUANTIZATION_GROUP_SIZE",
    ),
    **_warned("set HF_HOME, which the library for models reads", "LLM_HF_CACHE_DIR"),
    **_warned("set HF_TOKEN, which the library for models reads", "LLM_HF_TOKEN"),
    **_warned("set OLLAMA_TIMEOUT_SECONDS", "HF_DEFAULT_CHAT_TIMEOUT"),
    **_warned("set EMBEDDING_QUERY_EMBED_TIMEOUT_SECONDS", "HF_DEFAULT_EMBED_TIMEOUT"),
    **_warned("the server limits the length of a reply; a reply that is cut off is an error", "HF_MAX_NEW_TOKENS"),
    "SEVERITY_INFERENCE_MODE": OriginalName(
        Treatment.HONOURED,
        "another name of `QUANTITATIVE_SEVERITY_INFERENCE_MODE`; both with different values are refused",
        another_name_of="QUANTITATIVE_SEVERITY_INFERENCE_MODE",
    ),
    "QUANTITATIVE_ENABLE_KEYWORD_BACKFILL": OriginalName(
        Treatment.REFUSED, "ragq has no keyword backfill, which the original removed", _FALSE
    ),
    **_warned("ragq has no keyword backfill, which the original removed", "QUANTITATIVE_KEYWORD_BACKFILL_CAP"),
    "BINARY_STRATEGY": OriginalName(Treatment.REFUSED, "the original defines no other strategy", ("threshold",)),
    **_warned(
        _NO_FEEDBACK,
        "FEEDBACK_ENABLED",
        "FEEDBACK_MAX_ITERATIONS",
        "FEEDBACK_SCORE_THRESHOLD",
        "FEEDBACK_TARGET_SCORE",
    ),
    "DATA_BASE_DIR": OriginalName(
        Treatment.HONOURED,
        "the folder of `ragq import participants` and `ragq index import` when they name none",
    ),
    "DATA_TRANSCRIPTS_DIR": OriginalName(
        Treatment.HONOURED, "the folder of transcripts of `ragq import participants` without `--transcripts`"
    ),
    "DATA_EMBEDDINGS_PATH": OriginalName(
        Treatment.HONOURED, "the file of `ragq index import` without FILE; the index has the name that runs search"
    ),
    **_warned(
        "`ragq import participants` reads the label files of its folder under their published names",
        "DATA_TRAIN_CSV",
        "DATA_DEV_CSV",
    ),
    **_same("LOG_LEVEL", "LOG_FORMAT"),
    **_warned("log lines have a time and the name of their event", "LOG_INCLUDE_TIMESTAMP", "LOG_INCLUDE_CALLER"),
    **_warned("set RAGQ_API_HOST", "API_HOST"),
    **_warned("set RAGQ_API_PORT", "API_PORT"),
    **_warned("set RAGQ_API_CORS_ORIGINS, names with commas between", "API_CORS_ORIGINS"),
    **_warned("`ragq api` is one process; start more of them on other values of RAGQ_API_PORT", "API_WORKERS"),
    **_warned("`ragq api` does not reload its code; start it again", "API_RELOAD"),
    **_warned("ragq scores imported participants, each under the id of its folder", "SERVER_AD_HOC_PARTICIPANT_ID"),
    "TESTING": OriginalName(Treatment.HONOURED, "if set, no `.env` file is read"),
}
"""Those that are not settings of a run by the same name and meaning, in the order of the original's groups."""


OWN_PREFIXES: Final = ("EMBEDDING_", "PSQ_", "QUANTITATIVE_", "RAGQ_")
"""Prefixes that only ragq uses. MODEL_*, OLLAMA_* and LLM_* may belong to other programs."""

_DISTINCT_LENGTH: Final = 15
"""Length from which a name is so distinct that two mistakes in it, also in its prefix, are recognised."""

_NEAR_NAMES: Final = tuple(
    name
    for name in (*RUN_SETTINGS, *ORIGINAL_NAMES)
    if not name.startswith(OWN_PREFIXES)
    and (name not in ORIGINAL_NAMES or ORIGINAL_NAMES[name].treatment is not Treatment.WARNED)
)


class CheckedNames(NamedTuple):
    """The layers as the settings are read from, and what their names led to."""

    layers: list[Layer]
    """Without values that are refused; another name of a setting is replaced by the setting's."""
    problems: list[str]
    warnings: list[str]


def check_names(layers: Sequence[Layer]) -> CheckedNames:
    """Check the names of the original in layers, lowest first: each has its effect, is refused, or is warned about."""
    given = {name: Given(text, layer) for layer in layers for name, text in layer.variables.items() if text}
    of_original = {name: given[name] for name in ORIGINAL_NAMES if name in given}
    refused = {
        name: found
        for name, found in of_original.items()
        if ORIGINAL_NAMES[name].treatment is Treatment.REFUSED
        and found.text.lower() not in ORIGINAL_NAMES[name].accepted
    }
    problems = [
        f"{name} is {found.text!r} ({found.layer.origin}); allowed is {original.accepted_in_words}: {original.note}."
        for name, found in refused.items()
        for original in (ORIGINAL_NAMES[name],)
    ]
    warnings = [
        without_effect(name, found.layer.origin, ORIGINAL_NAMES[name].note)
        for name, found in of_original.items()
        if ORIGINAL_NAMES[name].treatment is Treatment.WARNED
    ]
    return CheckedNames(
        [layer._replace(variables=_as_settings(layer.variables, refused)) for layer in layers],
        [*problems, *_disagreements(given)],
        warnings,
    )


def misspelt_names(layers: Sequence[Layer], *, known: Collection[str]) -> list[str]:
    """One problem for every name that no setting has and that is ragq's own, or near a name that ragq reads."""
    problems = []
    for layer in layers:
        problems += unknown_names(layer, prefixes=OWN_PREFIXES, known=known)
        problems += [
            misspelt_name(name, layer.origin, near)
            for name in layer.variables
            if (near := near_name(name, known)) is not None
        ]
    return problems


def near_name(name: str, known: Collection[str]) -> str | None:
    """The name of a setting that this one is a misspelling of, or None.

    Other programs use prefixes such as LOG_ and MODEL_ too, so only a single mistake after the same prefix counts, and
    two in a long name. A name that continues another, such as LOG_LEVEL_FILE, is a name of its own.

    >>> near_name("LLM_BACKND", ()), near_name("LLM_API_KEY", ()), near_name("LOG_LEVEL_FILE", ())
    ('LLM_BACKEND', None, None)
    """
    if name in known or name.startswith(OWN_PREFIXES):
        return None
    for other in _NEAR_NAMES:
        has_its_prefix = name.partition("_")[0] == other.partition("_")[0]
        mistakes = 2 if len(other) >= _DISTINCT_LENGTH else int(has_its_prefix)
        if not name.startswith(other) and has_mistakes(name, other, at_most=mistakes):
            return other
    return None


def _disagreements(given: Mapping[str, Given]) -> Iterator[str]:
    for name, original in ORIGINAL_NAMES.items():
        setting = original.another_name_of
        here, there = given.get(name), given.get(setting or "")
        if here is not None and there is not None and here.text != there.text:
            yield (
                f"{name}={here.text} ({here.layer.origin}) and {setting}={there.text} ({there.layer.origin}) are two "
                f"names of one setting; remove {name}."
            )


def _as_settings(variables: Mapping[str, str], refused: Collection[str]) -> dict[str, str]:
    kept = {name: text for name, text in variables.items() if name not in refused}
    for name, original in ORIGINAL_NAMES.items():
        if original.another_name_of is not None and kept.get(name):
            kept.setdefault(original.another_name_of, kept[name])
    return kept
