"""A run as a table in the terminal."""

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from cli.changed_settings import changed_table
from cli.origin_lines import origin_lines
from cli.output import coloured, plain_table
from schemas.chains import in_order
from schemas.settings.changes import changed_settings
from schemas.statuses import JobStatus, StageStatus
from stages.reports.run_words import notices, variants_in_words
from store.runs.run_view import JobView, RunView
from store.runs.stage_runs import StageRun

_MARKS = {
    StageStatus.WAITING: ("·", "dim"),
    StageStatus.READY: ("○", "cyan"),
    StageStatus.RUNNING: ("◐", "blue"),
    StageStatus.DONE: ("●", "green"),
    StageStatus.FAILED: ("✗", "red"),
}

#: Jobs of an index run that are listed: there may be one for each of thousands of chunks.
LISTED_JOBS = 20


def run_table(view: RunView) -> RenderableType:
    """Head, one line per job, and the errors of jobs that failed.

    Of an index run, whose jobs are all alike, only some are shown that did not succeed or are still unfinished.
    """
    if view.overview.kind != "index":
        return Group(_head(view), *_listed(view, view.jobs))
    unfinished = [job for job in view.jobs if job.status is not JobStatus.SUCCEEDED]
    unfinished.sort(key=lambda job: (job.error is None, job.status is JobStatus.WAITING))
    more = len(unfinished) - LISTED_JOBS
    rest = [Text(f"and {more} more; --json has all of them", style="dim")] if more > 0 else []
    return Group(_head(view), *_listed(view, unfinished[:LISTED_JOBS]), *rest)


def _head(view: RunView) -> RenderableType:
    overview = view.overview
    states = ", ".join(f"{count} {status}" for status, count in overview.states.items())
    lines = [
        Text.assemble(
            (overview.title, "bold"),
            f"  {overview.kind}  profile {overview.profile}  {overview.jobs} jobs: {states}",
        )
    ]
    if overview.note:
        lines.append(Text(overview.note))
    if why := overview.request.get("profile_source"):
        lines.append(Text(f"profile {overview.profile}: {why}", style="dim"))
    if variants := variants_in_words(overview.request):
        lines.append(Text(variants, style="dim"))
    vocabulary = overview.request.get("vocabulary")
    lines += [Text(words, style="yellow") for words in notices(overview.kind, overview.profile, overview.request)]
    if view.cut_texts:
        lines.append(Text(f"cut at the length that the embedder reads: {view.cut_texts} texts", style="yellow"))
    if preset := overview.request.get("preset"):
        lines.append(Text(f"corpus {overview.request['corpus']}  preset {preset}", style="dim"))
    changed = changed_settings(overview.profile, view.settings)
    if vocabulary:
        seed = overview.request.get("seed")
        lines.append(Text(f"vocabulary {vocabulary}" + ("" if seed is None else f"  seed {seed}"), style="dim"))
        changed = {name: one for name, one in changed.items() if name.startswith("PSQ_") and overview.kind == "tags"}
    lines += origin_lines(view.origin)
    return Group(*lines, *([changed_table(changed, profile=overview.profile)] if changed else []))


def _listed(view: RunView, jobs: list[JobView]) -> list[RenderableType]:
    return [_jobs(view.overview.kind, jobs), *_errors(view.overview.id, jobs), _legend()] if jobs else []


def _jobs(kind: str, jobs: list[JobView]) -> Table:
    stages = in_order(kind, {stage.stage for job in jobs for stage in job.stages})
    table = plain_table("job", Column("subject", justify="right"), "mode", "status")
    for stage in stages:
        table.add_column(stage, justify="center")
    has_references = "validate" in stages
    if has_references:
        table.add_column("kept/rejected")
    has_calls = has_references or any(job.llm_paid or job.llm_reused for job in jobs)
    if has_calls:
        table.add_column("LLM calls", justify="right")
    table.add_column("seconds", justify="right")
    for job in jobs:
        by_stage = {stage.stage: stage for stage in job.stages}
        table.add_row(
            f"j{job.job_id}",
            job.subject,
            job.mode,
            coloured(job.status),
            *(_mark(by_stage.get(stage)) for stage in stages),
            *((references(job),) if has_references else ()),
            *((calls(job),) if has_calls else ()),
            f"{job.seconds:.1f}",
        )
    return table


def _mark(stage: StageRun | None) -> Text:
    if stage is None:
        return Text("")
    mark, style = _MARKS[stage.status]
    again = f"×{stage.attempts}" if stage.attempts > 1 else ""
    seconds = f" {stage.seconds:.1f}" if stage.seconds is not None else ""
    return Text(f"{mark}{again}{seconds}", style=style)


def references(job: JobView) -> str:
    """How many references each item kept and rejected, `Sleep 2/1`, or chunks, or tags; items without are left out."""
    return " ".join(f"{item} {job.kept.get(item, 0)}/{job.rejected.get(item, 0)}" for item in job.judged)


def calls(job: JobView) -> str:
    """How many language model calls a job paid for, and how many the ledger answered."""
    return f"{job.llm_paid}" + (f" (+{job.llm_reused} reused)" if job.llm_reused else "")


def _errors(run_id: int, jobs: list[JobView]) -> list[RenderableType]:
    errors = [
        Text(
            f"j{job.job_id} {job.error.stage} attempt {job.error.attempt}: {job.error.message} ({job.error.category})",
            style="red",
        )
        for job in jobs
        if job.error is not None
    ]
    advice = f"`ragq inspect JOB STAGE` shows the details; `ragq retry r{run_id}` continues from the failed stage."
    return [*errors, Text(advice, style="dim")] if errors else []


def _legend() -> Text:
    return Text("  ".join(f"{mark} {status}" for status, (mark, _) in _MARKS.items()), style="dim")
