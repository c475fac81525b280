"""Every page."""

from typing import Final

from fastapi import APIRouter

from api.pages import ask, job, plots, question_actions, questions, run, runs

PAGES: Final[tuple[APIRouter, ...]] = (
    questions.router,
    ask.router,
    question_actions.router,
    runs.router,
    plots.pages,
    plots.images,
    run.router,
    job.router,
)
