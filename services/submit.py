"""Work submitted: participants to assess, questions to answer, or phrases to find tags for."""

from celery import Celery

from schemas.settings.resolve import EffectiveSettings
from services.enabled_modes import in_enabled_modes
from services.new_runs import PlannedRun, Submitted, submit_run
from services.participants import ParticipantRequest, plan_participants
from services.questions.submission import QueryRequest, plan_queries
from services.tags import TagsRequest, plan_tags
from store.access.idempotency import RequestKey
from store.database import Database

Request = ParticipantRequest | QueryRequest | TagsRequest


async def submit(
    app: Celery,
    database: Database,
    request: Request,
    settings: EffectiveSettings,
    *,
    always_new: bool = False,
    key: RequestKey | None = None,
) -> Submitted:
    """Store what is asked for as a run and send it, or find the run of the same request and retry its failed jobs.

    With `always_new` another run is stored; a request with a key is carried out once. Raises what the planning of the
    request raises; nothing is stored then.
    """
    async with database.connection() as connection:
        match request:
            case ParticipantRequest():
                planned = PlannedRun(await plan_participants(connection, in_enabled_modes(request, settings), settings))
            case QueryRequest():
                planned = await plan_queries(connection, request, settings)
            case TagsRequest():
                planned = PlannedRun(await plan_tags(connection, request, settings))
    return await submit_run(app, database, planned, always_new=always_new, key=key)
