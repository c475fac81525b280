"""Questions as JSON."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from api.rest.bodies.base import Body, Reply, with_example
from api.rest.bodies.participants import Submission
from api.rest.bodies.rag_steps import StepDone
from schemas.settings.preset import is_preset_name
from schemas.statuses import JobStatus, VectorStatus
from schemas.values.base import MAX_ID, Text
from schemas.values.documents import WorkFilter
from schemas.values.failures import StageFailure
from schemas.values.listings import Need
from schemas.values.queries import ContextGroup, QuerySet, Relevance, RelevanceJudgement, SubmittedQuery
from schemas.values.requests import QueryPolicy, QueryRequest, Searched
from stages.queries.query_files import MAX_REFERENCE_CHARS

_FILLED: Final = r"^[^\x00]*[^\s\x00][^\x00]*$"

Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000, pattern=_FILLED)]
"""The text of a question: 1 to 2000 characters; surrounding blanks are removed."""

Phrase = Annotated[Text, StringConstraints(max_length=500)]
"""A search phrase or an entity; a blank one is left out."""

PassageId = Annotated[int, Field(ge=1, le=MAX_ID)]


class QueryItem(Reply):
    """A question in one line."""

    id: int
    original_query: str = Field(repr=False)
    intent: str | None
    """DEFINITION, MECHANISM, COMPARISON, APPLICATION, STUDY_DETAIL, CRITIQUE, or another text."""
    status: Need
    """What it needs next: embeddings after a failed embedding too, where `vector_status` is `vec_err`."""
    vector_status: Literal[VectorStatus.NO_VEC, VectorStatus.TO_VEC, VectorStatus.VEC, VectorStatus.VEC_ERR]
    has_retrieved_context: bool
    has_clean_context: bool
    entities_count: int
    results_count: int
    created_at: datetime
    updated_at: datetime
    run_id: int
    job_id: int
    job_status: JobStatus
    """The state of the job that runs its stages. `failed` beside a `status` of `ready`: everything that a prompt needs
    is stored, and the prompt or the answer failed."""
    corpus: str
    """The first of `corpora`."""
    corpora: list[str]
    """The corpora that are searched."""
    works: WorkFilter
    """The works of them that are searched; all fields are null where all works are."""
    preset: str | None


class QueryList(Reply):
    """Questions, newest first."""

    queries: list[QueryItem]
    total: int
    """The number of questions in that status, on all pages."""


class RetrievedChunk(Reply):
    """A retrieved chunk with all of its scores."""

    id: int
    parent_id: int | None
    work_id: int
    content: str = Field(repr=False)
    heading_breadcrumbs: str | None = Field(repr=False)
    enriched_content: str = Field(repr=False)
    """The content, with surrounding lines where it was short; the input of the ranker."""
    start_line: int
    end_line: int
    level: str
    rrf_score: float | None
    """The sum of reciprocal ranks; None after another fusion."""
    fusion_score: float
    """The score after fusion, by any method."""
    dense_rank: int | None
    lexical_rank: int | None
    rerank_score: float
    entity_boost: float
    intent_boost: float
    final_score: float
    pages: tuple[int, int] | None
    """Its first and last page, from 1; None in a work without pages."""


class Passage(ContextGroup):
    """Adjacent lines of one work."""

    place: int
    """From 1: its place in the prompt."""


class QueryDetail(QueryItem):
    """A question with its current outputs."""

    expanded_queries: list[str] | None = Field(repr=False)
    """None while no expansion is stored."""
    hyde_answer: str | None = Field(repr=False)
    entities: list[str] | None = Field(repr=False)
    retrieved_context: list[RetrievedChunk] | None
    """In the order of selection; None while no search is stored."""
    clean_retrieval_context: list[Passage] | None
    """In the order of the prompt; None while no consolidation is stored."""
    available_context_count: int
    """The number of available sources for a prompt: passages, or retrieved chunks where there are none."""
    error: StageFailure | None
    """The last error of a job that did not succeed."""
    nearest: list[RetrievedChunk]
    """The three nearest chunks to a question that the corpus does not answer, whose error is `nothing_relevant`."""


class PassageChoice(Body):
    """A passage to keep, identified by its `place` or by other fields as they were read."""

    place: Annotated[int, Field(ge=1, le=10_000)] | None = None
    chunk_ids: Annotated[list[PassageId], Field(max_length=1000)] | None = None
    parent_id: PassageId | None = None
    work_id: PassageId | None = None
    start_line: PassageId | None = None
    end_line: PassageId | None = None
    content: str | None = Field(default=None, repr=False)
    """Cannot be changed: passages are lines of their works."""
    score: float | None = None
    heading_chain: list[str] | None = Field(default=None, repr=False)
    pages: Annotated[list[PassageId], Field(min_length=2, max_length=2)] | None = None


class QueryPatch(Body):
    """What to change. An absent or null field is not changed; a null intent removes the intent."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"original_query": "Updated question", "intent": "MECHANISM"},
                {"clean_retrieval_context": [{"place": 2}, {"place": 1}]},
            ]
        }
    )

    original_query: Question | None = Field(default=None, repr=False)
    """The new question. The expansion is kept, and every later output becomes stale."""
    expanded_queries: Annotated[list[Phrase], Field(max_length=50)] | None = Field(default=None, repr=False)
    hyde_answer: Annotated[Text, Field(max_length=10_000)] | None = Field(default=None, repr=False)
    intent: Annotated[Text, Field(max_length=50)] | None = None
    """In any case of letters; an intent that is none of the six has no effect on the ranking."""
    entities: Annotated[list[Phrase], Field(max_length=50)] | None = Field(default=None, repr=False)
    clean_retrieval_context: Annotated[list[PassageChoice], Field(min_length=1, max_length=1000)] | None = None
    """The passages to keep, in the order of the prompt."""


