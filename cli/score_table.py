"""The scores of a participant run in the terminal: items as lines, participants side by side, 80 columns wide."""

from collections.abc import Sequence

from cli.output import Drawing, FittingTable, Text, figure_table, plain_table, spaced
from schemas.values.metrics import ModeScores, ParticipantRow, ScoreTable
from schemas.values.participants import AssessmentMode, PHQ8Item
from stages.reports.numbers_in_words import NOT_AVAILABLE, number

_COLUMNS = 80
_SHOWN = 8
_ITEM_COLUMN = max(len(item) for item in PHQ8Item)
#: A total that N/A items leave open is as long as `truth`: `10-24`.
_CELL = 5
_GAP = 2
_MISSING = "-"
_HEADINGS = {AssessmentMode.FEW_SHOT: "few", AssessmentMode.ZERO_SHOT: "zero"}


def score_table(scores: ScoreTable) -> Drawing:
    """The error of each mode, the items of the first participants beside the truth, and who is missing."""
    modes = [summary.mode for summary in scores.modes]
    width = (len(modes) + 1) * (_CELL + _GAP)
    beside = max(1, (_COLUMNS - _ITEM_COLUMN - 1) // width)
    rows = scores.participants[:_SHOWN]
    tables = [_participants(rows[start : start + beside], modes) for start in range(0, len(rows), beside)]
    return spaced([_summaries(scores), *tables, *_notes(scores)])


def _summaries(scores: ScoreTable) -> FittingTable:
    has_baseline = any(mode.median_mae is not None for mode in scores.modes)
    beside = ("median's MAE", "mode's MAE") if has_baseline else ()
    table = figure_table("mode", "MAE", *beside, "items compared", "N/A", "participants scored")
    for mode in scores.modes:
        table.add_row(
            mode.mode,
            number(mode.mae),
            *((number(mode.median_mae), number(mode.modal_mae)) if has_baseline else ()),
            str(mode.compared_items),
            str(mode.na_items),
            f"{mode.scored} of {mode.participants}",
        )
    return table


def _participants(rows: Sequence[ParticipantRow], modes: Sequence[AssessmentMode]) -> FittingTable:
    table = plain_table("\nitem")
    for row in rows:
        for place, heading in enumerate([*(_HEADINGS[mode] for mode in modes), "truth"]):
            table.add_column(f"{row.participant_id if not place else ''}\n{heading}", justify="right", min_width=_CELL)
    for item in PHQ8Item:
        cells: list[str] = []
        for row in rows:
            cells += [_item(row.modes.get(mode), item) for mode in modes]
            cells.append(_MISSING if row.truth is None else str(row.truth[item]))
        table.add_row(item, *cells)
    totals: list[str] = []
    errors: list[str] = []
    for row in rows:
        totals += [_total(row.modes.get(mode)) for mode in modes]
        totals.append(_MISSING if row.truth_total is None else str(row.truth_total))
        errors += [*(_error(row.modes.get(mode)) for mode in modes), ""]
    table.add_row("total", *totals, style="bold")
    table.add_row("MAE", *errors, style="dim")
    return table


def _item(scores: ModeScores | None, item: PHQ8Item) -> str:
    if scores is None or scores.items is None:
        return _MISSING
    score = scores.items[item]
    return NOT_AVAILABLE if score is None else str(score)


def _total(scores: ModeScores | None) -> str:
    if scores is None or scores.items is None:
        return _MISSING
    return f"{scores.lowest_total}-{scores.highest_total}" if scores.total is None else str(scores.total)


def _error(scores: ModeScores | None) -> str:
    return _MISSING if scores is None or scores.mae is None else number(scores.mae, 2)


def _notes(scores: ScoreTable) -> list[Text]:
    """What the signs in the table mean, those that are there, and who has no scores or no truth."""
    notes = []
    if (more := len(scores.participants) - _SHOWN) > 0:
        notes.append(f"and {more} more participants; --json has all of them")
    if any(mode.median_mae is not None for mode in scores.modes):
        notes.append("median's, mode's: always the median, the most frequent score, of the item in the training split.")
    if any(mode.na_items for mode in scores.modes):
        notes.append("N/A: the model gave no score; a total of two numbers counts N/A as 0 and as 3.")
    unscored = [
        f"{row.participant_id} {mode} ({one.status})"
        for row in scores.participants
        for mode, one in row.modes.items()
        if one.items is None
    ]
    if unscored:
        notes.append(f"Not scored: {', '.join(unscored)}.")
    if untrue := [str(row.participant_id) for row in scores.participants if row.truth is None]:
        notes.append(f"Without ground truth: {', '.join(untrue)}.")
    return [Text("\n".join(notes), style="dim")] if notes else []
