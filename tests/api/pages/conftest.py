"""What several pages show."""

import pytest

from store.database import Connection
from store.questions.queries import StoredQuery
from tests.api.pages.example_runs import ShownRun, participant_run
from tests.services.questions.questions import WHOLE, a_question


@pytest.fixture
async def ready(connection: Connection) -> StoredQuery:
    """A question with three passages, whose job is idle."""
    return await a_question(connection, *WHOLE[:6], until="consolidate")


@pytest.fixture
async def shown(connection: Connection) -> ShownRun:
    """A run with a job in every state."""
    return await participant_run(connection)
