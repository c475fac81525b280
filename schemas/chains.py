"""The chains, written once: what a job of each kind and mode runs, in order.

Each stage is one Celery task on the queue of its name, whatever the chain: stages of one name have one group of
workers. A stage that could ask a language model, and does not in this job, is on a queue of its own, `NAME.local`,
which the workers of models take: it waits for nobody's reply.
"""

from collections.abc import Collection
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

from schemas.errors import Refused
from schemas.suggestions import did_you_mean

if TYPE_CHECKING:
    from schemas.values.base import Value

Group = Literal["model", "llm"]
"""Which workers take a stage: those that hold models in the process, or those that wait for a language model."""


INDEXING: Final = frozenset({"index", "work"})
"""Kinds of jobs that make something searchable."""


def _names(*parts: frozenset[str] | str) -> frozenset[str]:
    """Those of sets, and of texts with spaces between."""
    return frozenset(name for part in parts for name in (part.split() if isinstance(part, str) else part))


class Stage(NamedTuple):
    """One step of a chain."""

    name: str
    group: Group
    stores: str
    """The value that is its output, by its module and name; no other stage of the chain stores the same."""
    asks_llm: bool = False
    """It asks a language model, unless the settings or the inputs of the run make that unnecessary."""
    reads: frozenset[str] = frozenset()
    """The settings that can change what it computes, and values of presets; it reads no others."""

    @property
    def output(self) -> "type[Value]":
        """What it stores. Its module is imported when it is asked for: who only needs names does without pydantic."""
        module, _, name = self.stores.partition(".")
        found: type[Value] = getattr(import_module(f"schemas.values.{module}"), name)
        return found

    def reading(self, *settings: frozenset[str] | str) -> "Stage":
        """The same, which reads these settings: sets of names, and names with spaces between."""
        return self._replace(reads=_names(*settings))


_EMBEDDER: Final = _names("EMBEDDING_BACKEND MODEL_EMBEDDING_MODEL")
_EMBEDDING: Final = _names(_EMBEDDER, "EMBEDDING_QUERY_EMBED_TIMEOUT_SECONDS")
_TEXT_EMBEDDING: Final = _names(_EMBEDDING, "EMBEDDING_DIMENSION")
_CHAT: Final = _names("LLM_BACKEND OLLAMA_TIMEOUT_SECONDS")
_REPLIES: Final = _names(_CHAT, "RAGQ_REPLY_RETRIES")
_VERDICTS: Final = _names(_REPLIES, "MODEL_JUDGE_MODEL RAGQ_VALIDATION_MAX_CHARS RAGQ_VERDICT_MAX_TOKENS")
_HEADINGS: Final = _names(_REPLIES, "MODEL_QUANTITATIVE_MODEL RAGQ_DOCUMENT_MODEL")
_QUERY_CHAT: Final = _names(
    _CHAT,
    "MODEL_QUANTITATIVE_MODEL RAGQ_QUERY_LIGHT_MODEL RAGQ_QUERY_MAX_TOKENS RAGQ_QUERY_MODEL RAGQ_QUERY_TEMPERATURE",
)


