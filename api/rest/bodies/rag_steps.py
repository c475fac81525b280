"""The steps of a question as JSON."""

from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field

from api.rest.bodies.base import Body, Reply, with_example
from schemas.statuses import JobStatus, VectorStatus
from schemas.values.base import Text
from schemas.values.queries import ContextSource, Source
from store.questions.queries import StoredResult


class ResultList(Reply):
    """The answers to a question, newest first."""

    query_id: int = Field(examples=[1])
    results: list[StoredResult]
    total: int = Field(examples=[1])


TopN = Annotated[int, Field(ge=1, le=20)]
"""The number of sources in the prompt; by default that of the preset."""

SettingName = Annotated[str, Field(pattern=r"^[a-z_.0-9]{1,100}$", examples=["retrieval.min_word_count"])]
"""The name of a value of a preset."""

ANSWER_CHARS: Final = 200_000
"""The longest pasted answer."""


class Started(Reply):
    """A step that is running. `GET /jobs/{job_id}` shows when it is done; it needs no client to wait for it."""

    query_id: int
    run_id: int
    job_id: int
    status: JobStatus
    message: str


class StepDone(Reply):
    """The fields of the reply of every finished step."""

    query_id: int
    run_id: int
    job_id: int
    success: Literal[True] = True
    message: str


class Embedded(StepDone):
    """The vectors of the question, its search phrases and its hypothetical answer (HyDE) are stored."""

    vector_status: Literal[VectorStatus.VEC] = VectorStatus.VEC
    total_embeddings: int
    original_count: int
    mqe_count: int
    hyde_count: int


class Retrieved(StepDone):
    """Chunks were retrieved, ranked and selected."""

    chunks_retrieved: int
    total_dense_candidates: int
    """Hits of all searches by vector; a chunk counts once per search."""
    total_lexical_candidates: int
    """Likewise of all full-text searches."""
    rrf_candidates: int
    """Chunks after fusion."""
    final_count: int
    """The same as `chunks_retrieved`."""
    dropped_chunks: dict[str, int]
    """Chunks that a filter dropped for their length: `min_chars`, `min_words` or `blank`."""
    kept_short: dict[str, int]
    """Chunks that a filter would have dropped, kept because no longer one was found."""


class Consolidated(StepDone):
    """Adjacent chunks were merged into passages."""

    original_count: int
    consolidated_count: int
    """Passages that are available for a prompt."""
    dropped_passages: int
    """Passages that were dropped as shorter than `consolidation.min_content_length`."""


class NoOptions(Body):
    """A step without options."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}]})


class StepOptions(Body):
    """The values that a step is taken with."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"config_preset": "Original", "settings": {"retrieval.min_word_count": 0}}]}
    )

    config_preset: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """Continue with this preset; see the parameter of the same name."""
    settings: Annotated[dict[SettingName, bool | int | float | Text], Field(max_length=100)] | None = None
    """Values that win over those of the preset, by name."""


class RunOptions(StepOptions):
    """The values that a question runs with to its answer."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"settings": {"retrieval.min_word_count": 0}, "top_n": 3}]}
    )

    top_n: TopN | None = None
    """The number of sources in the prompt; by default that of the preset."""
    use_full_model: bool | None = None
    """False: RAGQ_QUERY_LIGHT_MODEL of the run expands and answers; true or absent: RAGQ_QUERY_MODEL."""


class AnswerRequest(RunOptions):
    """Options of a new answer."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"top_n": 5, "use_full_model": False}, {"force": True}]})

    force: bool | None = None
    """Accepted without effect: each request makes a new answer, and earlier ones are kept."""


class Answered(StepDone, StoredResult):
    """A new answer."""

    result_id: int
    """The same as `id`."""


class PastedAnswer(Body):
    """An answer of an external model."""

    model_config = with_example(response_text="Working memory is a cognitive system...", top_n=5)

    response_text: Annotated[Text, Field(min_length=1, max_length=ANSWER_CHARS)] = Field(repr=False)
    top_n: TopN | None = None
    """The number of sources in its prompt; by default that of the prompt that was shown last."""


class AnswerSaved(Reply):
    """A pasted answer is stored."""

    query_id: int
    result_id: int
    success: Literal[True] = True
    message: str


class PromptReply(Reply):
    """The prompt that asks for the answer, with its sources."""

    query_id: int
    original_query: str = Field(repr=False)
    prompt: str = Field(repr=False)
    context_count: int
    """Sources in the prompt."""
    context_source: ContextSource
    """Their origin: `consolidated`, `retrieved` without a consolidation, or `empty`."""
    available_context_count: int
    """Sources that are available for the prompt."""
    sources: list[Source]
