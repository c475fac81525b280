"""Stage `judge`: a language model decides which sentences the sources that they cite support."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from schemas.settings.run import RunSettings
from schemas.values.chat import Message, ReaskReason
from schemas.values.evaluations import (
    AnswerScores,
    AnswerSentence,
    Check,
    JudgedAnswer,
    SplitAnswer,
    SupportVerdict,
    Tally,
)
from schemas.values.participants import Decision
from stages.corpora.cut import plain_sentences
from stages.ports import ChatModel
from stages.queries.templates import ANSWER_MARKDOWN, CITATION, LABEL
from stages.replies.asking import ask_verdict
from stages.texts.characters import DATA_RULE, fenced, short_hash

_SAYS = {Decision.ACCEPT: True, Decision.REJECT: False, Decision.UNSURE: None}


def score_answer(split: SplitAnswer, judged: JudgedAnswer) -> AnswerScores:
    """The counts of an answer. A citation counts if its source supports the sentence alone, or if all sources of the
    sentence support it together and do not without this one. `unsure` decides nothing: what depends on it is
    undecided."""
    says = {(one.check, one.sentence, one.cited): _SAYS[one.decision] for one in judged.verdicts}
    citations = [
        _is_of_use(
            says[Check.TOGETHER, number, sentence.cited],
            says.get((Check.ALONE, number, (label,))),
            says.get((Check.WITHOUT, number, (label,))),
            is_only_one=len(sentence.cited) == 1,
        )
        for number, sentence in enumerate(split.sentences, start=1)
        for label in sentence.cited
    ]

    def of(check: Check, *, uncited: int = 0) -> Tally:
        return _tally([*(_SAYS[one.decision] for one in judged.verdicts if one.check is check), *[False] * uncited])

    has_reference = split.reference is not None
    unknown = sum(len(sentence.unknown) for sentence in split.sentences)
    return AnswerScores(
        sentences=len(split.sentences),
        citation_precision=_tally([*citations, *[False] * unknown]),
        citation_recall=of(Check.TOGETHER, uncited=sum(not sentence.cited for sentence in split.sentences)),
        correctness=of(Check.BY_REFERENCE) if has_reference else None,
        completeness=of(Check.IN_ANSWER) if has_reference else None,
        left_out=split.left_out,
    )


def _is_of_use(together: bool | None, alone: bool | None, without: bool | None, *, is_only_one: bool) -> bool | None:
    """None where it is undecided. What was not asked is None too."""
    if is_only_one or alone is True:
        return together if is_only_one else True
    if together is not True:
        return False if together is False and alone is False else None
    if without is False:
        return True
    return False if without is True and alone is False else None


def _tally(decisions: Iterable[bool | None]) -> Tally:
    counts = Counter(decisions)
    return Tally(yes=counts[True], no=counts[False], undecided=counts[None])


MOST_SENTENCES: Final = 100
"""Of an answer, and of a reference answer. Those after them are counted and not judged."""

MOST_LABELS: Final = 8
"""Of a sentence. The sources of a sentence that cites more are judged together alone."""

_LEADING: Final = re.compile(rf"(?:\s*{CITATION.pattern})+")


def split_answer(
    question: str, answer: str, *, labels: Collection[str], passages: Mapping[str, str], reference: str | None
) -> SplitAnswer:
    """The sentences of an answer in markdown and of its reference, and the passages that it cites. `labels` are the
    sources of its prompt, `passages` their texts."""
    found, of_reference = sentences_of(answer, labels), sentences_of(reference or "", ())
    judged = found[:MOST_SENTENCES]
    cited = dict.fromkeys(label for sentence in judged for label in sentence.cited)
    return SplitAnswer(
        question=question,
        sentences=judged,
        passages={label: passages[label] for label in cited},
        reference=None if reference is None else tuple(one.text for one in of_reference[:MOST_SENTENCES]),
        left_out=sum(max(0, len(of) - MOST_SENTENCES) for of in (found, of_reference)),
    )


def sentences_of(markdown: str, labels: Collection[str]) -> tuple[AnswerSentence, ...]:
    """The sentences of a text in markdown; headings and blocks of code are none.

    A citation between two sentences belongs to the first if that cites nothing else.

    >>> [(one.text, one.cited) for one in sentences_of("Tea is brown. [S1] Milk is white [S2].", ["S1"])]
    [('Tea is brown.', ('S1',)), ('Milk is white.', ())]
    """
    return tuple(
        AnswerSentence(
            text=text,
            cited=tuple(label for label in cited if label in labels),
            unknown=tuple(label for label in cited if label not in labels),
        )
        for block in _blocks(markdown)
        for text, cited in _sentences(block)
    )


def most_judgements(answer: str, labels: Collection[str], reference: str | None) -> int:
    """The most verdicts that a judge is asked for about an answer, and a reference answer.

    >>> most_judgements("So it is [S1]. And so [S1][S2].", ["S1", "S2"], "It is. So. Or not.")
    11
    """
    cited = [len(sentence.cited) for sentence in sentences_of(answer, labels)[:MOST_SENTENCES]]
    of_citations = sum(1 + 2 * count if 1 < count <= MOST_LABELS else 1 for count in cited if count)
    return of_citations + (0 if reference is None else len(cited) + len(sentences_of(reference, ())[:MOST_SENTENCES]))


def _blocks(markdown: str) -> Iterator[str]:
    """The running text of each block. A label in code is no citation: its brackets become parentheses."""
    is_heading = False
    for token in ANSWER_MARKDOWN.parse(markdown):
        if token.type == "inline" and not is_heading:
            yield "".join(
                " "
                if part.type in ("softbreak", "hardbreak")
                else CITATION.sub(lambda found: f"({found[1]})", part.content)
                if part.type == "code_inline"
                else part.content
                for part in token.children or ()
            )
        is_heading = token.type == "heading_open"


def _sentences(block: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Texts without citations, and the labels that each cites."""
    texts: list[str] = []
    cited: list[list[str]] = []
    for sentence in plain_sentences(block):
        leading = _LEADING.match(sentence)
        rest = sentence
        if leading is not None and texts and not cited[-1]:
            cited[-1] += _labels(leading[0])
            rest = sentence[leading.end() :]
        text = " ".join(CITATION.sub("", rest).split())
        text = re.sub(r" ([.,;:!?])", r"\1", text)
        if any(char.isalnum() for char in text):
            texts.append(text)
            cited.append(_labels(rest))
        elif texts:
            cited[-1] += _labels(rest)
    for text, labels in zip(texts, cited, strict=True):
        yield text, tuple(dict.fromkeys(labels))


