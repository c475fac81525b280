"""The REST API, one file per resource."""

from typing import Final

from fastapi import APIRouter

from api.rest import corpora, events, health, original_client, presets, queries, runs, steps, submissions, tags

ROUTERS: Final[tuple[APIRouter, ...]] = (
    queries.router,
    steps.router,
    queries.expansion_router,
    submissions.query_sets_router,
    submissions.participants_router,
    runs.router,
    runs.jobs_router,
    events.router,
    presets.router,
    presets.templates_router,
    corpora.router,
    corpora.works_router,
    corpora.documents_router,
    tags.router,
    tags.vocabularies_router,
    health.router,
    original_client.router,
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
    {"name": "corpora", "description": "Works that are searched together: their headings and chunks, imports"},
    {"name": "documents", "description": "Files that works are made from: their headings and sections, repaired"},
    {"name": "tags", "description": "Phrases submitted to a vocabulary, and their candidate tags"},
    {"name": "vocabularies", "description": "Closed sets of tags: imports, models, deletion"},
    {"name": "operations", "description": "Health, metrics and workers"},
]
