"""Profiles: named sets of values, the choice of one, and what a user of one changed."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from schemas.settings.base import Layer, SettingSource, value_in_words
from schemas.settings.preset import is_preset_name
from schemas.settings.run import RUN_SETTINGS, run_settings

DEMO_MODEL = "smollm2:135m"
"""The language model that is installed with ragq; too small for meaningful results."""
_QUANTISED_GEMMA = "gemma3:27b-it-qat"
_RECOMMENDED_MODEL = "the recommended weights, quantised during training"
_SMALL_MODEL = "llama3.2:3b"
_ON_A_SMALL_SERVER = "2 GB, and runs without a GPU; set the name of another that the server has"
_ON_ANY_MACHINE = "the model that is installed with ragq"
_NO_MODEL = "asks no language model"


class Profile(NamedTuple):
    """A named set of values to start from."""

    about: str
    differences: Mapping[str, tuple[str, str]]
    """By the environment name of a setting its value, and why that is not the one of `paper`, the default."""

    @property
    def values(self) -> dict[str, str]:
        """The texts of its values by environment name."""
        return {name: value for name, (value, _) in self.differences.items()}


_LEAST_ERROR = "the least error of neighbours on paper-train of the demo data, each participant left out in turn"

_PACKAGED_EMBEDDER = {
    "EMBEDDING_CHUNK_STEP": ("8", "chunks do not overlap: a quarter as many to embed"),
    "EMBEDDING_DIMENSION": ("384", "the dimension of the installed embedder"),
    "EMBEDDING_EMBEDDINGS_FILE": ("huggingface_all_minilm_l6_v2_paper_train", "the index of the installed embedder"),
    "MODEL_EMBEDDING_MODEL": ("all-minilm-l6-v2", _ON_ANY_MACHINE),
    "QUANTITATIVE_SIMILARITY_MAX_QUOTES": ("2", "keeps the prompts short"),
    "QUANTITATIVE_SIMILARITY_THRESHOLD": ("0.68", "finds evidence on more items of the demo data"),
    "RAGQ_LONG_TEXTS": ("truncate", "the installed embedder reads 256 tokens; reports count what it cuts"),
}

PROFILES: dict[str, Profile] = {
    "paper": Profile(
        "The default values of the published code. Prompts are ragq's own wording, as in every profile.",
        {},
    ),
    "paper-parity": Profile(
        "Profile `paper` with the paper's form of the block of references, and nothing else of its notebook. Runs that "
        "add what the notebook did not have say that parity is left.",
        {
            "RAGQ_PROMPT_FORMAT": (
                "notebook",
                "the notebook closed the block of references with its opening tag, and wrote `No valid evidence found` "
                "into an empty one; the published code later closed it with a closing tag",
            ),
        },
    ),
    "validated": Profile(
        "The values that the authors recommend after their ablations, and nothing else. They belong to transcripts of "
        "the variant `participant_only`.",
        {
            "EMBEDDING_EMBEDDINGS_FILE": (
                "huggingface_qwen3_8b_paper_train_participant_only",
                "the index of transcripts without the interviewer's lines",
            ),
            "EMBEDDING_MIN_REFERENCE_SIMILARITY": ("0.3", "drops references that are not similar (Spec 33)"),
            "EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM": ("500", "limits the references in the prompt (Spec 33)"),
            "EMBEDDING_ENABLE_ITEM_TAG_FILTER": ("true", "searches only chunks about the item (Spec 34)"),
            "EMBEDDING_REFERENCE_SCORE_SOURCE": (
                "chunk",
                "a reference shows its own score instead of its participant's (Spec 35)",
            ),
            "EMBEDDING_ENABLE_RETRIEVAL_AUDIT": ("true", "logs every reference that is kept (Spec 32)"),
            "CONSISTENCY_ENABLED": ("true", "gives confidences by agreement of samples (Spec 050)"),
            "MODEL_QUANTITATIVE_MODEL": (_QUANTISED_GEMMA, _RECOMMENDED_MODEL),
            "MODEL_JUDGE_MODEL": (_QUANTISED_GEMMA, _RECOMMENDED_MODEL),
        },
    ),
    "local": Profile(
        "Every stage by a method that asks no language model: baselines, on any machine.",
        _PACKAGED_EMBEDDER
        | {
            "EMBEDDING_ENABLE_REFERENCE_VALIDATION": ("true", "keeps references that are near the evidence"),
            "QUANTITATIVE_EVIDENCE_EXTRACTOR": ("similarity", _NO_MODEL),
            "QUANTITATIVE_SIMILARITY_MAX_QUOTES": ("4", _LEAST_ERROR),
            "QUANTITATIVE_SIMILARITY_THRESHOLD": ("0.6", _LEAST_ERROR),
            "RAGQ_ANSWERER": ("extractive", _NO_MODEL),
            "RAGQ_EXPANDER": ("none", _NO_MODEL),
            "RAGQ_REFERENCE_VALIDATOR": ("similarity", _NO_MODEL),
            "RAGQ_RELEVANCE_FLOOR": ("0.4", "refuses questions that the corpus does not answer"),
            "RAGQ_SCORER": ("neighbours", _NO_MODEL),
        },
    ),
    "server": Profile(
        "The embedder that is installed with ragq, and a small language model of your server.",
        _PACKAGED_EMBEDDER
        | {
            "MODEL_JUDGE_MODEL": (_SMALL_MODEL, _ON_A_SMALL_SERVER),
            "MODEL_QUANTITATIVE_MODEL": (_SMALL_MODEL, _ON_A_SMALL_SERVER),
            "QUANTITATIVE_EVIDENCE_EXTRACTOR": ("similarity", "a small model extracts few quotes"),
            "RAGQ_ANSWER_TEMPLATE": ("short_answer", "a small model loses itself in a longer prompt"),
            "RAGQ_QUERY_MAX_TOKENS": ("1000", "ends the answer of a model that repeats itself"),
            "RAGQ_SCORE_INPUT": ("evidence", "a small model loses itself in a transcript"),
            "RAGQ_SCORE_SCHEMA": ("true", "a small model writes other forms than the one it is asked for"),
        },
    ),
    "demo": Profile(
        "Small models that are installed with ragq; its results are not meaningful.",
        _PACKAGED_EMBEDDER
        | {
            "EMBEDDING_TOP_K_REFERENCES": ("3", "leaves the judge references to reject"),
            "EMBEDDING_ENABLE_REFERENCE_VALIDATION": ("true", "shows the judge at work"),
            "EMBEDDING_VALIDATION_MAX_REFS_PER_ITEM": ("1", "asks the judge about fewer references"),
            "MODEL_JUDGE_MODEL": (DEMO_MODEL, _ON_ANY_MACHINE),
            "MODEL_QUANTITATIVE_MODEL": (DEMO_MODEL, _ON_ANY_MACHINE),
            "QUANTITATIVE_EVIDENCE_EXTRACTOR": ("similarity", "the installed model extracts no quotes"),
            "RAGQ_ANSWER_TEMPLATE": ("short_answer", "the installed model continues a longer prompt"),
            "RAGQ_QUERY_MAX_TOKENS": ("400", "ends the answers of the installed model, which repeats itself"),
            "RAGQ_QUERY_TEMPERATURE": ("0", "the same answer every time"),
            "RAGQ_SCORE_INPUT": ("evidence", "the installed model loses itself in a transcript"),
            "RAGQ_SCORE_SCHEMA": ("true", "the installed model writes no JSON unless it is made to"),
            "RAGQ_SCORE_TEXT_CHARS": ("80", "the passage that a reply repeats before each score"),
        },
    ),
}


def choose_profile(asked: str | None, layers: Sequence[Layer]) -> tuple[str, str]:
    """The requested profile, else RAGQ_PROFILE, else the one for the language model server that the layers name; and
    why, in words for the user. The chosen name may be unknown. Empty texts in the layers, lowest first, are unset."""
    if asked is not None:
        return asked, "option --profile"
    for layer in reversed(layers):
        if named := layer.variables.get("RAGQ_PROFILE"):
            return named, f"RAGQ_PROFILE in the {layer.origin}"
    for server in ("OLLAMA_HOST", "RAGQ_OPENAI_BASE_URL"):
        if any(layer.variables.get(server) for layer in layers):
            return "server", f"{server} is set"
    return "local", "neither OLLAMA_HOST nor RAGQ_OPENAI_BASE_URL is set: no language model is asked"


OF_THE_USER: Final = frozenset(SettingSource) - {SettingSource.DEFAULT, SettingSource.PROFILE}


Changed = Mapping[str, Mapping[str, Any]]
"""Values that the user chose instead of the profile's, by name, as a snapshot has them: `value`, its `source`, and the
value of the profile in this version of ragq, `profile`; None for a value of a preset, or a profile that is gone."""


#: Changes that a line names; it counts the others.
_NAMED: Final = 3


def changed_in_words(changed: Changed, *, profile: str, run: str) -> str:
    """How many settings differ, the first of them, and where the others are listed."""
    named = [f"{name}={value_in_words(change['value'])}" for name, change in list(changed.items())[:_NAMED]]
    more = f" and {len(changed) - _NAMED} more; `ragq show {run}` lists them" if len(changed) > _NAMED else ""
    differ = "1 setting differs" if len(changed) == 1 else f"{len(changed)} settings differ"
    return f"{differ} from profile {profile}: {', '.join(named)}{more}"


_SERVERS: Final = ("model", "llm", "ollama", "ragq")
_GROUPS_OF_KIND: Final[dict[str, tuple[str, ...]]] = {
    "participant": ("embedding", "quantitative", "consistency", "pydantic_ai", "evaluation", *_SERVERS),
    "query": ("embedding", *_SERVERS),
    "index": ("embedding", *_SERVERS),
    "tags": ("psq",),
    "evaluation": _SERVERS,
    "work": ("embedding", *_SERVERS),
}
"""The groups of settings that have a part in a kind of job."""


def changed_settings(profile: str, snapshot: Mapping[str, Mapping[str, Any]], *, kind: str | None = None) -> Changed:
    """The values of a snapshot that a file, the environment or an option changed, by name, in the order of settings;
    with `kind`, those that have a part in such jobs: of its groups of settings, and of its preset."""
    given = {name: stored for name, stored in snapshot.items() if stored["source"] in OF_THE_USER}
    # What a profile says instead takes every group of settings.
    instead = _values(profile) if given else {}
    # JSON in Postgres keeps no order of names.
    groups = {setting.place[0] for setting in RUN_SETTINGS.values()} if kind is None else _GROUPS_OF_KIND[kind]
    in_order = [name for name, setting in RUN_SETTINGS.items() if name in given and setting.place[0] in groups]
    return {
        name: {**given[name], "profile": instead.get(name)}
        for name in [*in_order, *filter(is_preset_name, given)]
        if given[name]["value"] != instead.get(name)
    }


@cache
def _values(profile: str) -> Mapping[str, Any]:
    if profile not in PROFILES:
        return {}
    run, _ = run_settings(Layer(profile, PROFILES[profile].values))
    assert run is not None
    return run.values()
