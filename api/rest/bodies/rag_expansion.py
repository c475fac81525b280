"""The expansion of a question as JSON. The question may be called `original_query` or `query`."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, model_validator

from api.parameters import Text
from api.rest.bodies.base import Reply, with_example
from api.rest.bodies.rag_queries import Question, Searched
from api.rest.bodies.rag_steps import StepDone

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


class Asked(Searched):
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

    model_config = with_example(
        prompt="Prepare a search for this question...", query=_QUESTION, original_query=_QUESTION, n=3
    )

    prompt: str = Field(repr=False)
    query: str = Field(repr=False)
    original_query: str = Field(repr=False)
    """The same as `query`."""
    n: int


class Expanded(StepDone):
    """A stored question with its expansion."""

    model_config = with_example(
        query_id=1,
        run_id=12,
        job_id=34,
        success=True,
        message="Query created successfully",
        original_query=_QUESTION,
        expanded_queries=["What is the definition of working memory?", "How does working memory function?"],
        hyde_answer="Working memory is a cognitive system...",
        intent="DEFINITION",
        entities=["working memory"],
    )

    original_query: str = Field(repr=False)
    expanded_queries: list[str] = Field(repr=False)
    hyde_answer: str = Field(repr=False)
    intent: str | None
    entities: list[str] = Field(repr=False)
