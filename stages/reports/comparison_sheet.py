"""Runs compared with the first of them, for readers; and the gate of two of them: a condition is met when the paired
interval says so, not the difference alone."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from schemas.errors import Refused
from schemas.settings.base import value_in_words
from schemas.suggestions import did_you_mean
from schemas.values.differences import ComparedMeasure, Comparison, GateOutcome, Movement, Verdict
from schemas.values.reports import RankingStage
from schemas.values.scoring import LEAST
from stages.reports.comparison import SUBJECTS, headline_measures
from stages.reports.tables import UI, Cell, Figure, Ref, Remark, Sheet, Table
from stages.reports.words import NOT_AVAILABLE, bounds, counted, origin_words
from stages.texts.characters import listed

#: Of several runs of participants, unless others are named.
_SHOWN: Final = ("item_mae_weighted", "prediction_coverage", "aurc")
_NOTHING_JUDGED = "The runs have no judged query in common: passages that both have and tokens alone are measured."


def comparison_sheet(found: Comparison, metrics: Collection[str] = ()) -> Sheet:
    """The measures of each run beside the baseline's, settings that differ, and what moved; of several runs the main
    measures, or `metrics` alone. Raises Refused for a measure that the runs do not have."""
    known = headline_measures(found)
    if unknown := [name for name in metrics if name not in known]:
        raise Refused(f"There is no measure '{unknown[0]}' of these runs. There are: {', '.join(known)}.")
    names = _names(found)
    is_pair = len(found.compared) == 1
    others = ", ".join(names[1:])
    shown = _SHOWN if found.kind == "participant" else known
    measures = [_pair(found, metrics)] if is_pair else [_measure(found, one) for one in metrics or shown]
    return Sheet(
        title=f"{others} - {names[0]}" if is_pair else f"{others} compared with {names[0]}",
        head=f"{SUBJECTS[found.kind]} of both: {found.compared[0].subjects}" if is_pair else "",
        facts=tuple(_facts(found)),
        notices=tuple(_notices(found)),
        parts=(
            *(table for table in measures if table.rows),
            *([] if found.headline else [Remark(_NOTHING_JUDGED)]),
            *_settings(found, names),
            *_alone(found, names),
            *_moved(found, names),
        ),
        origin=tuple(_origins(found)),
    )


def _names(found: Comparison) -> tuple[str, ...]:
    modes = [found.mode, *(run.mode for run in found.compared)]
    return tuple(f"{run} {mode}" if mode else run for run, mode in zip(found.runs, modes, strict=True))


def _facts(found: Comparison) -> Iterator[str]:
    by = f", confidence {found.confidence}" if found.confidence else ""
    yield f"95 % percentile intervals over paired resamples of {SUBJECTS[found.kind]}{by}"
    if len(found.compared) > 1:
        yield f"corrected: intervals that hold together for {len(found.compared)} comparisons"


def _notices(found: Comparison) -> Iterator[str]:
    runs_of: dict[str, list[str]] = {}
    for run, notices in found.notices.items():
        for notice in notices:
            runs_of.setdefault(notice, []).append(run)
    yield from (f"{', '.join(runs)}: {notice}" for notice, runs in runs_of.items())
    if failed := [f"{run.run_id} {counted(run.failed, 'job')}" for run in found.compared if run.failed]:
        yield f"Not succeeded: {', '.join(failed)}."
    if len(found.compared) > 1:
        yield "A run that is chosen here looks better than it is; its settings on other subjects show how good."


def _origins(found: Comparison) -> Iterator[str]:
    """What each run was computed with; nothing where all have the same."""
    if any(one != found.origins[found.runs[0]] for one in found.origins.values()):
        yield from (f"{run}: {words}" for run, origin in found.origins.items() for words in origin_words(origin))


def _pair(found: Comparison, metrics: Collection[str]) -> Table:
    """Both values and the difference; of queries in every ranking."""
    (run,) = found.compared
    has_rankings = found.kind == "query"
    rows: list[tuple[Cell, ...]] = []
    for of, measures in run.measures.items():
        for name, one in measures.items():
            if (metrics and name not in metrics) or (name == "tokens" and not (one.baseline or one.value)):
                continue
            digits = 0 if name == "tokens" else 4 if has_rankings else 3
            delta = Figure(one.delta, digits, is_difference=True)
            values = (Figure(one.baseline, digits), Figure(one.value, digits), "" if name == "overlap" else delta)
            rows.append((*([of] if has_rankings else []), name, *values, one.subjects))
    before, after = _names(found)
    columns = (*(["ranking", "measure"] if has_rankings else ["metric"]), before, after, "difference")
    caption = f"Difference of {after} from {before}"
    texts = ("measure",) if has_rankings else ()
    return Table(caption, (*columns, SUBJECTS[found.kind]), tuple(rows), texts=texts, is_for_papers=True)


def _measure(found: Comparison, name: str) -> Table:
    before = found.runs[0]
    baseline = next((run.measures[found.headline][name].baseline for run in found.compared), None)
    rows: list[tuple[Cell, ...]] = [(before, "", Figure(baseline), "", "", "")]
    clear = []
    for place, run in enumerate(found.compared, start=1):
        one = run.measures[found.headline][name]
        corrected = Figure(one.corrected, is_difference=True)
        own = {key: values[place] for key, values in found.settings.items() if values[place] != values[0]}
        settings = ", ".join(f"{key}={value}" for key, value in own.items())
        compared = Ref(run.run_id, f"{UI}/runs/compare?runs={before},{run.run_id}")
        rows.append((compared, settings, Figure(one.value), Figure(one.delta), corrected.bounds, one.subjects))
        clear += [run.run_id] if corrected.is_clear else []
    columns = ("run", "settings", "value", "difference", "corrected", SUBJECTS[found.kind])
    return Table(name, columns, tuple(rows), texts=("settings",), is_for_papers=True, chosen=tuple(clear))


def _settings(found: Comparison, names: Sequence[str]) -> Iterator[Table]:
    rows = tuple(
        (name, *("" if value is None else value_in_words(value) for value in values))
        for name, values in found.settings.items()
    )
    if rows:
        yield Table("Settings that differ", ("setting", *names), rows, texts=tuple(names))


def _alone(found: Comparison, names: Sequence[str]) -> Iterator[Remark]:
    """Who is in no difference."""
    for run, name in zip(found.compared, names[1:], strict=True):
        lists = {
            f"Failed in {names[0]} only": run.baseline_failed_alone,
            f"Failed in {name} only": run.failed_alone,
            f"Only in {names[0]}": run.missing,
            f"Only in {name}": run.only_here,
        }
        for what, subjects in lists.items():
            if subjects:
                yield Remark(f"{what}: {listed(subjects)}.", is_notice=False)
        if run.unlike_judgements:
            yield Remark(f"Common queries judged otherwise, in no difference: {run.unlike_judgements}.")


def _moved(found: Comparison, names: Sequence[str]) -> Iterator[Table | Remark]:
    notes: tuple[str, ...] = ()
    if len(found.compared) == 1 and found.kind == "participant":
        kinds = Counter(map(_kind, found.movements))
        yield Remark(f"Items: {', '.join(f'{kinds[kind]} {kind}' for kind in ('lost', 'gained', 'changed'))}.", False)
        notes = ("Lost: scored in the first run alone.",)
    if not found.movements:
        return
    item = ("item", "truth") if found.kind == "participant" else ()
    rows = tuple(
        (
            move.subject,
            *((move.item or "", "" if move.truth is None else move.truth) if item else ()),
            *(_value(move, place) for place in range(len(names))),
        )
        for move in found.movements
    )
    columns = ("subject", *item, *names)
    yield Table(f"What moved: {found.measured}", columns, rows, notes, texts=("item",), is_listing=True)


def _kind(move: Movement) -> str:
    before, after = move.values
    return "lost" if after is None else "gained" if before is None else "changed"


def _value(move: Movement, place: int) -> Cell:
    value, job_id = move.values[place], move.job_ids[place]
    words = NOT_AVAILABLE if value is None else f"{value:.4g}"
    return Ref(words, f"{UI}/jobs/{job_id}") if job_id else words


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


def gate(found: Sequence[Comparison], conditions: Sequence[Condition]) -> list[Verdict]:
    """Every condition on every mode that it is about. Raises Refused for what is not compared, and for several runs."""
    if conditions and any(len(one.compared) != 1 for one in found):
        raise Refused("Conditions are decided between two runs; name one run to compare with.")
    return [
        _verdict(one, of, compared, noun=SUBJECTS[found[0].kind])
        for one in conditions
        for of, compared in _chosen(one, _by_measure(found, one)).items()
    ]


def passed(verdicts: Sequence[Verdict]) -> bool:
    """Every condition is decided, and none is met."""
    return all(one.outcome is GateOutcome.PASSED for one in verdicts)


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
