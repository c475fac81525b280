"""The pages: what they show, and what their forms do."""

from typing import Final

from fastapi import APIRouter

from api.pages import (
    ask,
    compare,
    corpora,
    documents,
    evaluations,
    jobs,
    login,
    participants,
    presets,
    questions,
    results,
    runs,
    tags,
    templates,
)

PAGES: Final[tuple[APIRouter, ...]] = (
    login.router,
    questions.lists,
    ask.router,
    questions.actions,
    questions.router,
    results.router,
    compare.router,
    runs.router,
    jobs.router,
    participants.router,
    participants.files,
    results.files,
    tags.router,
    evaluations.router,
    corpora.router,
    documents.router,
    documents.files,
    presets.router,
    templates.router,
)
