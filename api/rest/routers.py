"""Every resource of the REST API."""

from typing import Final

from fastapi import APIRouter

from api.rest import events, jobs, presets, runs

ROUTERS: Final[tuple[APIRouter, ...]] = (runs.router, jobs.router, events.router, presets.router)
