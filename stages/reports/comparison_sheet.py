"""Runs compared with the first of them, for readers."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from schemas.errors import Refused
from schemas.settings.base import value_in_words
from schemas.values.differences import ComparedRun, Comparison, Movement
from stages.reports.comparison import SUBJECTS, headline_measures, shown_measures
from stages.reports.numbers_in_words import NOT_AVAILABLE, counted
from stages.reports.tables import Cell, Figure, Real, Ref, Remark, Sheet, Table
from stages.reports.words import origin_words

#: Subjects that a sentence names; it counts the others.
_NAMED = 20

_NOTHING_JUDGED = "The runs have no judged query in common: passages that both have and tokens alone are measured."


def comparison_sheet(found: Comparison, metrics: Collection[str] = ()) -> Sheet:
    """The measures of each run beside the baseline's, settings that differ, and what moved.

    Of two runs every measure is shown, of several runs those of their kind, or `metrics` alone. Raises Refused for a
    measure that the runs do not have.
    """
    known = headline_measures(found)
    if unknown := [name for name in metrics if name not in known]:
        raise Refused(f"There is no measure '{unknown[0]}' of these runs. There are: {', '.join(known)}.")
    names = _names(found)
    is_pair = found.comparisons == 1
    others = ", ".join(names[1:])
    measures = (
        [_pair(found, metrics)] if is_pair else [_measure(found, one) for one in metrics or shown_measures(found)]
    )
    return Sheet(
        title=f"{others} - {names[0]}" if is_pair else f"{others} compared with {names[0]}",
        head=f"{_column(found)} of both: {found.compared[0].subjects}" if is_pair else "",
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


def _column(found: Comparison) -> str:
    """What its subjects are, in one word."""
    return SUBJECTS[found.kind].split()[-1]


def _facts(found: Comparison) -> Iterator[str]:
    subjects = "subjects" if found.kind == "tags" else SUBJECTS[found.kind]
    by = f", confidence {found.confidence}" if found.confidence else ""
    yield f"95 % percentile intervals over paired resamples of {subjects}{by}"
    if found.subjects_of:
        yield f"participants of split '{found.subjects_of}'"
    if found.comparisons > 1:
        yield f"corrected: intervals that hold together for {counted(found.comparisons, 'comparison')}"


def _notices(found: Comparison) -> Iterator[str]:
    sides = [(found.runs[0], found.mode, found.baseline_notices)]
    sides += [(run.run_id, run.mode, run.notices) for run in found.compared]
    for run, mode, notices in dict.fromkeys(sides):
        for notice in notices:
            yield f"{run} {mode}: {notice}" if mode else f"{run}: {notice}"
    if failed := [f"{run.run_id} {counted(run.failed, 'job')}" for run in found.compared if run.failed]:
        yield f"Not succeeded: {', '.join(failed)}."


def _origins(found: Comparison) -> Iterator[str]:
    """What each run was computed with; nothing where all have the same."""
    origins = {found.runs[0]: found.baseline_origin} | {run.run_id: run.origin for run in found.compared}
    if any(one != found.baseline_origin for one in origins.values()):
        yield from (f"{run}: {words}" for run, origin in origins.items() for words in origin_words(origin))


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
            values = (Real(one.baseline, digits), Real(one.value, digits), "" if name == "overlap" else delta)
            rows.append((*([of] if has_rankings else []), name, *values, one.subjects))
    before, after = _names(found)
    columns = (*(["ranking", "measure"] if has_rankings else ["metric"]), before, after, "difference")
    caption = f"Difference of {after} from {before}"
    texts = ("measure",) if has_rankings else ()
    return Table(caption, (*columns, _column(found)), tuple(rows), texts=texts, place="paper")


def _measure(found: Comparison, name: str) -> Table:
    before = found.runs[0]
    baseline = next((run.measures[found.headline][name].baseline for run in found.compared), None)
    rows: list[tuple[Cell, ...]] = [(before, "", Real(baseline), "", "", "")]
    clear = []
    for run in found.compared:
        one = run.measures[found.headline][name]
        corrected = Figure(one.corrected, is_difference=True)
        settings = ", ".join(f"{key}={value}" for key, value in run.settings.items())
        compared = Ref(run.run_id, f"/runs/compare?runs={before},{run.run_id}")
        rows.append((compared, settings, Real(one.value), Figure(one.delta), corrected.bounds, one.subjects))
        clear += [run.run_id] if corrected.is_clear else []
    columns = ("run", "settings", "value", "difference", "corrected", _column(found))
    return Table(name, columns, tuple(rows), texts=("settings",), place="paper", chosen=tuple(clear))


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
        yield from _of_run(run, name, names[0])


def _of_run(run: ComparedRun, name: str, baseline: str) -> Iterator[Remark]:
    lists = {
        f"Failed in {baseline} only": run.baseline_failed_alone,
        f"Failed in {name} only": run.failed_alone,
        f"Only in {baseline}": run.missing,
        f"Only in {name}": run.only_here,
    }
    for what, subjects in lists.items():
        if subjects:
            more = f" and {len(subjects) - _NAMED} more" if len(subjects) > _NAMED else ""
            yield Remark(f"{what}: {', '.join(subjects[:_NAMED])}{more}.", is_notice=False)
    if run.unlike_judgements:
        yield Remark(f"{counted(run.unlike_judgements, 'common query')} judged otherwise, in no difference.")


def _moved(found: Comparison, names: Sequence[str]) -> Iterator[Table | Remark]:
    has_errors = found.comparisons == 1 and found.kind == "participant"
    if has_errors:
        kinds = Counter(map(_kind, found.movements))
        yield Remark(f"Items: {', '.join(f'{kinds[kind]} {kind}' for kind in ('lost', 'gained', 'changed'))}.", False)
    if not found.movements:
        return
    item = ("item", "truth") if found.kind == "participant" else ()
    columns = ("subject", *item, *names, *(("change of the error",) if has_errors else ()))
    rows = tuple(
        (
            move.subject,
            *((move.item or "", "" if move.truth is None else move.truth) if item else ()),
            *(_value(move, place) for place in range(len(names))),
            *((_error_change(move),) if has_errors else ()),
        )
        for move in found.movements
    )
    note = "Lost: scored in the first run alone. A negative change of the error is nearer the truth."
    notes = (note,) if has_errors else ()
    yield Table(f"What moved: {found.measured}", columns, rows, notes, texts=("item",), is_listing=True)


def _kind(move: Movement) -> str:
    before, after = move.values
    return "lost" if after is None else "gained" if before is None else "changed"


def _error_change(move: Movement) -> str:
    before, after = move.values
    if before is None or after is None or move.truth is None:
        return ""
    return f"{abs(after - move.truth) - abs(before - move.truth):+.0f}"


def _value(move: Movement, place: int) -> Cell:
    value, first, own = move.values[place], move.job_ids[0], move.job_ids[place]
    words = (move.changes[place] if move.changes else "") or (NOT_AVAILABLE if value is None else f"{value:.4g}")
    return Ref(words, f"/jobs/{first}/beside/{own}") if place and first and own else words
