"""The names in files and in the environment: those of ai-psychiatrist, misspelt ones, and what ragq does with each."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from schemas.settings.base import Layer, unknown_name, without_effect
from schemas.settings.run import RUN_SETTINGS

LIMITED: Final = {
    "PYDANTIC_AI_ENABLED": (
        ("true", "1", "yes", "on", "t", "y"),
        "replies are always checked, and asked for again when they cannot be used",
    ),
    "LLM_BACKEND": (
        ("ollama", "openai"),
        "ragq asks a server for replies: serve the model with one that has OpenAI's API, and set LLM_BACKEND=openai "
        "and RAGQ_OPENAI_BASE_URL",
    ),
    "QUANTITATIVE_ENABLE_KEYWORD_BACKFILL": (
        ("false", "0", "no", "off", "f", "n"),
        "ragq has no keyword backfill, which the original removed",
    ),
    "BINARY_STRATEGY": (("threshold",), "the original defines no other strategy"),
}
"""Names of the original of which ragq has some values: these, in small letters, and why the others are refused: the end
of a sentence, without a full stop."""

ALIASES: Final = {"SEVERITY_INFERENCE_MODE": "QUANTITATIVE_SEVERITY_INFERENCE_MODE"}
"""Other names of settings; both with different values are refused."""

OF_COMMANDS: Final = {
    "DATA_BASE_DIR": "the folder of `ragq import participants` and `ragq index import` when they name none",
    "DATA_TRANSCRIPTS_DIR": "the folder of transcripts of `ragq import participants` without `--transcripts`",
    "DATA_EMBEDDINGS_PATH": "the file of `ragq index import` without FILE; the index has the name that runs search",
    "TESTING": "if set, no `.env` file is read",
}
"""Names of the original that commands read, with their effect."""

_NO_FEEDBACK = "ragq has no qualitative assessment and no feedback loop; nothing replaces it"
_NO_QUANTISATION = "ragq quantises no model: name a quantised model of the server, or one of the hub for the embedder"
_PUBLISHED_NAMES = "`ragq import participants` reads the label files of its folder under their published names"
_LOGGED = "log lines have a time and the name of their event"

WITHOUT_EFFECT: Final = {
    "MODEL_QUALITATIVE_MODEL": _NO_FEEDBACK,
    "MODEL_META_REVIEW_MODEL": _NO_FEEDBACK,
    "LLM_HF_DEVICE": "ragq chooses the device of the embedder itself; set CUDA_VISIBLE_DEVICES to choose one",
    "LLM_HF_QUANTIZATION": _NO_QUANTISATION,
    "HF_QUANTIZATION_GROUP_SIZE": _NO_QUANTISATION,
    "LLM_HF_CACHE_DIR": "set HF_HOME, which the library for models reads",
    "LLM_HF_TOKEN": "set HF_TOKEN, which the library for models reads",
    "HF_DEFAULT_CHAT_TIMEOUT": "set OLLAMA_TIMEOUT_SECONDS",
    "HF_DEFAULT_EMBED_TIMEOUT": "set EMBEDDING_QUERY_EMBED_TIMEOUT_SECONDS",
    "HF_MAX_NEW_TOKENS": "the server limits the length of a reply; a reply that is cut off is an error",
    "QUANTITATIVE_KEYWORD_BACKFILL_CAP": "ragq has no keyword backfill, which the original removed",
    "FEEDBACK_ENABLED": _NO_FEEDBACK,
    "FEEDBACK_MAX_ITERATIONS": _NO_FEEDBACK,
    "FEEDBACK_SCORE_THRESHOLD": _NO_FEEDBACK,
    "FEEDBACK_TARGET_SCORE": _NO_FEEDBACK,
    "DATA_TRAIN_CSV": _PUBLISHED_NAMES,
    "DATA_DEV_CSV": _PUBLISHED_NAMES,
    "LOG_INCLUDE_TIMESTAMP": _LOGGED,
    "LOG_INCLUDE_CALLER": _LOGGED,
    "API_HOST": "set RAGQ_API_HOST",
    "API_PORT": "set RAGQ_API_PORT",
    "API_CORS_ORIGINS": "set RAGQ_API_CORS_ORIGINS, names with commas between",
    "API_WORKERS": "`ragq api` is one process; start more of them on other values of RAGQ_API_PORT",
    "API_RELOAD": "`ragq api` does not reload its code; start it again",
    "SERVER_AD_HOC_PARTICIPANT_ID": "ragq scores imported participants, each under the id of its folder",
}
"""Names of the original that are warned about, with what to use instead: the end of a sentence, without a full stop."""

ORIGINAL_NAMES: Final = frozenset({*LIMITED, *ALIASES, *OF_COMMANDS, *WITHOUT_EFFECT})
"""Names of the original's environment that are no settings, or have fewer values."""

