"""The outputs of the stages of a query job."""

from enum import StrEnum

from pydantic import Field

from schemas.statuses import JobStatus
from schemas.values.base import Embedded, Value
from schemas.values.chat import FromReplies
from schemas.values.documents import WorkFilter, WorkLines
from schemas.values.participants import Verdict
from schemas.values.runs import ReportedRun


class Intent(StrEnum):
    """The intent of a query."""

    DEFINITION = "DEFINITION"
    MECHANISM = "MECHANISM"
    COMPARISON = "COMPARISON"
    APPLICATION = "APPLICATION"
    STUDY_DETAIL = "STUDY_DETAIL"
    CRITIQUE = "CRITIQUE"


class Origin(StrEnum):
    """The origin of a text that a stage stored."""

    MODEL = "model"
    """A language model, called by the stage."""
    PASTED = "pasted"
    """The reply of an external model, pasted by a user."""
    EXTRACTIVE = "extractive"
    """Sentences of the sources, quoted; no language model wrote it."""
    EDITED = "edited"
    """A manual edit."""
    NONE = "none"
    """None: the submission skipped the step."""


class Expansion(Value):
    """Stage `expand`: other wordings of the query. All empty if the submission skipped expansion."""

    origin: Origin
    queries: tuple[str, ...] = Field(default=(), repr=False, serialization_alias="expanded_queries")
    """Search phrases (MQE), each with its own vector and full-text search."""
    hyde_answer: str = Field(default="", repr=False)
    """A hypothetical answer (HyDE): it is embedded, and not used for full-text search."""
    intent: str | None = None
    """One of `Intent`, or any other text, which has no effect on the ranking."""
    entities: tuple[str, ...] = Field(default=(), repr=False)


class QueryText(StrEnum):
    """The text of a query that a vector or a search belongs to."""

    ORIGINAL = "original"
    MQE = "mqe"
    HYDE = "hyde"


class EmbeddedQuery(Embedded):
    """Stage `embed` of a question."""

    texts: tuple[QueryText, ...]
    """The original, then every MQE phrase, then HyDE if there is one."""


class Leg(StrEnum):
    """A kind of search."""

    DENSE = "dense"
    LEXICAL = "lexical"


Hit = tuple[int, float]
"""The id of a chunk in a ranked list, and its score; higher is better."""


class RankedList(Value):
    """The hits of one search, best first; ties by chunk id."""

    leg: Leg
    text: QueryText
    hits: tuple[Hit, ...]
    """With cosines in the dense leg, and the scores of the scorer in the lexical one."""


class RetrievedChunks(Value):
    """Stage `retrieve`: every list of hits, and the fused one, best first."""

    fusion: str
    """The name of the fusion that ran."""
    lexical: str
    """The name of the full-text scorer that ran."""
    lists: tuple[RankedList, ...]
    fused: tuple[Hit, ...]

    def best_ranks(self, leg: Leg) -> dict[int, int]:
        """The best rank of each chunk, from 1, over the lists of a leg that have it."""
        best: dict[int, int] = {}
        for ranked in self.lists:
            for rank, (chunk_id, _) in enumerate(ranked.hits if ranked.leg == leg else (), start=1):
                best[chunk_id] = min(rank, best.get(chunk_id, rank))
        return best


class RerankedChunk(WorkLines):
    """A chunk that was found, with all of its scores, and the text that was ranked."""

    chunk_id: int = Field(serialization_alias="id")
    work_id: int
    parent_id: int | None
    fused_score: float = Field(serialization_alias="fusion_score")
    """The score after fusion, by either method."""
    rrf_score: float | None = None
    """The sum of reciprocal ranks; None after another fusion."""
    dense_rank: int | None
    """Its best rank, from 1, over the dense lists; None if it is in none of them."""
    lexical_rank: int | None
    enriched_content: str = Field(repr=False)
    """The text that was ranked: the content, with lines around it if it was short."""
    rerank_score: float
    """0 before the ranker has run."""
    entity_boost: float
    intent_boost: float
    final_score: float
    """rerank_score + entity_boost + intent_boost."""
    pages: tuple[int, int] | None = None
    """Its first and last page, from 1; None in a work without pages."""


class RerankedChunks(Value):
    """Stage `rerank`: the chunks in the order of their selection, and the whole ranking before selection."""

    ranker: str
    """The name of the ranker that ran, and its model if it has one."""
    chunks: tuple[RerankedChunk, ...]
    ranking: tuple[int, ...]
    """Chunk ids of all candidates by final score, before the selection for diversity."""
    dropped: dict[str, int]
    """Candidates that a filter dropped: `min_chars`, `min_words`, `blank`. Filters that dropped none are absent."""
    work_hashes: dict[int, str]
    """SHA-256 of the stored markdown of every work involved, by work id."""


class ValidatedChunks(FromReplies):
    """Stage `validate`: the kept chunks, in order, and all verdicts."""

    validator: str | None
    """The model that judged, or None if validation is disabled and every chunk is kept."""
    chunks: tuple[RerankedChunk, ...]
    verdicts: tuple[Verdict, ...]
    relevance: float | None = None
    """The estimated probability that the corpus answers the question; None without a relevance floor."""


