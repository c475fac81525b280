"""The numbers of an evaluation, and for readers. What is not scored is counted, and is in no share."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from schemas.statuses import JobStatus
from schemas.values.differences import RetrievalMeasures
from schemas.values.evaluations import (
    NOTHING,
    EvaluatedAnswer,
    EvaluationCounts,
    EvaluationMeasure,
    EvaluationReport,
    Tally,
)
from stages.metrics.bootstrap import share_interval
from stages.reports.costs import cost_words
from stages.reports.report import failure_tables
from stages.reports.tables import UI, Figure, Ref, Remark, Sheet, Table

MEASURES: Final[Mapping[str, str]] = {
    "citation_precision": "citations whose source supports the sentence, alone or as a part that it needs",
    "citation_recall": "sentences that the sources they cite support; a sentence without a citation is not supported",
    "correctness": "sentences of the answer that the reference answer supports",
    "completeness": "sentences of the reference answer that the answer supports",
}
"""What each measure is a share of."""


def evaluation_counts(answers: Sequence[EvaluatedAnswer], *, unanswered: int) -> EvaluationCounts:
    """Who is scored and who is not, of the answers and of the questions that had none."""
    scored = [one.scores for one in answers if one.scores is not None]
    failed = sum(one.scores is None and (one.status.has_failed or one.status is JobStatus.CANCELLED) for one in answers)
    return EvaluationCounts(
        questions=len(answers) + unanswered,
        unanswered=unanswered,
        failed=failed,
        unfinished=len(answers) - len(scored) - failed,
        scored=len(scored),
        without_citation=sum(one.citation_precision == NOTHING for one in scored),
        with_reference=sum(one.correctness is not None for one in scored),
        left_out_sentences=sum(one.left_out for one in scored),
    )


def evaluation_measures(
    answers: Sequence[EvaluatedAnswer], measures: RetrievalMeasures
) -> dict[str, EvaluationMeasure]:
    """Each share over the answers that are scored."""
    scored = [one.scores for one in answers if one.scores is not None]
    return {name: _measure([one.tallies[name] for one in scored], measures) for name in MEASURES}


def evaluation_remarks(report: EvaluationReport) -> Iterator[str]:
    """What has to be known about the shares: who is not scored."""
    counts = report.counts
    not_scored = {"without an answer": counts.unanswered, "failed": counts.failed, "unfinished": counts.unfinished}
    words = [f"{count} {what}" for what, count in not_scored.items() if count]
    yield f"{counts.scored} of {counts.questions} questions scored" + (f"; N/A: {', '.join(words)}." if words else ".")
    if counts.without_citation:
        yield f"{counts.without_citation} scored answers cite no source: they have no citation precision."
    if counts.left_out_sentences:
        yield f"{counts.left_out_sentences} sentences after the first hundred of an answer were not judged."


def _measure(parts: Sequence[Tally], measures: RetrievalMeasures) -> EvaluationMeasure:
    return EvaluationMeasure(
        answers=sum(part.decided > 0 for part in parts),
        scored=sum(part.decided for part in parts),
        undecided=sum(part.undecided for part in parts),
        share=share_interval([part.yes for part in parts], [part.decided for part in parts], measures),
    )


def evaluation_sheet(report: EvaluationReport) -> Sheet:
    """The shares over all answers, and those of each."""
    measures = Table(
        "Measures",
        ("measure", "share", "answers", "scored", "undecided", "of"),
        tuple(
            (name.replace("_", " "), Figure(one.share), one.answers, one.scored, one.undecided, MEASURES[name])
            for name, one in report.measures.items()
        ),
        texts=("of",),
    )
    answers = Table(
        "Answers",
        ("question", "job", "state", *(name.replace("_", " ") for name in MEASURES)),
        tuple(
            (
                one.query if one.query_id is None else Ref(one.query, f"/rag/{one.query_id}/results/{one.result_id}"),
                Ref(one.job, f"{UI}/jobs/{one.job[1:]}"),
                one.status.value,
                *(Figure(one.shares.get(name)) for name in MEASURES),
            )
            for one in report.answers
        ),
        texts=("job", "state"),
        is_listing=True,
    )
    return Sheet(
        title=report.run_id,
        head=f"answers of {report.evaluates}, judged by {report.judge}",
        facts=(),
        notices=report.notices,
        parts=(
            measures,
            *(Remark(words, is_notice=False) for words in evaluation_remarks(report)),
            answers,
            *failure_tables(report.failures),
        ),
        cost=tuple(cost_words(report.cost)),
    )