OWN_PREFIXES: Final = ("EMBEDDING_", "PSQ_", "QUANTITATIVE_", "RAGQ_")
"""Prefixes that only ragq uses. MODEL_*, OLLAMA_* and LLM_* may belong to other programs."""

_DISTINCT_LENGTH: Final = 15
"""Length from which a name is so distinct that two mistakes in it, also in its prefix, are recognised."""

_OF_PROCESS: Final = ("OLLAMA_HOST", "OLLAMA_PORT", "LOG_LEVEL", "LOG_FORMAT")
"""Settings of a process under names that other programs have too."""

_NEAR_NAMES: Final = tuple(
    name
    for name in (*RUN_SETTINGS, *LIMITED, *ALIASES, *OF_COMMANDS, *_OF_PROCESS)
    if not name.startswith(OWN_PREFIXES)
)


def check_names(layers: Sequence[Layer]) -> tuple[list[Layer], list[str], list[str]]:
    """Check the names of the original in layers, lowest first: each has its effect, is refused, or is warned about. The
    layers without values that are refused, and with the names of settings in place of other names; the problems; and
    the warnings."""
    given = {name: (text, layer.origin) for layer in layers for name, text in layer.variables.items() if text}
    refused = {}
    for name in sorted(LIMITED.keys() & given.keys()):
        (accepted, note), (text, origin) = LIMITED[name], given[name]
        if text.lower() not in accepted:
            # The first two ways to write true or false are enough.
            allowed = " or ".join(accepted[:2])
            refused[name] = f"{name} is {text!r} ({origin}); allowed is {allowed}: {note}."
    warnings = [
        without_effect(name, origin, WITHOUT_EFFECT[name])
        for name, (_, origin) in given.items()
        if name in WITHOUT_EFFECT
    ]
    settings = [layer._replace(variables=_as_settings(layer.variables, refused)) for layer in layers]
    return settings, [*refused.values(), *_disagreements(given)], warnings


def misspelt_names(
    layers: Sequence[Layer], *, prefixes: tuple[str, ...] = OWN_PREFIXES, known: Collection[str], of: Collection[str]
) -> list[str]:
    """One problem for every unknown name that has one of these prefixes, or that is near one of the names `of`."""
    problems = []
    for layer in layers:
        unknown = [name for name in layer.variables if name not in known]
        problems += [unknown_name(name, layer.origin, known) for name in unknown if name.startswith(prefixes)]
        problems += [
            f"{name} ({layer.origin}) is not a setting; did you mean {meant}?"
            for name in unknown
            if (meant := near_name(name)) in of
        ]
    return problems


def near_name(name: str) -> str | None:
    """The name without a prefix of ragq's own that this one is a misspelling of, or None. Other programs use prefixes
    such as LOG_ and MODEL_ too, so only a single mistake after the same prefix counts, and two in a long name. A name
    that continues another, such as LOG_LEVEL_FILE, is a name of its own.

    >>> near_name("LLM_BACKND"), near_name("LLM_API_KEY"), near_name("LOG_LEVEL_FILE")
    ('LLM_BACKEND', None, None)
    """
    from rapidfuzz.distance import OSA

    for other in _NEAR_NAMES:
        has_its_prefix = name.partition("_")[0] == other.partition("_")[0]
        mistakes = 2 if len(other) >= _DISTINCT_LENGTH else int(has_its_prefix)
        is_near = OSA.distance(name, other, score_cutoff=mistakes) <= mistakes
        if is_near and not name.startswith((other, *OWN_PREFIXES)):
            return other
    return None


def _disagreements(given: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    for name, setting in ALIASES.items():
        (here, origin), (there, other) = given.get(name, ("", "")), given.get(setting, ("", ""))
        if here and there and here != there:
            both = f"{name}={here} ({origin}) and {setting}={there} ({other})"
            yield f"{both} are two names of one setting; remove {name}."


def _as_settings(variables: Mapping[str, str], refused: Collection[str]) -> dict[str, str]:
    kept = {name: text for name, text in variables.items() if name not in refused}
    return {setting: kept[name] for name, setting in ALIASES.items() if kept.get(name)} | kept
