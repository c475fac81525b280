"""Every page."""

from typing import Final

from fastapi import APIRouter

from api.pages import (
    ask,
    compare,
    corpora,
    import_works,
    inspect,
    job,
    participants,
    plots,
    presets,
    question,
    question_actions,
    questions,
    reference,
    report_files,
    results,
    run,
    run_changes,
    run_settings,
    runs,
    scores,
    submit_participants,
    templates,
    work,
)

PAGES: Final[tuple[APIRouter, ...]] = (
    questions.router,
    ask.router,
    question_actions.router,
    question.router,
    inspect.router,
    results.router,
    runs.router,
    compare.router,
    run_settings.router,
    scores.pages,
    scores.files,
    report_files.router,
    participants.router,
    submit_participants.router,
    plots.pages,
    plots.images,
    run_changes.router,
    run.router,
    job.router,
    corpora.router,
    import_works.router,
    work.router,
    presets.router,
    templates.router,
    reference.router,
)
