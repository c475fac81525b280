"""Sets of questions: their submission."""

from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from api.parameters import Text
from api.rest.bodies.base import Body, with_example
from api.rest.bodies.rag_queries import Question
from api.rest.bodies.searched_works import Searched
from api.rest.bodies.submissions import Submission
from schemas.settings.preset_names import is_preset_name
from schemas.values.query_sets import QuerySet, RelevanceJudgement, SubmittedQuery
from services.questions.submission import QueryRequest
from stages.queries.query_file import MAX_REFERENCE_CHARS

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
    relevance: Annotated[int, Field(ge=-1000, le=1000)]
    """0 and below is judged but not relevant."""


class QuerySetSubmission(Submission, Searched):
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
    config_preset: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """The preset; by default the default preset. `settings` takes values of the preset too."""
    expand: bool = True
    """False searches for the questions as they are asked."""
    use_full_model: bool | None = None
    """False: the light model expands and answers, where RAGQ_QUERY_LIGHT_MODEL is set."""
    until: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """The last stage to run; by default all run."""

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
        return QueryRequest(
            queries=QuerySet(
                queries=tuple(
                    SubmittedQuery(external_id=line.id, text=line.text, reference_answer=line.reference_answer)
                    for line in self.queries
                ),
                judgements=tuple(RelevanceJudgement(**line.model_dump()) for line in self.judgements),
            ),
            corpora=self.all_corpora,
            works=self.work_filter,
            preset=self.config_preset,
            preset_values={name: value for name, value in self.values.items() if is_preset_name(name)},
            expand=self.expand,
            use_light_model=self.use_full_model is False,
            until=self.until,
        )