_FEW_SHOT: Final = (
    Stage("extract", "llm", "participants.ExtractedEvidence", asks_llm=True).reading(
        _REPLIES | _EMBEDDING,
        "MODEL_QUANTITATIVE_MODEL MODEL_TEMPERATURE RAGQ_LONG_TEXTS QUANTITATIVE_EVIDENCE_EXTRACTOR "
        "QUANTITATIVE_SIMILARITY_THRESHOLD QUANTITATIVE_SIMILARITY_MAX_QUOTES "
        "QUANTITATIVE_EVIDENCE_QUOTE_VALIDATION_ENABLED QUANTITATIVE_EVIDENCE_QUOTE_VALIDATION_MODE "
        "QUANTITATIVE_EVIDENCE_QUOTE_FUZZY_THRESHOLD QUANTITATIVE_EVIDENCE_QUOTE_FAIL_ON_ALL_REJECTED "
        "QUANTITATIVE_EVIDENCE_QUOTE_LOG_REJECTIONS",
    ),
    Stage("embed", "model", "participants.EmbeddedEvidence").reading(
        _TEXT_EMBEDDING, "EMBEDDING_MIN_EVIDENCE_CHARS EMBEDDING_ENABLE_BATCH_QUERY_EMBEDDING RAGQ_LONG_TEXTS"
    ),
    Stage("retrieve", "model", "participants.RetrievedReferences").reading(
        "EMBEDDING_ENABLE_ITEM_TAG_FILTER EMBEDDING_REFERENCE_SCORE_SOURCE RAGQ_RETRIEVE_CANDIDATES"
    ),
    Stage("rerank", "model", "participants.RankedReferences").reading(
        "EMBEDDING_CHUNK_SIZE EMBEDDING_CHUNK_STEP EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM "
        "EMBEDDING_MIN_REFERENCE_SIMILARITY RAGQ_RERANKER RAGQ_RERANKER_MODEL RAGQ_RERANKER_TIMEOUT_SECONDS "
        "EMBEDDING_TOP_K_REFERENCES RAGQ_DEDUPLICATE_REFERENCES",
    ),
    Stage("validate", "llm", "participants.ValidatedReferences", asks_llm=True).reading(
        _VERDICTS,
        "EMBEDDING_ENABLE_REFERENCE_VALIDATION EMBEDDING_ENABLE_RETRIEVAL_AUDIT EMBEDDING_VALIDATION_MODEL "
        "EMBEDDING_VALIDATION_MAX_REFS_PER_ITEM RAGQ_REFERENCE_VALIDATOR RAGQ_REFERENCE_SIMILARITY",
    ),
    Stage("assemble", "model", "participants.AssembledPrompt").reading(
        "RAGQ_SCORE_INPUT RAGQ_PROMPT_FORMAT RAGQ_SCORER RAGQ_CONTEXT_TOKENS QUANTITATIVE_SEVERITY_INFERENCE_MODE "
        "MODEL_QUANTITATIVE_MODEL LLM_BACKEND",
    ),
    Stage("score", "llm", "scoring.ParticipantScores", asks_llm=True).reading(
        _CHAT,
        "MODEL_QUANTITATIVE_MODEL MODEL_TEMPERATURE PYDANTIC_AI_TIMEOUT_SECONDS PYDANTIC_AI_RETRIES "
        "QUANTITATIVE_SEVERITY_INFERENCE_MODE QUANTITATIVE_TRACK_NA_REASONS RAGQ_SCORE_INPUT RAGQ_SCORE_SCHEMA "
        "RAGQ_SCORE_TEXT_CHARS RAGQ_TOKEN_SIGNALS CONSISTENCY_ENABLED CONSISTENCY_N_SAMPLES CONSISTENCY_TEMPERATURE "
        "RAGQ_SCORER RAGQ_NEIGHBOURS",
    ),
)