QueryId = Annotated[Text, StringConstraints(min_length=1, max_length=64)]


class QueryLine(Body):
    """One question of a set."""

    id: QueryId
    """1 to 64 letters, digits, dots, colons, hyphens and underscores: it is shown in logs."""
    text: Question = Field(repr=False)
    reference_answer: Annotated[Text, StringConstraints(min_length=1, max_length=MAX_REFERENCE_CHARS)] | None = Field(
        default=None, repr=False
    )
    """What answers to it are compared with, by an evaluation."""


class JudgementLine(Body):
    """The relevance of a document to a question."""

    query_id: QueryId
    document: Annotated[Text, StringConstraints(min_length=1, max_length=500)]
    """The name of a work, as in a qrels file."""
    relevance: Relevance
    """0 and below is judged but not relevant."""


class QuerySetSubmission(QueryPolicy, Submission):
    """What `ragq submit --queries` takes."""

    model_config = with_example(
        queries=[{"id": "q1", "text": "Why does black tea turn dark?"}, {"id": "q2", "text": "What holds an arch?"}],
        judgements=[{"query_id": "q1", "document": "tea", "relevance": 1}],
        corpus="shelf",
        until="rerank",
    )

    queries: Annotated[list[QueryLine], Field(min_length=1, max_length=10_000)]
    judgements: Annotated[list[JudgementLine], Field(max_length=200_000)] = Field(default=[])
    """To evaluate by; of these questions alone."""

    @model_validator(mode="after")
    def _ids_fit(self) -> Self:
        ids = {line.id for line in self.queries}
        if len(ids) < len(self.queries):
            raise ValueError("give each question an id of its own")
        if any(line.query_id not in ids for line in self.judgements):
            raise ValueError("judgements are of the questions of the set alone")
        if len({(line.query_id, line.document) for line in self.judgements}) < len(self.judgements):
            raise ValueError("judge each document once for a question")
        return self

    @property
    def run_values(self) -> dict[str, str]:
        """Values of settings of the run."""
        return {name: value for name, value in self.values.items() if not is_preset_name(name)}

    @property
    def request(self) -> QueryRequest:
        """The request to submit."""
        queries = tuple(
            SubmittedQuery(external_id=line.id, text=line.text, reference_answer=line.reference_answer)
            for line in self.queries
        )
        judgements = tuple(RelevanceJudgement(**line.model_dump()) for line in self.judgements)
        return QueryRequest(
            queries=QuerySet(queries=queries, judgements=judgements),
            preset_values={name: value for name, value in self.values.items() if is_preset_name(name)},
            **{name: getattr(self, name) for name in QueryPolicy.model_fields},
        )


