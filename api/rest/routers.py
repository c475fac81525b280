"""Every resource of the REST API."""

from typing import Final

from fastapi import APIRouter

from api.rest import (
    corpora,
    corpus,
    events,
    health,
    jobs,
    metrics,
    original_health,
    participants,
    presets,
    query_sets,
    run_results,
    runs,
    sessions,
    settings,
    tags,
    templates,
    vocabularies,
    works,
)
from api.rest.rag import answers, expansion, queries, results, steps, stream

ROUTERS: Final[tuple[APIRouter, ...]] = (
    queries.router,
    steps.router,
    answers.router,
    stream.router,
    results.router,
    expansion.router,
    query_sets.router,
    participants.router,
    run_results.router,
    runs.router,
    jobs.router,
    events.router,
    presets.router,
    templates.router,
    corpora.router,
    works.router,
    corpus.router,
    tags.router,
    vocabularies.router,
    settings.router,
    sessions.router,
    health.router,
    original_health.router,
    metrics.router,
)

#: The groups of the OpenAPI description, in their order.
TAGS: Final[list[dict[str, str]]] = [
    {"name": "questions", "description": "Questions to a corpus: expansion, steps, prompts, answers"},
    {"name": "participants", "description": "Splits of participants, and runs that score them"},
    {"name": "runs", "description": "What was submitted, its state, and actions on it"},
    {"name": "jobs", "description": "One subject of a run: its stages, every attempt, and actions on it"},
    {"name": "events", "description": "Server-sent events: changes as they happen"},
    {"name": "presets", "description": "Named values for questions, one of them the default"},
    {"name": "templates", "description": "Versions of prompts, one of each active"},
    {"name": "settings", "description": "What new runs are submitted with"},
    {"name": "sessions", "description": "Access for pages of other origins, by a token"},
    {"name": "corpora", "description": "Works that are searched together: their headings and chunks, imports"},
    {"name": "tags", "description": "Phrases submitted to a vocabulary, and their candidate tags"},
    {"name": "vocabularies", "description": "Closed sets of tags: imports, models, deletion"},
    {"name": "operations", "description": "Health and metrics"},
]
