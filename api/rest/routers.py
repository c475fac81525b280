"""Every resource of the REST API."""

from typing import Final

from fastapi import APIRouter

from api.rest import corpora, events, health, jobs, presets, runs, templates
from api.rest.rag import answers, expansion, queries, results, steps

ROUTERS: Final[tuple[APIRouter, ...]] = (
    queries.router,
    steps.router,
    answers.router,
    results.router,
    expansion.router,
    runs.router,
    jobs.router,
    events.router,
    presets.router,
    templates.router,
    corpora.router,
    health.router,
)