def _labels(text: str) -> list[str]:
    return [label for found in CITATION.finditer(text) for label in LABEL.findall(found[1])]


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


_JOINT: Final = "\n\n"


async def judge_answer(split: SplitAnswer, *, chat: ChatModel, settings: RunSettings) -> JudgedAnswer:
    """Ask about each sentence that cites sources; with a reference answer, about its sentences and the answer's too.
    Sources that a sentence cites are judged together; several of them also each alone, and one that does not support
    the sentence alone by what the others support without it. Raises as `ask_verdict` does."""
    model, max_chars = settings.model.judge_model, settings.ragq.validation_max_chars
    verdicts: list[SupportVerdict] = []
    reasks: list[ReaskReason] = []

    async def ask(check: Check, number: int, statement: str, shown: Sequence[str], cited: tuple[str, ...]) -> Decision:
        task = _TASK.format(
            question=fenced("question", split.question),
            passages="\n".join(fenced("passage", passage, max_chars=max_chars) for passage in shown),
            statement=fenced("statement", statement),
        )
        messages = Message(role="system", content=_SYSTEM), Message(role="user", content=task)
        purpose = " ".join((f"judge {check} {number}", *cited))
        usable = await ask_verdict(messages, purpose=purpose, chat=chat, model=model, settings=settings)
        reasks.extend(usable.reasks)
        verdicts.append(SupportVerdict(check=check, sentence=number, cited=cited, decision=usable.read))
        return usable.read

    async def ask_about_sources(number: int, sentence: AnswerSentence) -> None:
        cited = sentence.cited
        together = await ask(Check.TOGETHER, number, sentence.text, [split.passages[label] for label in cited], cited)
        if not 1 < len(cited) <= MOST_LABELS:
            return
        for label in cited:
            alone = await ask(Check.ALONE, number, sentence.text, [split.passages[label]], (label,))
            if alone is not Decision.ACCEPT and together is Decision.ACCEPT:
                others = [split.passages[other] for other in cited if other != label]
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