CHAINS: Final[dict[tuple[str, str], tuple[Stage, ...]]] = {
    ("participant", "few_shot"): _FEW_SHOT,
    ("participant", "zero_shot"): tuple(stage for stage in _FEW_SHOT if stage.name in ("extract", "assemble", "score")),
    ("query", "answer"): (
        # Whether it asks is found at submission, and stored in the inputs of the job.
        Stage("expand", "llm", "queries.Expansion", asks_llm=True).reading(_QUERY_CHAT, "expansion.n RAGQ_EXPANDER"),
        Stage("embed", "model", "queries.EmbeddedQuery").reading(_TEXT_EMBEDDING),
        Stage("retrieve", "model", "queries.RetrievedChunks").reading(
            "retrieval.dense_limit retrieval.lexical_limit retrieval.lexical retrieval.bm25_k1 retrieval.bm25_b "
            "retrieval.fusion retrieval.rrf_k retrieval.dense_weight retrieval.top_k_rrf",
        ),
        Stage("rerank", "model", "queries.RerankedChunks").reading(
            "retrieval.lexical_limit retrieval.lexical retrieval.bm25_k1 retrieval.bm25_b retrieval.min_char_count "
            "retrieval.min_word_count retrieval.min_content_length "
            "retrieval.enrich_lines_above retrieval.enrich_lines_below retrieval.entity_boost retrieval.mmr_lambda "
            "retrieval.top_n_final retrieval.reranker_batch_size retrieval.reranker_max_length reranking.ranker "
            "reranking.model reranking.without_weights validation.allow_empty RAGQ_RERANKER_TIMEOUT_SECONDS",
        ),
        Stage("validate", "llm", "queries.ValidatedChunks", asks_llm=True).reading(
            _VERDICTS | _EMBEDDING,
            "validation.enabled validation.model validation.max_chunks validation.allow_empty RAGQ_RELEVANCE_FLOOR",
        ),
        Stage("consolidate", "model", "queries.ConsolidatedContext").reading(
            "consolidation.coverage_threshold consolidation.line_gap "
            "consolidation.min_content_length consolidation.enrich_from_md",
        ),
        Stage("augment", "model", "queries.AugmentedPrompt").reading(
            "RAGQ_ANSWER_TEMPLATE RAGQ_ANSWERER RAGQ_CONTEXT_TOKENS RAGQ_QUERY_MAX_TOKENS LLM_BACKEND "
            "MODEL_QUANTITATIVE_MODEL RAGQ_QUERY_LIGHT_MODEL RAGQ_QUERY_MODEL augmentation.top_n_contexts "
            "augmentation.max_answer_tokens",
        ),
        Stage("generate", "llm", "queries.Answer", asks_llm=True).reading(
            _QUERY_CHAT, _EMBEDDING, "augmentation.max_answer_tokens RAGQ_ANSWERER"
        ),
    ),
    ("tags", "candidates"): (
        Stage("embed", "model", "tags.EmbeddedPhrases").reading(
            "PSQ_CONTEXT_TAG_WEIGHT EMBEDDING_QUERY_EMBED_TIMEOUT_SECONDS"
        ),
        Stage("retrieve", "model", "tags.RetrievedTags").reading(
            "PSQ_RETRIEVAL_PER_PHRASE_K PSQ_MIN_TAG_COUNT PSQ_SKIP_FASTTEXT_FOR_EXACT_ALIAS"
        ),
        Stage("rerank", "model", "tags.RankedTags").reading(
            "PSQ_CONTEXT_WEIGHT PSQ_RETRIEVAL_PER_PHRASE_FINAL_K PSQ_RETRIEVAL_GLOBAL_K"
        ),
        Stage("validate", "llm", "tags.ValidatedTags").reading("PSQ_MIN_TAG_COUNT PSQ_RETRIEVAL_GLOBAL_K"),
    ),
    ("index", "references"): (
        Stage("chunk", "model", "participants.ChunkedTranscript").reading(
            "EMBEDDING_CHUNK_SIZE EMBEDDING_CHUNK_STEP EMBEDDING_MIN_EVIDENCE_CHARS"
        ),
        # By similarity, and only of an index for RAGQ_SCORER=neighbours.
        Stage("extract", "llm", "participants.ExtractedEvidence").reading(
            _EMBEDDING, "QUANTITATIVE_SIMILARITY_THRESHOLD QUANTITATIVE_SIMILARITY_MAX_QUOTES RAGQ_LONG_TEXTS"
        ),
        Stage("embed", "model", "participants.EmbeddedEvidence").reading(
            _TEXT_EMBEDDING, "RAGQ_LONG_TEXTS EMBEDDING_MIN_EVIDENCE_CHARS"
        ),
        Stage("publish", "model", "documents.PublishedBatch"),
    ),
    ("index", "chunk_scores"): (
        Stage("score", "llm", "scoring.ChunkScores", asks_llm=True).reading(_REPLIES, "RAGQ_CHUNK_SCORE_MAX_TOKENS"),
        Stage("publish", "model", "documents.PublishedBatch"),
    ),
    ("index", "corpus"): (
        Stage("embed", "model", "documents.EmbeddedBatch").reading(_EMBEDDING),
        Stage("publish", "model", "documents.PublishedBatch").reading("RAGQ_HNSW_FROM_CHUNKS"),
    ),
    ("work", "document"): (
        Stage("convert", "model", "documents.ConvertedDocument"),
        Stage("outline", "model", "documents.DocumentOutline"),
        Stage("repair", "llm", "documents.RepairedTitles", asks_llm=True).reading(_HEADINGS, "RAGQ_REPAIR_BY"),
        Stage("sanitise", "model", "documents.SanitisedDocument"),
        Stage("select", "llm", "documents.SelectedSections", asks_llm=True).reading(_HEADINGS, "RAGQ_SELECT_BY"),
        Stage("cut", "model", "documents.CutDocument"),
        Stage("embed", "model", "documents.EmbeddedBatch").reading(_EMBEDDING),
        Stage("publish", "model", "documents.PublishedBatch").reading("RAGQ_HNSW_FROM_CHUNKS"),
    ),
    ("evaluation", "answers"): (
        Stage("split", "model", "evaluations.SplitAnswer"),
        Stage("judge", "llm", "evaluations.JudgedAnswer", asks_llm=True).reading(_VERDICTS),
        Stage("consolidate", "model", "evaluations.AnswerScores"),
    ),
    ("index", "tags"): (
        Stage("embed", "model", "tags.BuiltVocabulary").reading("EMBEDDING_QUERY_EMBED_TIMEOUT_SECONDS"),
    ),
}

