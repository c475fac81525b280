"""The outputs of the stages that evaluate an answer. The judge of an evaluation is the validator of questions."""

from enum import StrEnum
from typing import Final

from pydantic import Field, computed_field

from schemas.statuses import JobStatus
from schemas.values.base import Value
from schemas.values.chat import FromReplies
from schemas.values.costs import RunCost
from schemas.values.participants import Decision
from schemas.values.scoring import Interval


class AnswerSentence(Value):
    """A sentence of an answer, without its citations."""

    text: str = Field(repr=False)
    cited: tuple[str, ...]
    """Labels of sources in the prompt."""
    unknown: tuple[str, ...]
    """Labels that the prompt does not have."""


class SplitAnswer(Value):
    """Stage `split`: the sentences of an answer and of its reference, and the passages that it cites."""

    question: str = Field(repr=False)
    sentences: tuple[AnswerSentence, ...]
    left_out: int
    """Sentences of both after the first hundred, which are not judged."""
    passages: dict[str, str] = Field(repr=False)
    """The sources that the answer cites, as its prompt shows them, by label."""
    reference: tuple[str, ...] | None = Field(repr=False)
    """The sentences of the reference answer; None where the question has none."""


class Check(StrEnum):
    """What a judge is asked about a sentence."""

    TOGETHER = "together"
    """Whether the sources that the sentence cites support it together."""
    ALONE = "alone"
    """Whether one of several sources supports it alone."""
    WITHOUT = "without"
    """Whether the others support it without one of them."""
    BY_REFERENCE = "by_reference"
    """Whether the reference answer supports a sentence of the answer."""
    IN_ANSWER = "in_answer"
    """Whether the answer supports a sentence of the reference answer."""


class SupportVerdict(Value):
    """The decision on a sentence."""

    check: Check
    sentence: int
    """Its number in the answer, or in the reference answer, from 1."""
    cited: tuple[str, ...] = ()
    """The sources in question: those that are cited, the one alone, or the one without which the others are."""
    decision: Decision


class JudgedAnswer(FromReplies):
    """Stage `judge`: all verdicts."""

    validator: str
    verdicts: tuple[SupportVerdict, ...]

    @property
    def on_sources(self) -> dict[int, Decision]:
        """The sentences that cite sources, by number from 1, with the verdict on these sources together."""
        return {one.sentence: one.decision for one in self.verdicts if one.check is Check.TOGETHER}


class Tally(Value):
    """Decisions. What is undecided is not scored."""

    yes: int = Field(examples=[5])
    no: int = Field(examples=[1])
    undecided: int = Field(examples=[0])

    @property
    def decided(self) -> int:
        """Those that count."""
        return self.yes + self.no


NOTHING: Final = Tally(yes=0, no=0, undecided=0)


class AnswerScores(Value):
    """Stage `consolidate` of an evaluation: counts, without any text."""

    sentences: int = Field(examples=[7])
    citation_precision: Tally
    """Citations: whether the source supports the sentence, alone or as a part that it needs; of unknown labels no."""
    citation_recall: Tally
    """Sentences: whether the sources that they cite support them together; of those that cite none no."""
    correctness: Tally | None
    """Sentences of the answer: whether the reference answer supports them; None without a reference answer."""
    completeness: Tally | None
    """Sentences of the reference answer: whether the answer supports them."""
    left_out: int = Field(examples=[0])
    """Sentences of both that were too many to be judged."""

    @property
    def tallies(self) -> dict[str, Tally]:
        """By measure."""
        names = ("citation_precision", "citation_recall", "correctness", "completeness")
        return {name: getattr(self, name) or NOTHING for name in names}


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


class JudgeQuality(Value):
    """A judge on the sentences that people labelled as supported by the sources that they cite, or not."""

    labelled: int = Field(examples=[80])
    """Sentences with a label and a decision."""
    unsure: int = Field(examples=[2])
    """Labelled sentences on which the judge decided nothing."""
    unlabelled: int = Field(examples=[310])
    """Sentences with a decision and without a label."""
    true_accepts: int
    false_accepts: int
    false_rejects: int
    true_rejects: int
    precision: Interval
    """Of the sentences that the judge accepts, the share that people call supported."""
    recall: Interval
    """Of the sentences that people call supported, the share that the judge accepts."""
    judged: Interval
    """The share of all decided sentences that the judge accepts."""
    corrected: Interval | None
    """The share that people would call supported; None without labels of both kinds, or for a judge like chance."""
    labels_to_halve: int | None
    """How many more labels would halve the corrected interval; None if all the others would not."""


class EvaluatedAnswer(Value):
    """An answer of an evaluation. A share is null where nothing counts for it."""

    query: str = Field(examples=["q1"])
    job: str = Field(examples=["j34"])
    status: JobStatus
    query_id: int | None = Field(examples=[7])
    """Null where the answer belongs to another database."""
    result_id: int = Field(examples=[9])
    scores: AnswerScores | None
    """Null for an answer that is not scored."""

    @computed_field(examples=[{"citation_precision": 0.75}])  # type: ignore[prop-decorator]
    @property
    def shares(self) -> dict[str, float | None]:
        """By measure; empty for an answer that is not scored."""
        found = {} if self.scores is None else self.scores.tallies
        return {name: one.yes / one.decided if one.decided else None for name, one in found.items()}


class EvaluationReport(Value):
    """An evaluation of the answers of a run."""

    run_id: str = Field(examples=["r13"])
    evaluates: str = Field(examples=["r12"])
    notices: tuple[str, ...] = Field(examples=[[]])
    judge: str = Field(examples=["gemma3:27b"])
    counts: EvaluationCounts
    measures: dict[str, EvaluationMeasure]
    """`citation_precision`, `citation_recall`; with reference answers `correctness` and `completeness`."""
    answers: tuple[EvaluatedAnswer, ...]
    failures: dict[str, int]
    """Failed jobs, by the category of the error."""
    cost: RunCost
