"""Stage `judge`: a language model decides which sentences the sources that they cite support."""

from collections.abc import Sequence
from typing import Final

from schemas.values.chat import ChatCall, Message, ReaskReason
from schemas.values.evaluations import AnswerSentence, Check, JudgedAnswer, SplitAnswer, SupportVerdict
from schemas.values.verdicts import Decision
from stages.evaluations.split import MOST_LABELS
from stages.ports import ChatModel
from stages.replies.asking import ask_until_usable
from stages.replies.verdict import VERDICT_JSON_SCHEMA, verdict_reader
from stages.texts.ids import short_hash
from stages.texts.markdown import DATA_RULE, fenced

_SYSTEM: Final = f"""\
You check whether passages support a statement. You answer with one JSON object, {{"decision": "accept"}}, \
{{"decision": "reject"}} or {{"decision": "unsure"}}, and with nothing else. {DATA_RULE}"""

_TASK: Final = """\
The statement is part of a reply to this question, which only shows what its words refer to:
{question}

{passages}

{statement}

accept: the passages state everything that the statement claims, or it follows from them.
reject: the passages lack a part of what the statement claims, or contradict it.
unsure: it cannot be decided.
What you know from elsewhere does not count: only the passages do."""

PROMPT_HASH: Final = short_hash(_SYSTEM + _TASK)
"""Another prompt is other work."""


def judge_messages(
    question: str, statement: str, passages: Sequence[str], *, max_chars: int | None
) -> tuple[Message, ...]:
    """The messages about one statement; the model sees `max_chars` characters of each passage, None shows all."""
    task = _TASK.format(
        question=fenced("question", question),
        passages="\n".join(fenced("passage", passage, max_chars=max_chars) for passage in passages),
        statement=fenced("statement", statement),
    )
    return Message(role="system", content=_SYSTEM), Message(role="user", content=task)


_JOINT: Final = "\n\n"


async def judge_answer(
    split: SplitAnswer,
    *,
    chat: ChatModel,
    model: str,
    timeout_s: float,
    max_chars: int | None,
    max_tokens: int,
    retries: int,
) -> JudgedAnswer:
    """Ask about each sentence that cites sources; with a reference answer, about its sentences and the answer's too.

    Sources that a sentence cites are judged together; several of them also each alone, and one that does not support
    the sentence alone by what the others support without it. A reply that is not exactly one verdict is asked for
    again, up to `retries` times. Raises LLMResponseParseError after the last re-ask, and the errors of the model's
    client unchanged.
    """
    reader = verdict_reader(retries=retries)
    passages = {passage.label: passage.text for passage in split.passages}
    verdicts: list[SupportVerdict] = []
    reasks: list[ReaskReason] = []

    async def ask(check: Check, number: int, statement: str, shown: Sequence[str], cited: tuple[str, ...]) -> Decision:
        call = ChatCall(
            model=model,
            messages=judge_messages(split.question, statement, shown, max_chars=max_chars),
            json_mode=True,
            json_schema=dict(VERDICT_JSON_SCHEMA),
            max_tokens=max_tokens,
            timeout_s=timeout_s,
            purpose=" ".join((f"judge {check} {number}", *cited)),
        )
        usable = await ask_until_usable(call, chat=chat, reader=reader)
        reasks.extend(usable.reasks)
        verdicts.append(SupportVerdict(check=check, sentence=number, cited=cited, decision=usable.read))
        return usable.read

    async def ask_about_sources(number: int, sentence: AnswerSentence) -> None:
        cited = sentence.cited
        together = await ask(Check.TOGETHER, number, sentence.text, [passages[label] for label in cited], cited)
        if not 1 < len(cited) <= MOST_LABELS:
            return
        for label in cited:
            alone = await ask(Check.ALONE, number, sentence.text, [passages[label]], (label,))
            if alone is not Decision.ACCEPT and together is Decision.ACCEPT:
                others = [passages[other] for other in cited if other != label]
                await ask(Check.WITHOUT, number, sentence.text, others, (label,))

    for number, sentence in enumerate(split.sentences, start=1):
        if sentence.cited:
            await ask_about_sources(number, sentence)
    if split.reference is not None:
        whole_reference, answer = _JOINT.join(split.reference), _JOINT.join(one.text for one in split.sentences)
        for number, sentence in enumerate(split.sentences, start=1):
            await ask(Check.BY_REFERENCE, number, sentence.text, [whole_reference], ())
        for number, text in enumerate(split.reference, start=1):
            await ask(Check.IN_ANSWER, number, text, [answer], ())
    return JudgedAnswer(validator=model, verdicts=tuple(verdicts), reasks=tuple(reasks))