READ_AT_SUBMISSION: Final[dict[str, frozenset[str]]] = {
    "participant": _names(
        _EMBEDDER,
        "EMBEDDING_EMBEDDINGS_FILE EMBEDDING_DIMENSION EMBEDDING_CHUNK_SIZE EMBEDDING_CHUNK_STEP "
        "EMBEDDING_MIN_EVIDENCE_CHARS EMBEDDING_ENABLE_ITEM_TAG_FILTER EMBEDDING_REFERENCE_SCORE_SOURCE "
        "EMBEDDING_ALLOW_CHUNK_SCORES_PROMPT_HASH_MISMATCH RAGQ_SCORER ENABLE_FEW_SHOT",
    ),
    "query": _names(_EMBEDDER, "EMBEDDING_DIMENSION"),
    "tags": _names("PSQ_SIMILARITY"),
    "work": _names(_EMBEDDER, "EMBEDDING_DIMENSION"),
    "evaluation": frozenset(),
}
"""Kind of job -> settings by which a submission chooses its modes and checks its index, corpus or vocabulary."""

_GROUP_OF: Final[dict[str, Group]] = {stage.name: stage.group for chain in CHAINS.values() for stage in chain}

STAGES: Final = tuple(_GROUP_OF)
"""Every name of a stage, once."""


def stages_of(kind: str, mode: str, *, until: str | None = None) -> tuple[str, ...]:
    """The stages of a job, in order; with `until`, those up to it. Raises Refused when the job has no such stage."""
    stages = tuple(stage.name for stage in CHAINS[kind, mode])
    if until is None:
        return stages
    if until not in stages:
        suggestion = did_you_mean(until, stages)
        raise Refused(
            f"A {kind} job in mode {mode} has no stage '{until}'.{suggestion} Its stages: {', '.join(stages)}."
        )
    return stages[: stages.index(until) + 1]


_LOCAL: Final = {stage: f"{stage}.local" for stage in STAGES if _GROUP_OF[stage] == "llm"}

QUEUES: Final = (*STAGES, *_LOCAL.values())
"""Every queue of the broker."""


def queues_of_group(group: Group) -> tuple[str, ...]:
    """The queues that a group of workers takes."""
    own = tuple(stage for stage in STAGES if _GROUP_OF[stage] == group)
    return (*own, *_LOCAL.values()) if group == "model" else own


def queues_named(names: Collection[str]) -> tuple[str, ...]:
    """The queues of stages, groups and queues. Raises Refused for another name.

    >>> queues_named(["embed", "expand"])
    ('embed', 'expand', 'expand.local')
    """
    found: dict[str, None] = {}
    for name in names:
        if name in get_args(Group):
            found |= dict.fromkeys(queues_of_group(name))  # type: ignore[arg-type]  # it is one of them
        elif name in QUEUES:
            found |= dict.fromkeys(queue for queue in (name, _LOCAL.get(name)) if queue is not None)
        else:
            known = (*STAGES, *get_args(Group))
            raise Refused(f"There is no stage '{name}'.{did_you_mean(name, known)} Stages: {', '.join(known)}.")
    return tuple(found)


def queue_of(stage: str, *, asks_model: bool) -> str:
    """The queue of a stage that asks a language model in its job, or does not."""
    return stage if asks_model else _LOCAL.get(stage, stage)


@cache
def asking_chains(stage: str) -> tuple[str, ...]:
    """The chains, as `kind/mode`, in which a stage of this name may ask a language model."""
    return tuple(
        f"{kind}/{mode}"
        for (kind, mode), chain in CHAINS.items()
        if any(listed.asks_llm for listed in chain if listed.name == stage)
    )


def stage_that_stores(kind: str, mode: str, output: "type[Value]") -> str:
    """The stage of a chain that stores this type of output."""
    return {stage.output: stage.name for stage in CHAINS[kind, mode]}[output]


def output_of(kind: str, mode: str, stage: str) -> "type[Value] | None":
    """What a stage of a chain stores; None for a chain or a stage that is not listed here, or no longer."""
    chain = CHAINS.get((kind, mode), ())
    return next((listed.output for listed in chain if listed.name == stage), None)


def in_order(kind: str, stages: Collection[str]) -> list[str]:
    """Stages of a kind of job, whatever the modes they were met in, as the chain has them that has them all."""
    chains = (stages_of(*chain) for chain in CHAINS if chain[0] == kind)
    whole = min((chain for chain in chains if set(stages) <= set(chain)), key=len)
    return [stage for stage in whole if stage in stages]


def settings_read(kind: str, stage: str) -> frozenset[str]:
    """The settings that a stage of a kind of job reads, whatever the mode."""
    chains = (chain for (of, _), chain in CHAINS.items() if of == kind)
    return frozenset().union(*(listed.reads for chain in chains for listed in chain if listed.name == stage))


def readers_of(kind: str, mode: str, setting: str) -> list[str]:
    """The stages of a chain that read a setting, in order."""
    return [stage.name for stage in CHAINS[kind, mode] if setting in stage.reads]