_QUESTION: Final = "What is working memory?"
_REPLY: Final = (
    '{"queries": ["capacity of working memory in adults"], "hyde_answer": "Working memory is a cognitive system...", '
    '"intent": "DEFINITION", "entities": ["working memory"]}'
)

REPLY_CHARS: Final = 100_000
"""The longest pasted expansion."""


def _exactly_one(*names: str) -> dict[str, Any]:
    """JSON Schema for: one of these fields is a string, and the other is absent or null."""
    absent: dict[str, Any] = {name: {"type": "null"} for name in names}
    return {"oneOf": [{"required": [name], "properties": absent | {name: {"type": "string"}}} for name in names]}


def _only(names: Sequence[str], values: Sequence[str | None]) -> str:
    given = [value for value in values if value is not None]
    if len(given) != 1:
        raise ValueError(f"give exactly one of {' and '.join(names)}")
    return given[0]


class Asked(Searched, Body):
    """A question to a corpus."""

    model_config = ConfigDict(json_schema_extra=_exactly_one("original_query", "query"))

    original_query: Question | None = Field(default=None, repr=False)
    query: Question | None = Field(default=None, repr=False)
    """The same as `original_query`; give one of the two."""
    config_preset: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """The preset; by default the default preset."""

    @model_validator(mode="after")
    def _one_question(self) -> "Asked":
        _only(("original_query", "query"), (self.original_query, self.query))
        return self

    @property
    def question(self) -> str:
        """The question, under either name."""
        return _only(("original_query", "query"), (self.original_query, self.query))


class ExpansionRequest(Asked):
    """A question to expand."""

    model_config = ConfigDict(
        json_schema_extra=_exactly_one("original_query", "query")
        | {"examples": [{"original_query": _QUESTION, "use_full_model": True}, {"query": _QUESTION, "n": 3}]}
    )

    n: Annotated[int, Field(ge=1, le=10)] | None = None
    """The number of search phrases; by default that of the preset."""
    use_full_model: bool | None = None
    """False: RAGQ_QUERY_LIGHT_MODEL expands, where it is set; true or absent: RAGQ_QUERY_MODEL."""


class PastedExpansion(Asked):
    """A question with the reply of an external model. The reply may be called `llm_response` or `response_text`."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [_exactly_one("original_query", "query"), _exactly_one("llm_response", "response_text")],
            "examples": [
                {"original_query": _QUESTION, "llm_response": _REPLY},
                {"query": _QUESTION, "response_text": _REPLY},
            ],
        }
    )

    llm_response: Annotated[Text, Field(min_length=1, max_length=REPLY_CHARS)] | None = Field(default=None, repr=False)
    """One JSON object, with or without a code fence."""
    response_text: Annotated[Text, Field(min_length=1, max_length=REPLY_CHARS)] | None = Field(default=None, repr=False)
    """The same as `llm_response`; give one of the two."""

    @model_validator(mode="after")
    def _one_reply(self) -> "PastedExpansion":
        _only(("llm_response", "response_text"), (self.llm_response, self.response_text))
        return self

    @property
    def reply(self) -> str:
        """The reply, under either name."""
        return _only(("llm_response", "response_text"), (self.llm_response, self.response_text))


class ExpansionPrompt(Reply):
    """The prompt for an external model."""

    prompt: str = Field(repr=False)
    query: str = Field(repr=False)
    original_query: str = Field(repr=False)
    """The same as `query`."""
    n: int


class Expanded(StepDone):
    """A stored question with its expansion."""

    original_query: str = Field(repr=False)
    expanded_queries: list[str] = Field(repr=False)
    hyde_answer: str = Field(repr=False)
    intent: str | None
    entities: list[str] = Field(repr=False)
