"""Stage `consolidate` of an evaluation."""

from schemas.values.evaluations import AnswerScores, JudgedAnswer, SplitAnswer
from stages.evaluations.consolidate import score_answer
from workers.work import Result, Work


async def run(work: Work) -> Result[AnswerScores]:
    """From the sentences and the verdicts."""
    return Result(score_answer(await work.output(SplitAnswer), await work.output(JudgedAnswer)))
