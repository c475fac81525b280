"""The gate of two compared runs: a condition is met when the paired interval says so, not the difference alone."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from schemas.errors import Refused
from schemas.suggestions import did_you_mean
from schemas.values.differences import ComparedMeasure, Comparison, Gate, GateOutcome, Verdict
from schemas.values.reports import RankingStage
from stages.metrics.bootstrap import LEAST
from stages.reports.comparison import SUBJECTS
from stages.reports.numbers_in_words import bounds

EXAMPLE: Final = "mae increases"

_CONDITION: Final = re.compile(
    r"(?:(?P<of>[a-z_]{1,20}) )?(?P<measure>[a-z_@0-9]{1,40}) (?P<verb>increases|decreases)"
    r"(?: by more than (?P<margin>\d{0,9}(?:\.\d{1,9})?))?",
    re.ASCII,
)

#: What people call the headline measures of participants.
_SHORT: Final = {"mae": "item_mae_weighted", "coverage": "prediction_coverage", "cost": "tokens"}

#: Tokens of the calls for a participant or query.
_COST: Final = "cost"
#: What a cost of queries is of, in place of a ranking.
_CALLS: Final = "calls"

#: A two-sided test of 5 % finds this many standard errors in four of five cases: the normal quantiles of .975 and .8.
_SEEN_IN_FOUR_OF_FIVE: Final = 1.95996 + 0.84162


class Condition(NamedTuple):
    """What must not happen: a measure rises, or falls, by more than a margin."""

    words: str
    of: str | None
    """The mode, or the ranking; None for every mode that is compared, and for the last ranking."""
    measure: str
    increases: bool
    margin: float


def condition(words: str) -> Condition:
    """Reads `[MODE or RANKING] MEASURE increases|decreases [by more than NUMBER]`. Raises Refused for other words.

    >>> condition("few_shot mae increases by more than .1")
    Condition(words='few_shot mae increases by more than .1', of='few_shot', measure='mae', increases=True, margin=0.1)
    """
    plain = " ".join(words.lower().split())
    found = _CONDITION.fullmatch(plain)
    if found is None or found["margin"] in ("", "."):
        raise Refused(
            f"A condition is `MEASURE increases` or `MEASURE decreases`, with `by more than NUMBER` if small "
            f"differences are allowed, such as `{EXAMPLE}` or `ndcg@10 decreases by more than .02`."
        )
    return Condition(plain, found["of"], found["measure"], found["verb"] == "increases", float(found["margin"] or 0))


def gate(found: Sequence[Comparison], conditions: Sequence[Condition]) -> Gate:
    """Every condition on every mode that it is about. Raises Refused for a measure, mode or ranking not compared, and
    for more runs than two.
    """
    if any(one.comparisons != 1 for one in found):
        raise Refused("Conditions are decided between two runs; name one run to compare with.")
    verdicts = tuple(
        _verdict(one, of, compared, noun=SUBJECTS[found[0].kind])
        for one in conditions
        for of, compared in _chosen(one, _by_measure(found, one)).items()
    )
    return Gate(
        passed=all(one.outcome is GateOutcome.PASSED for one in verdicts),
        verdicts=verdicts,
        failed_alone=max((len(one.compared[0].failed_alone) for one in found), default=0),
        baseline_failed_alone=max((len(one.compared[0].baseline_failed_alone) for one in found), default=0),
    )


def gate_words(found: Gate) -> Iterator[str]:
    """A line for each condition, and one for subjects that are in no difference since they failed in one run alone."""
    for one in found.verdicts:
        yield f"{one.outcome}: {one.of} {one.condition}: {one.why}"
    failed = {"first": found.baseline_failed_alone, "second": found.failed_alone}
    for which, count in failed.items():
        if count:
            yield f"{count} failed in the {which} run alone, and are in no difference."


def _by_measure(found: Sequence[Comparison], asked: Condition) -> dict[str, Mapping[str, ComparedMeasure]]:
    """Mode or ranking -> measures: those that the condition names, or those that are shown first."""
    compared: dict[str, Mapping[str, ComparedMeasure]] = {}
    for one in found:
        (run,) = one.compared
        of = _CALLS if asked.measure == _COST and _CALLS in run.measures else one.headline
        compared |= run.measures if asked.of in [*RankingStage] else {of: run.measures.get(of, {})}
    return {name: measures for name, measures in compared.items() if measures}


def _chosen(asked: Condition, compared: Mapping[str, Mapping[str, ComparedMeasure]]) -> dict[str, ComparedMeasure]:
    if not compared:
        raise Refused(f"`{asked.words}`: the runs have nothing in common that is measured in both.")
    if asked.of is not None and asked.of not in compared:
        raise Refused(f"`{asked.words}`: '{asked.of}' is not compared; compared are {', '.join(compared)}.")
    measures = {of: measures for of, measures in compared.items() if asked.of in (None, of)}
    name = _SHORT.get(asked.measure, asked.measure)
    known = [*next(iter(measures.values()))]
    if name not in known:
        short = [word for word, long in _SHORT.items() if long in known]
        raise Refused(
            f"`{asked.words}`: there is no measure '{asked.measure}'.{did_you_mean(asked.measure, [*short, *known])} "
            f"Compared are {', '.join(known)}."
        )
    return {of: one[name] for of, one in measures.items()}


def _verdict(asked: Condition, of: str, compared: ComparedMeasure, *, noun: str) -> Verdict:
    delta = compared.delta
    about = {"condition": asked.words, "of": of, "subjects": compared.subjects, "delta": delta}
    if delta.value is None or delta.low is None or delta.high is None:
        why = f"{noun} with a value in both runs: {compared.subjects}; an interval takes {LEAST}."
        return Verdict(outcome=GateOutcome.UNDECIDED, seen_from=None, why=why, **about)
    is_met = delta.low > asked.margin if asked.increases else delta.high < -asked.margin
    seen_from = asked.margin + _SEEN_IN_FOUR_OF_FIVE * (delta.std or 0.0)
    why = f"difference {delta.value:+.3f}, 95 % interval {bounds(delta)}, {compared.subjects} {noun}."
    if not is_met and delta.std:
        kind = "an increase" if asked.increases else "a decrease"
        why += f" About 4 of 5 comparisons of so many see {kind} of {seen_from:.3f}; fewer see a smaller one."
    return Verdict(outcome=GateOutcome.FAILED if is_met else GateOutcome.PASSED, seen_from=seen_from, why=why, **about)
