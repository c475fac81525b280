"""Every page."""

from typing import Final

from fastapi import APIRouter

from api.pages import ask, question_actions, questions

PAGES: Final[tuple[APIRouter, ...]] = (questions.router, ask.router, question_actions.router)
