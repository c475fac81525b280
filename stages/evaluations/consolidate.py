"""Stage `consolidate` of an evaluation: what the verdicts amount to."""

from collections import Counter
from collections.abc import Iterable

from schemas.values.evaluations import AnswerScores, Check, JudgedAnswer, SplitAnswer, Tally
from schemas.values.verdicts import Decision

_SAYS = {Decision.ACCEPT: True, Decision.REJECT: False, Decision.UNSURE: None}


def score_answer(split: SplitAnswer, judged: JudgedAnswer) -> AnswerScores:
    """The counts of an answer.

    A citation counts if its source supports the sentence alone, or if all sources of the sentence support it together
    and do not without this one. `unsure` decides nothing: what depends on it is undecided.
    """
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

    def of(check: Check) -> Tally:
        return _tally(_SAYS[one.decision] for one in judged.verdicts if one.check is check)

    has_reference = split.reference is not None
    return AnswerScores(
        sentences=len(split.sentences),
        uncited=sum(not sentence.cited for sentence in split.sentences),
        supported=of(Check.TOGETHER),
        citations=_tally(citations),
        unknown_citations=sum(len(sentence.unknown) for sentence in split.sentences),
        correct=of(Check.BY_REFERENCE) if has_reference else None,
        complete=of(Check.IN_ANSWER) if has_reference else None,
        left_out=split.left_out + split.reference_left_out,
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
