"""A run as a table in the terminal."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group

from cli.output import Drawing, FittingTable, Text, draw, figure_table, spaced
from cli.sheets import rows_drawing
from schemas.settings.profiles import Changed, changed_in_words, changed_settings
from schemas.values.costs import RunCost
from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.scoring import JobScores, ScoreTable
from services.listings import changed_table, jobs_table
from stages.reports.costs import cost_words
from stages.reports.words import counted, limits_in_words, number, origin_words, split_in_words, variants_in_words
from store.runs.batches import batches_in_words
from store.runs.forks import Family
from store.runs.notifications import notification_in_words
from store.runs.run_view import JobView, RunView, waits_in_words

#: Jobs that are listed, the most urgent ones, and errors. JSON has all of them.
SHOWN_JOBS = 100
SHOWN_ERRORS = 10


def run_table(view: RunView) -> Drawing:
    """Head, a line for each of the first jobs of the view, and the errors of those that failed."""
    more = view.run.jobs - len(view.jobs[:SHOWN_JOBS])
    rest = [Text(f"and {more} more; --json has all of them", style="dim")] if more > 0 else []
    return Group(*_head(view), *_listed(view, view.jobs[:SHOWN_JOBS]), *rest)


def run_details(view: RunView, cost: RunCost) -> Drawing:
    """What only `ragq show` prints: the cost of a run, by model and stage too, its profile, settings and origin."""
    overview = view.run
    why = overview.request.get("profile_source")
    lines = [*([f"profile {overview.profile}: {why}"] if why else []), *_family(view.family)]
    if view.notification is not None:
        lines.append(notification_in_words(view.notification))
    lines += origin_words(view.origin)
    changed = _changed(view)
    table: list[Drawing] = [Text(), rows_drawing(changed_table(changed, overview.profile))] if changed else []
    costs = [Text("cost", style="bold"), *(Text(f"  {words}") for words in cost_words(cost))]
    return Group(*costs, Text(), *(Text(words, style="dim") for words in lines), *table)


def _family(family: Family) -> Iterator[str]:
    if family.stage is not None:
        gone = "" if family.parent_id is not None else ", which is deleted"
        yield f"forked from r{family.named}{gone} at stage {family.stage}"
    if family.children:
        yield f"forks: {', '.join(f'r{run_id} at {stage}' for run_id, stage in family.children.items())}"


def _changed(view: RunView) -> Changed:
    overview = view.run
    kind = "tags" if overview.request.get("vocabulary") else overview.kind
    return changed_settings(overview.profile, view.settings, kind=kind)


def _head(view: RunView) -> Iterator[Drawing]:
    overview, request = view.run, view.run.request
    states = ", ".join(f"{count} {status}" for status, count in overview.states.items())
    jobs = f"{counted(overview.jobs, 'job')}: {states}"
    yield Text.assemble((overview.title, "bold"), f"  {overview.kind}  profile {overview.profile}  {jobs}")
    if overview.note:
        yield Text(overview.note)
    if variants := variants_in_words(request):
        yield Text(", ".join(filter(None, (split_in_words(request), variants))), style="dim")
    for notice in overview.notices:
        yield Text(notice, style="yellow")
    if view.cut_texts:
        yield Text(f"cut at the length that the embedder reads: {view.cut_texts} texts", style="yellow")
    if preset := request.get("preset"):
        yield Text(f"corpus {request['corpus']}  preset {preset}", style="dim")
    if vocabulary := request.get("vocabulary"):
        yield Text(f"vocabulary {vocabulary}", style="dim")
    if view.limits is not None:
        yield Text(limits_in_words(view.limits), style="dim")
    yield from (Text(words, style="yellow") for words in batches_in_words(view.batches))
    if changed := _changed(view):
        yield Text(changed_in_words(changed, profile=overview.profile, run=f"r{overview.id}"), style="dim")


def _listed(view: RunView, jobs: list[JobView]) -> list[Drawing]:
    if not jobs:
        return []
    waits = [Text(words, style="yellow") for words in waits_in_words(view.jobs)]
    return [rows_drawing(jobs_table(view.run.kind, jobs)), *_errors(view.run.id, jobs), *waits]


def _errors(run_id: int, jobs: list[JobView]) -> list[Drawing]:
    errors = [
        f"j{job.job_id} {job.error.stage} attempt {job.error.attempt}: {job.error.message} ({job.error.category})"
        for job in jobs
        if job.error is not None
    ]
    more = [f"and others: `ragq failures r{run_id}` lists all"] if len(errors) > SHOWN_ERRORS else []
    advice = f"`ragq inspect JOB STAGE` shows the details; `ragq retry r{run_id}` continues from the failed stage."
    shown: list[Drawing] = [Text(words, style="red") for words in (*errors[:SHOWN_ERRORS], *more)]
    return [*shown, Text(advice, style="dim")] if errors else []


def print_run(view: RunView, scores: ScoreTable | None) -> None:
    """Print a run and the scores of participants."""
    draw(run_table(view))
    if scores is not None:
        draw("", score_table(scores))


def run_json(view: RunView, scores: ScoreTable | None) -> dict[str, Any]:
    """The run as JSON shows it: `scores` is null where no job scores a participant."""
    return {**vars(view), "scores": scores}


#: Participants in a terminal, and those that have room beside each other in 80 columns.
_SHOWN, _BESIDE = 9, 3
#: A total that N/A items leave open is as long as `truth`: `10-24`.
_CELL = 5
_MISSING = "-"
_HEADINGS = {AssessmentMode.FEW_SHOT: "few", AssessmentMode.ZERO_SHOT: "zero"}


def score_table(scores: ScoreTable) -> Drawing:
    """The error of each mode, the items of the first participants beside the truth, and who is missing."""
    modes = [summary.mode for summary in scores.modes]
    people = [*scores.by_participant.values()][:_SHOWN]
    tables = [_participants(people[start : start + _BESIDE], modes) for start in range(0, len(people), _BESIDE)]
    return spaced([_summaries(scores), *tables, *_notes_of_scores(scores)])


def _summaries(scores: ScoreTable) -> FittingTable:
    table = figure_table("mode", "MAE", "median's MAE", "mode's MAE", "items compared", "N/A", "participants scored")
    for one in scores.modes:
        errors = map(number, (one.mae, one.median_mae, one.modal_mae))
        table.add_row(one.mode, *errors, one.compared_items, one.na_items, f"{one.scored} of {one.participants}")
    return table


def _participants(people: Sequence[Sequence[JobScores]], modes: Sequence[AssessmentMode]) -> FittingTable:
    table = FittingTable("\nitem")
    columns: list[list[str]] = []
    for rows in people:
        for place, heading in enumerate([*(_HEADINGS[mode] for mode in modes), "truth"]):
            table.add_column(f"{'' if place else rows[0].participant_id}\n{heading}", justify="right", min_width=_CELL)
        by_mode = {row.mode: row for row in rows}
        columns += [_scored(by_mode.get(mode)) for mode in modes]
        truth = (rows[0].truth or {}).values()
        columns.append([*map(str, (*truth, sum(truth))), ""] if truth else [*([_MISSING] * 9), ""])
    styles = {"total": "bold", "MAE": "dim"}
    for name, *cells in zip([*PHQ8Item, "total", "MAE"], *columns, strict=True):
        table.add_row(name, *cells, style=styles.get(name))
    return table


def _scored(one: JobScores | None) -> list[str]:
    if one is None or one.scores is None or one.totals is None:
        return [_MISSING] * 10
    items = [number(one.scores[item], 0) for item in PHQ8Item]
    return [*items, "-".join(map(str, sorted({*one.totals}))), _MISSING if one.mae is None else number(one.mae, 2)]


def _notes_of_scores(scores: ScoreTable) -> list[Text]:
    notes = []
    if (more := len(scores.by_participant) - _SHOWN) > 0:
        notes.append(f"and {more} more participants; --json has all of them")
    if any(mode.median_mae is not None for mode in scores.modes):
        notes.append("median's, mode's: always the median, the most frequent score, of the item in the training split.")
    if any(mode.na_items for mode in scores.modes):
        notes.append("N/A: the model gave no score; a total of two numbers counts N/A as 0 and as 3.")
    if unscored := [f"{one.participant_id} {one.mode} ({one.status})" for one in scores.scores if one.scores is None]:
        notes.append(f"Not scored: {', '.join(unscored)}.")
    if untrue := [str(person) for person, (one, *_) in scores.by_participant.items() if one.truth is None]:
        notes.append(f"Without ground truth: {', '.join(untrue)}.")
    return [Text("\n".join(notes), style="dim")] if notes else []
