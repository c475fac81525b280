"""What the stages of a query job store."""

from enum import StrEnum

from pydantic import Field

from schemas.values.base import Value
from schemas.values.verdicts import Decision


class Intent(StrEnum):
    """What a question is after."""

    DEFINITION = "DEFINITION"
    MECHANISM = "MECHANISM"
    COMPARISON = "COMPARISON"
    APPLICATION = "APPLICATION"
    STUDY_DETAIL = "STUDY_DETAIL"
    CRITIQUE = "CRITIQUE"


class Origin(StrEnum):
    """Who made a text that a stage stored."""

    MODEL = "model"
    """A language model, asked by the stage."""
    PASTED = "pasted"
    """Somebody brought the reply of a model of their own."""
    EDITED = "edited"
    """A manual edit."""
    NONE = "none"
    """Nobody: the step was left out by the submission."""


class Expansion(Value):
    """Stage `expand`: other ways to ask the question. All empty when the submission left expansion out."""

    origin: Origin
    queries: tuple[str, ...] = Field(default=(), repr=False)
    """Search phrases (MQE), each with a vector and a full-text search of its own."""
    hyde_answer: str = Field(default="", repr=False)
    """A hypothetical answer (HyDE): it is embedded, and not used for full-text search."""
    intent: Intent | None = None
    entities: tuple[str, ...] = Field(default=(), repr=False)


class QueryText(StrEnum):
    """Which text of a query a vector or a search belongs to."""

    ORIGINAL = "original"
    MQE = "mqe"
    HYDE = "hyde"


class EmbeddedQuery(Value):
    """Stage `embed`: which texts were embedded. The vectors are stored beside it, one per text, in this order."""

    model: str
    model_digest: str
    dimension: int
    texts: tuple[QueryText, ...]
    """The original, then every MQE phrase, then HyDE where there is one."""


class Leg(StrEnum):
    """A way of searching."""

    DENSE = "dense"
    LEXICAL = "lexical"


class Hit(Value):
    """A chunk in one ranked list."""

    chunk_id: int
    score: float
    """Cosine for the dense leg; the scorer's own for the lexical leg. Higher is better."""


class RankedList(Value):
    """What one search found, best first; ties by chunk id."""

    leg: Leg
    text: QueryText
    hits: tuple[Hit, ...]


class FusedHit(Value):
    """A chunk after fusion."""

    chunk_id: int
    fused_score: float
    dense_rank: int | None
    """Its best rank, from 1, over the dense lists; None when none of them has it."""
    lexical_rank: int | None


class RetrievedChunks(Value):
    """Stage `retrieve`: every list as it was found, and the fused one, best first."""

    corpus_id: int
    fusion: str
    """The name of the fusion that ran."""
    lexical: str
    """The name of the full-text scorer that ran."""
    lists: tuple[RankedList, ...]
    fused: tuple[FusedHit, ...]


class RerankedChunk(Value):
    """A selected chunk with all of its scores, and the text that was ranked."""

    chunk_id: int
    work_id: int
    parent_id: int | None
    level: str
    heading_breadcrumbs: str | None = Field(repr=False)
    start_line: int
    end_line: int
    content: str = Field(repr=False)
    enriched_content: str = Field(repr=False)
    """The content with lines around it where it was short; what the ranker saw."""
    fused_score: float
    dense_rank: int | None
    lexical_rank: int | None
    rerank_score: float
    entity_boost: float
    intent_boost: float
    final_score: float
    """rerank_score + entity_boost + intent_boost."""


class RerankedChunks(Value):
    """Stage `rerank`: the chunks in the order in which they were selected, and the whole ranking before selection."""

    ranker: str
    """The name of the ranker that ran, and its model where it has one."""
    chunks: tuple[RerankedChunk, ...]
    ranking: tuple[int, ...]
    """Chunk ids of all candidates by final score, before diversity chose among them."""
    dropped: dict[str, int]
    """Candidates that a filter took: `min_chars`, `min_words`, `blank`. Filters that took none are absent."""
    work_hashes: dict[int, str]
    """SHA-256 of the stored markdown of every work involved, by work id."""


class ChunkVerdict(Value):
    """One asked chunk."""

    rank: int
    """Its place among the reranked chunks, from 1."""
    chunk_id: int
    decision: Decision


class ValidatedChunks(Value):
    """Stage `validate`: the chunks that stay, in order, and every verdict that was asked for."""

    validator: str | None
    """The model that judged, or None when validation is off and every chunk stays."""
    chunks: tuple[RerankedChunk, ...]
    verdicts: tuple[ChunkVerdict, ...]


class ContextGroup(Value):
    """Adjacent lines of one work."""

    chunk_ids: tuple[int, ...]
    parent_id: int | None
    work_id: int
    content: str = Field(repr=False)
    start_line: int
    end_line: int
    score: float
    heading_chain: tuple[str, ...] = Field(repr=False)


class ConsolidatedContext(Value):
    """Stage `consolidate`: the groups, best score first (or in the order of a manual edit)."""

    original_count: int
    consolidated_count: int
    """Groups before the short ones were dropped."""
    groups: tuple[ContextGroup, ...]


class Source(Value):
    """What a label of the prompt stands for."""

    label: str
    """`S1`, `S2`, ..."""
    work_id: int
    title: str = Field(repr=False)
    chunk_ids: tuple[int, ...]
    start_line: int
    end_line: int


class ContextSource(StrEnum):
    """Where the prompt's context came from."""

    CONSOLIDATED = "consolidated"
    RETRIEVED = "retrieved"
    """The chunks as they were retrieved: consolidation was left out, or found every passage too short."""
    EMPTY = "empty"
    """There was none, and the preset lets a prompt without context pass."""


class AugmentedPrompt(Value):
    """Stage `augment`: the prompt with its `[S#]` blocks."""

    prompt: str = Field(repr=False)
    template_version: int
    context_source: ContextSource
    available: int
    """Groups that could have been shown; the prompt shows the first `top_n`."""
    top_n: int
    sources: tuple[Source, ...]


class Answer(Value):
    """Stage `generate`: the answer, which is also a row in `results`."""

    origin: Origin
    model: str | None
    """None for a pasted answer."""
    prompt_hash: str
    text: str = Field(repr=False)
    cited: tuple[str, ...]
    """Labels that the answer cites and the prompt has, in order of first mention."""
    unknown: tuple[str, ...]
    """Labels that the answer cites and the prompt does not have."""
