"""Work submitted: participants to assess, questions to answer, or phrases to find tags for."""

from collections.abc import Sequence
from dataclasses import replace

from schemas.settings.resolve import EffectiveSettings
from schemas.statuses import Priority
from schemas.values.requests import NO_TERMS, ParticipantRequest, QueryRequest, RunTerms, TagsRequest
from services.few_shot import in_draw
from services.new_runs import Submitted, submit_run
from services.participants import in_enabled_modes, plan_participants
from services.questions.submission import plan_queries
from services.served_models import Warn
from services.tags import plan_tags
from store.access import RequestKey
from store.database import Connection, Database
from store.runs.runs import NewRun

Request = ParticipantRequest | QueryRequest | TagsRequest


async def submit(
    database: Database,
    request: Request,
    settings: EffectiveSettings,
    *,
    draws: Sequence[int] = (0,),
    always_new: bool = False,
    name: str | None = None,
    priority: Priority | None = None,
    key: RequestKey | None = None,
    terms: RunTerms = NO_TERMS,
    warn: Warn | None = None,
) -> list[Submitted]:
    """Store what is asked for as a run for each draw, or find the run of the same request and retry its failed jobs.

    `name`, `key` and `warn` are those of `submit_run`; the first two go with a single draw.
    Raises what the planning of the request raises, and Refused for a draw of a request that asks no language model;
    nothing is stored then.
    """
    planned = await database.once(plan_request, request, settings, terms=terms)
    return [
        await submit_run(database, one, always_new=always_new, name=name, priority=priority, key=key, warn=warn)
        for one in [in_draw(planned, draw) for draw in draws]
    ]


async def plan_request(
    connection: Connection,
    request: Request,
    settings: EffectiveSettings,
    *,
    draw: int = 0,
    terms: RunTerms = NO_TERMS,
) -> NewRun:
    """The run for a request, in a draw. Raises what the planning of its kind raises, and as `in_draw`."""
    match request:
        case ParticipantRequest():
            run = await plan_participants(connection, in_enabled_modes(request, settings), settings)
        case QueryRequest():
            run = await plan_queries(connection, request, settings)
        case TagsRequest():
            run = await plan_tags(connection, request, settings)
    return in_draw(replace(run, terms=terms), draw)
