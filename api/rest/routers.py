"""Every resource of the REST API."""

from typing import Final

from fastapi import APIRouter

from api.rest import corpora, events, health, jobs, presets, runs, templates

ROUTERS: Final[tuple[APIRouter, ...]] = (
    runs.router,
    jobs.router,
    events.router,
    presets.router,
    templates.router,
    corpora.router,
    health.router,
)
