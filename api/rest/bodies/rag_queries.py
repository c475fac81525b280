"""Questions as JSON."""

from typing import Annotated, Final, Self

from pydantic import AliasChoices, ConfigDict, Field, StringConstraints, model_validator

from api.rest.bodies.base import Body, Reply, with_example
from api.rest.bodies.participants import Submission
from api.rest.bodies.rag_steps import StepDone
from schemas.settings.preset import is_preset_name
from schemas.values.base import MAX_ID, Text
from schemas.values.queries import (
    ContextGroup,
    QuerySet,
    Relevance,
    RelevanceJudgement,
    RerankedChunk,
    SubmittedQuery,
)
from schemas.values.requests import QueryChanges, QueryPolicy, QueryRequest, Question, Searched
from schemas.values.runs import StageFailure
from stages.queries.query_files import MAX_REFERENCE_CHARS
from store.questions.queries import QueryLine

PassageId = Annotated[int, Field(ge=1, le=MAX_ID)]


class QueryList(Reply):
    """Questions, newest first."""

    queries: list[QueryLine]
    total: int
    """The number of questions in that status, on all pages."""


class RetrievedChunk(RerankedChunk):
    """A retrieved chunk with all of its scores."""

    chunk_id: int = Field(serialization_alias="id")
    fused_score: float = Field(serialization_alias="fusion_score")
    """The score after fusion, by any method."""
    rrf_score: float | None
    """The sum of reciprocal ranks; None after another fusion."""


class Passage(ContextGroup):
    """Adjacent lines of one work."""

    place: int
    """From 1: its place in the prompt."""


class QueryDetail(QueryLine):
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


class QueryPatch(QueryChanges, Body):
    """What to change of a question."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"original_query": "Updated question", "intent": "MECHANISM"},
                {"clean_retrieval_context": [{"place": 2}, {"place": 1}]},
            ]
        }
    )

    clean_retrieval_context: Annotated[list[PassageChoice], Field(min_length=1, max_length=1000)] | None = None
    """The passages to keep, in the order of the prompt."""


QueryId = Annotated[Text, StringConstraints(min_length=1, max_length=64)]


class SetQuestion(Body):
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

    queries: Annotated[list[SetQuestion], Field(min_length=1, max_length=10_000)]
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


class Asked(Searched, Body):
    """A question to a corpus."""

    question: Question = Field(validation_alias=AliasChoices("original_query", "query"), repr=False)
    """May also be called `query`."""
    config_preset: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """The preset; by default the default preset."""


class ExpansionRequest(Asked):
    """A question to expand."""

    model_config = with_example(original_query=_QUESTION, n=3, use_full_model=True)

    n: Annotated[int, Field(ge=1, le=10)] | None = None
    """The number of search phrases; by default that of the preset."""
    use_full_model: bool | None = None
    """False: RAGQ_QUERY_LIGHT_MODEL expands, where it is set; true or absent: RAGQ_QUERY_MODEL."""


class PastedExpansion(Asked):
    """A question with the reply of an external model."""

    model_config = with_example(original_query=_QUESTION, llm_response=_REPLY)

    reply: Annotated[Text, Field(min_length=1, max_length=REPLY_CHARS)] = Field(
        validation_alias=AliasChoices("llm_response", "response_text"), repr=False
    )
    """One JSON object, with or without a code fence; may also be called `response_text`."""


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
