"""The pages: what they show, and what their forms do."""

from typing import Final

from fastapi import APIRouter

from api.pages import ask, corpora, documents, login, presets, questions, results, runs, tags

PAGES: Final[tuple[APIRouter, ...]] = (
    login.router,
    ask.router,
    questions.router,
    results.router,
    runs.router,
    tags.router,
    corpora.router,
    documents.router,
    presets.router,
)
