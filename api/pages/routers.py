"""Every page."""

from typing import Final

from fastapi import APIRouter

from api.pages import (
    ask,
    corpora,
    import_works,
    inspect,
    job,
    plots,
    presets,
    question,
    question_actions,
    questions,
    results,
    run,
    run_changes,
    runs,
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
)