class Passage(Value):
    """Adjacent lines of one work."""

    chunk_ids: tuple[int, ...]
    work_id: int
    start_line: int
    end_line: int
    heading_chain: tuple[str, ...] = Field(default=(), repr=False)
    """The headings above it, and the one that it begins with."""
    pages: tuple[int, int] | None = None
    """Its first and last page, from 1; None in a work without pages."""


class ContextGroup(Passage):
    """A passage that a prompt may show."""

    parent_id: int | None
    content: str = Field(repr=False)
    score: float


class ConsolidatedContext(Value):
    """Stage `consolidate`: the groups, best score first (or in the order of a manual edit)."""

    original_count: int
    consolidated_count: int
    """Groups that were long enough, before any manual edit."""
    groups: tuple[ContextGroup, ...]
    dropped_short: int = 0
    """Groups that were dropped for having fewer than `min_content_length` characters."""


class Source(Passage):
    """The source of a label in the prompt."""

    label: str
    """`S1`, `S2`, ..."""
    title: str = Field(repr=False)
    corpus: str = ""
    """The name of the corpus that has the work."""


class ContextSource(StrEnum):
    """The origin of the prompt's context."""

    CONSOLIDATED = "consolidated"
    RETRIEVED = "retrieved"
    """The retrieved chunks: consolidation has not run, or dropped every passage as too short."""
    EMPTY = "empty"
    """No context, which the preset allows."""


class AnswerBasis(Value):
    """What a prompt is based on, and what was lost between the search and the prompt."""

    context_source: ContextSource
    available: int
    """Sources that were available for it."""
    shown: int
    """Sources in the prompt."""
    context_tokens: int | None = None
    """What the model has for prompt and reply; None where that is not known, or no model is asked."""
    left_out: int = 0
    """Sources that did not fit into it, of those that it was to show."""
    cut_chars: int = 0
    """Characters of the last source that did not fit."""
    found_chunks: int = 0
    """Chunks after fusion."""
    dropped_chunks: dict[str, int] = Field(default_factory=dict)
    """Those that a filter of stage `rerank` dropped, by filter: `min_chars`, `min_words`, `blank`."""
    ranker: str | None = None
    rejected_chunks: int = 0
    """Selected chunks that validation did not accept."""
    consolidated_count: int | None = None
    """Passages after consolidation, before any manual edit; None where it has not run."""
    dropped_passages: int | None = None
    """Passages that were dropped as too short; None where it has not run."""
    cut_texts: int = 0
    """Texts of the question that are longer than the embedder reads, and were cut."""
    corpora: tuple[str, ...] = ()
    """The corpora that were searched."""
    full_text: str | None = None
    """The text search configuration by which they were read; `simple` has no dictionary."""
    works: WorkFilter = WorkFilter()
    """The works of them that were searched."""
    cut_chunks: int = 0
    """Chunks of the sources that are longer than the embedder reads, as far as their tokens were counted."""


class AugmentedPrompt(AnswerBasis):
    """Stage `augment`: the prompt with its `[S#]` blocks."""

    prompt: str = Field(repr=False)
    template_tag: str = "rag_augmentation"
    template_version: int
    top_n: int
    """Of the available sources, so many are to be shown."""
    sources: tuple[Source, ...]


class Answer(Value):
    """Stage `generate`: the answer, which is also a row in `results`."""

    response_text: str = Field(repr=False, examples=["Working memory is a cognitive system... [S1]"])
    origin: Origin
    """`model`, `pasted`, or `extractive` for sentences that are quoted from the sources."""
    model: str | None = Field(examples=["llama3.1:8b"])
    """Or the method, `extractive`; None for a pasted answer."""
    prompt_hash: str = Field(examples=["5d8a995a6fa7cf7c"])
    cited: tuple[str, ...] = Field(examples=[["S1"]])
    """The labels of the sources that it cites, in order of first mention; the others were only in its prompt."""
    unknown_citations: tuple[str, ...] = Field(examples=[[]])
    """Cited labels that the prompt does not have."""
    is_cut: bool = False
    """The token limit ended it."""


class RankedQuery(Value):
    """One query, by ids only. An output that is not stored or not requested is None."""

    job_id: int
    key: str
    """The id in its file; without one the first 16 digits of the SHA-256 of its text."""
    corpus: str
    embedding_model: str
    status: JobStatus
    judgements: dict[str, int]
    """Relevance by document."""
    retrieved: RetrievedChunks | None
    ranker: str | None
    ranking: tuple[int, ...] | None
    """Chunk ids of all candidates by final score."""
    selected: tuple[int, ...] | None
    """Chunk ids of the selected chunks, in order of selection."""
    validator: str | None
    verdicts: tuple[Verdict, ...] | None
    """None if validation is disabled."""
    groups: tuple[tuple[int, ...], ...] | None
    """Chunk ids of the consolidated context, group by group."""


class QueryRun(ReportedRun):
    """A run of queries."""

    queries: tuple[RankedQuery, ...]
    """In the order of submission."""
    documents: dict[int, str]
    """The document of a chunk in judgements, by chunk id. A deleted chunk is absent."""
    lines: dict[int, int]
    """The line of its document at which a chunk begins."""
    unknown_documents: int
    """Documents that are judged relevant and match no work of the corpus."""
    failures: dict[str, int]
    """Failed jobs, by the category of the error."""
