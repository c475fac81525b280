"""Differences of runs for readers."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from schemas.errors import Refused
from schemas.settings.base import value_in_words
from schemas.values.differences import Difference, Movement, SettingDifference, SeveralRuns
from schemas.values.retrieval_reports import RetrievalDifference
from stages.reports.numbers_in_words import NOT_AVAILABLE, counted
from stages.reports.several_runs import shown_measures
from stages.reports.tables import Cell, Figure, Real, Ref, Remark, Sheet, Table
from stages.reports.words import origin_words


def difference_sheets(found: Sequence[Difference] | RetrievalDifference) -> list[Sheet]:
    """The measures of both runs, their paired differences, settings, and what moved; of scored runs one per mode."""
    return [_of_rankings(found)] if isinstance(found, RetrievalDifference) else [*map(_of_scores, found)]


def _of_scores(found: Difference) -> Sheet:
    left, right = (f"{side.run_id} {side.mode}" for side in (found.left, found.right))
    sides = [found.left] if found.left == found.right else [found.left, found.right]
    tokens = {"tokens": found.tokens} if found.tokens.left or found.tokens.right else {}
    metrics = Table(
        f"Difference of {right} from {left}",
        ("metric", left, right, "difference", "participants"),
        tuple(
            (name, Real(one.left), Real(one.right), Figure(one.delta, is_difference=True), one.participants)
            for name, one in (found.deltas | tokens).items()
        ),
        place="paper",
    )
    flips = Table(
        "Items with another score",
        ("participant", "item", left, right, "truth", "change of the error"),
        tuple(
            (
                *(str(one.participant_id), one.item.value, *map(_score, (one.left, one.right, one.truth))),
                "" if one.error_change is None else f"{one.error_change:+d}",
            )
            for one in found.flips
        ),
        ("Lost: scored in A, N/A in B. A negative change of the error is nearer the truth.",),
        texts=("item",),
        is_listing=True,
    )
    flip_counts = ", ".join(f"{count} {kind}" for kind, count in found.flip_counts.items())
    is_alike = found.left.origin == found.right.origin
    return Sheet(
        title=f"{right} - {left}",
        head=f"participants scored by both: {found.common_participants}",
        facts=(f"95 % percentile intervals over paired resamples of participants, confidence {found.confidence}",),
        notices=tuple(f"{side.run_id} {side.mode}: {notice}" for side in sides for notice in side.notices),
        parts=(
            metrics,
            *_settings(found.settings, found.left.run_id, found.right.run_id),
            *_alone(found, left, right),
            Remark(f"Items: {flip_counts}.", is_notice=False),
            *([flips] if found.flips else []),
        ),
        origin=()
        if is_alike
        else tuple(f"{side.run_id}: {words}" for side in sides for words in origin_words(side.origin)),
    )


def _of_rankings(found: RetrievalDifference) -> Sheet:
    left, right = found.left, found.right
    measures = Table(
        f"Difference of {right} from {left}",
        ("ranking", "measure", left, right, "difference", "queries"),
        tuple(
            (
                stage.value,
                name,
                Real(one.left, 4),
                Real(one.right, 4),
                Figure(one.delta, 4, is_difference=True),
                one.queries,
            )
            for stage, deltas in found.deltas.items()
            for name, one in deltas.items()
        ),
        texts=("measure",),
        place="paper",
    )
    tokens = Table(
        "Tokens of the calls for a query",
        ("", left, right, "difference", "queries"),
        (
            (
                *("mean", Real(found.tokens.left, 0), Real(found.tokens.right, 0)),
                *(Figure(found.tokens.delta, 0, is_difference=True), found.tokens.queries),
            ),
        ),
    )
    overlap = Table(
        "Passages that both have among the first",
        ("ranking", "share %"),
        tuple((stage.value, Real(share, is_share=True)) for stage, share in found.overlap.items()),
    )
    unlike = f"{counted(found.unlike_judgements, 'common query')} judged otherwise, in no difference."
    changes = (
        [
            Table(
                f"Queries with another nDCG in {found.changes[0].stage}",
                ("query", left, right),
                tuple((one.query, Real(one.left), Real(one.right)) for one in found.changes),
                is_listing=True,
            )
        ]
        if found.changes
        else []
    )
    return Sheet(
        title=f"{right} - {left}",
        head=f"queries of both: {found.common_queries}",
        facts=("95 % percentile intervals over paired resamples of queries",),
        notices=(),
        parts=(
            *(
                [measures]
                if found.deltas
                else [Remark("The runs have no judged query in common: nothing is measured.")]
            ),
            *([tokens] if found.tokens.left or found.tokens.right else []),
            *([overlap] if found.overlap else []),
            *_settings(found.settings, left, right),
            *_alone(found, left, right),
            *([Remark(unlike)] if found.unlike_judgements else []),
            *changes,
        ),
    )


def several_sheet(found: SeveralRuns, metrics: Collection[str] = ()) -> Sheet:
    """Settings that differ, each of `metrics` beside the baseline's, and what moved.

    Without `metrics` those of the kind of run are shown. Raises Refused for a measure that the runs do not have.
    """
    known = list(found.compared[0].measures) if found.compared else []
    if unknown := [name for name in metrics if name not in known]:
        raise Refused(f"There is no measure '{unknown[0]}' of these runs. There are: {', '.join(known)}.")
    baseline, *others = found.runs
    failed = [f"{run.run_id} {counted(run.failed, 'job')}" for run in found.compared if run.failed]
    rows = tuple(
        (name, *("" if value is None else value_in_words(value) for value in values))
        for name, values in found.settings.items()
    )
    return Sheet(
        title=f"{', '.join(others)} compared with {baseline}",
        head=", ".join(
            [
                *([found.mode] if found.mode else []),
                *([f"participants of split '{found.subjects_of}'"] if found.subjects_of else []),
            ]
        ),
        facts=(f"corrected: intervals that hold together for {counted(found.comparisons, 'comparison')}",),
        notices=(
            *(f"{baseline}: {notice}" for notice in found.baseline_notices),
            *([f"Not succeeded: {', '.join(failed)}."] if failed else []),
        ),
        parts=(
            *([Table("Settings that differ", ("setting", *found.runs), rows, texts=found.runs)] if rows else []),
            *(_measure(found, name) for name in metrics or shown_measures(found)),
            *([_movements(found)] if found.movements else []),
        ),
    )


def _measure(found: SeveralRuns, name: str) -> Table:
    before = found.runs[0]
    baseline = next((run.measures[name].baseline for run in found.compared), None)
    rows: list[tuple[Cell, ...]] = [(before, "", Real(baseline), "", "", "")]
    clear = []
    for run in found.compared:
        one = run.measures[name]
        corrected = Figure(one.corrected, is_difference=True)
        settings = ", ".join(f"{key}={value}" for key, value in run.settings.items())
        compared = Ref(run.run_id, f"/runs/compare?a={before}&b={run.run_id}")
        rows.append((compared, settings, Real(one.value), Figure(one.delta), corrected.bounds, one.subjects))
        clear += [run.run_id] if corrected.is_clear else []
    columns = ("run", "settings", "value", "difference", "corrected", "subjects")
    return Table(name, columns, tuple(rows), texts=("settings",), chosen=tuple(clear))


def _movements(found: SeveralRuns) -> Table:
    columns = ("subject", "item", "truth", *found.runs)
    rows = tuple(
        (
            *(move.subject, move.item or "", "" if move.truth is None else move.truth),
            *(_moved(move, place) for place in range(len(found.runs))),
        )
        for move in found.movements
    )
    return Table(f"What moved: {found.measured}", columns, rows, texts=("item",), is_listing=True)


def _moved(move: Movement, place: int) -> Cell:
    value, first, own = move.values[place], move.job_ids[0], move.job_ids[place]
    words = (move.changes[place] if move.changes else "") or (NOT_AVAILABLE if value is None else f"{value:.4g}")
    return Ref(words, f"/jobs/{first}/beside/{own}") if place and first and own else words


def _settings(settings: Mapping[str, SettingDifference], left: str, right: str) -> list[Table]:
    rows = tuple((name, value_in_words(one.left), value_in_words(one.right)) for name, one in settings.items())
    return [Table("Settings that differ", ("setting", left, right), rows, texts=(left, right))] if rows else []


#: Subjects that a sentence names; it counts the others.
_NAMED = 20


def _alone(found: Difference | RetrievalDifference, left: str, right: str) -> Iterator[Remark]:
    lists: dict[str, Sequence[object]] = {
        f"Failed in {left} only": found.failed_in_left_only,
        f"Failed in {right} only": found.failed_in_right_only,
        f"Only in {left}": found.only_in_left,
        f"Only in {right}": found.only_in_right,
    }
    for what, subjects in lists.items():
        if subjects:
            more = f" and {len(subjects) - _NAMED} more" if len(subjects) > _NAMED else ""
            yield Remark(f"{what}: {', '.join(map(str, subjects[:_NAMED]))}{more}.", is_notice=False)


def _score(score: int | None) -> str:
    return NOT_AVAILABLE if score is None else str(score)
