"""The report of an evaluation, in the structure of its JSON."""

from pydantic import Field

from schemas.statuses import JobStatus
from schemas.values.base import Value
from schemas.values.costs import RunCost
from schemas.values.evaluations import AnswerScores
from schemas.values.metrics import Interval
from schemas.values.retrieval_reports import ValidatorQuality


class EvaluationMeasure(Value):
    """A share over all answers. The interval resamples answers."""

    answers: int = Field(examples=[12])
    """Answers with anything that counts for it."""
    scored: int = Field(examples=[40])
    """Sentences or citations that count."""
    undecided: int = Field(examples=[1])
    """Those that the judge was unsure about: they are in no share."""
    share: Interval


class EvaluationCounts(Value):
    """Counts of questions: questions = unanswered + failed + unfinished + scored."""

    questions: int = Field(examples=[14])
    unanswered: int = Field(examples=[1])
    """Without an answer when the evaluation was submitted."""
    failed: int = Field(examples=[1])
    """Answers whose evaluation ended with an error."""
    unfinished: int = Field(examples=[0])
    scored: int = Field(examples=[12])
    without_citation: int = Field(examples=[2])
    """Scored answers that cite no source: they have no citation precision."""
    with_reference: int = Field(examples=[9])
    """Scored answers to questions with a reference answer."""
    left_out_sentences: int = Field(examples=[0])
    """Sentences after the first hundred of an answer."""


class EvaluatedAnswer(Value):
    """One answer. A share is null where nothing counts for it."""

    query: str = Field(examples=["q1"])
    job: str = Field(examples=["j34"])
    status: JobStatus
    query_id: int | None = Field(examples=[7])
    result_id: int = Field(examples=[9])
    scores: AnswerScores | None
    """Null for an answer that is not scored."""
    shares: dict[str, float | None] = Field(examples=[{"citation_precision": 0.75}])
    """By measure; empty for an answer that is not scored."""


class MeasuredValidator(Value):
    """How well the judge accepts relevant passages for questions, by the judgements of a run."""

    run: str = Field(examples=["r11"])
    quality: ValidatorQuality


class EvaluationReport(Value):
    """An evaluation of the answers of a run."""

    run_id: str = Field(examples=["r13"])
    evaluates: str = Field(examples=["r12"])
    profile: str = Field(examples=["demo"])
    notices: tuple[str, ...] = Field(examples=[[]])
    judge: str = Field(examples=["gemma3:27b"])
    counts: EvaluationCounts
    measures: dict[str, EvaluationMeasure]
    """`citation_precision`, `citation_recall`; with reference answers `correctness` and `completeness`."""
    validator: MeasuredValidator | None
    """Null where no questions with judgements were validated by the judge."""
    answers: tuple[EvaluatedAnswer, ...]
    failures: dict[str, int]
    """Failed jobs, by the category of the error."""
    cost: RunCost
