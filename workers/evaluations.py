"""The stages that evaluate an answer."""

from schemas.errors import InputChangedError
from schemas.values.evaluations import AnswerScores, JudgedAnswer, SplitAnswer
from schemas.values.queries import Source
from stages.evaluations.judge import judge_answer, score_answer, split_answer
from stages.queries.augment import source_texts
from store.questions import answers, evaluations
from store.runs.chain import content_hash
from workers.work import Result, Work


async def run_split(work: Work) -> Result[SplitAnswer]:
    """The stored answer with its sources. Raises InputChangedError when it or its prompt is gone or changed."""
    result_id: int = work.claim.inputs["result_id"]
    found = await work.database.ask(evaluations.answer, result_id)
    if found is None or content_hash(found.text) != work.claim.inputs["answer_hash"]:
        raise InputChangedError(
            f"The answer of job j{work.claim.job_id} is not stored any more as it was; `ragq evaluate` evaluates the "
            "answers that there are."
        )
    sources = [Source.model_validate(source) for source in found.sources]
    prompt = await work.database.ask(answers.prompt, found.job_id, found.prompt_hash)
    texts = {} if prompt is None else source_texts(prompt, sources)
    if len(texts) < len(sources):
        raise InputChangedError(f"The prompt of the answer of job j{work.claim.job_id} is not stored any more.")
    work.read["answer"], work.read["prompt"] = work.claim.inputs["answer_hash"], found.prompt_hash
    return Result(
        split_answer(
            found.question,
            found.text,
            labels=list(texts),
            passages={label: f"{text.path}\n\n{text.text}" for label, text in texts.items()},
            reference=found.reference_answer,
        )
    )


async def run_judge(work: Work) -> Result[JudgedAnswer]:
    """By the model of the validator."""
    return Result(await judge_answer(await work.output(SplitAnswer), chat=work.chat, settings=work.settings))


async def run_consolidate(work: Work) -> Result[AnswerScores]:
    """From the sentences and the verdicts."""
    return Result(score_answer(await work.output(SplitAnswer), await work.output(JudgedAnswer)))
