"""Stage `judge` of an evaluation."""

from schemas.values.evaluations import JudgedAnswer, SplitAnswer
from stages.evaluations.judge import judge_answer
from workers.work import Result, Work


async def run(work: Work) -> Result[JudgedAnswer]:
    """By the model of the validator."""
    settings = work.settings
    return Result(
        await judge_answer(
            await work.output(SplitAnswer),
            chat=work.chat,
            model=settings.model.judge_model,
            timeout_s=settings.ollama.timeout_seconds,
            max_chars=settings.ragq.validation_max_chars,
            max_tokens=settings.ragq.verdict_max_tokens,
            retries=settings.ragq.reply_retries,
        )
    )
