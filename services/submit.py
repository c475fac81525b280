"""Work submitted: participants to assess, questions to answer, or phrases to find tags for."""

from collections.abc import Sequence
from typing import NamedTuple

from schemas.settings.resolve import EffectiveSettings
from schemas.statuses import Priority
from schemas.values.requests import ParticipantRequest, QueryRequest, RunTerms, TagsRequest
from services.few_shot import in_draw, is_deterministic
from services.new_runs import NO_TERMS, PlannedRun, Submitted, named_in_errors, submit_run
from services.participants import in_enabled_modes, plan_participants
from services.questions.submission import plan_queries
from services.served_models import Warn
from services.tags import plan_tags
from store.access import RequestKey
from store.database import Connection, Database
from store.runs.runs import Report, ignored

Request = ParticipantRequest | QueryRequest | TagsRequest


class SubmittedDraws(NamedTuple):
    """What a submission led to: a run for each draw."""

    runs: list[Submitted]
    is_deterministic: bool
    """The models are asked at temperature 0 alone, at which most servers give the same answers in every draw."""


async def submit(
    database: Database,
    request: Request,
    settings: EffectiveSettings,
    *,
    draw: int = 0,
    always_new: bool = False,
    priority: Priority | None = None,
    key: RequestKey | None = None,
    terms: RunTerms = NO_TERMS,
) -> Submitted:
    """Store what is asked for as a run and send it, or find the run of the same request and retry its failed jobs.

    With `always_new` another run is stored; a request with a key is carried out once.
    Raises what the planning of the request raises, and Refused for a draw of a request that asks no language model;
    nothing is stored then.
    """
    planned = in_draw(await _planned(database, request, settings), draw)._replace(terms=terms)
    return await submit_run(database, planned, always_new=always_new, priority=priority, key=key)


async def submit_draws(
    database: Database,
    request: Request,
    settings: EffectiveSettings,
    *,
    draws: Sequence[int],
    always_new: bool = False,
    name: str | None = None,
    priority: Priority | None = None,
    terms: RunTerms = NO_TERMS,
    report: Report = ignored,
    warn: Warn | None = None,
) -> SubmittedDraws:
    """Like `submit`, a run for each of these draws, each on these terms; a single one gets the name.

    `report` is for each run, `warn` is that of `submit_run`. Raises Refused where the request asks no language model.
    """
    planned = (await _planned(database, request, settings))._replace(terms=terms)
    in_draws = [in_draw(planned, draw) for draw in draws]
    runs: list[Submitted] = []
    for one in in_draws:
        with named_in_errors([run.run_id for run in runs]):
            runs.append(
                await submit_run(
                    database, one, always_new=always_new, name=name, priority=priority, report=report, warn=warn
                )
            )
    return SubmittedDraws(runs, is_deterministic(planned))


async def plan_request(connection: Connection, request: Request, settings: EffectiveSettings) -> PlannedRun:
    """The run for a request. Raises what the planning of its kind raises."""
    match request:
        case ParticipantRequest():
            return PlannedRun(await plan_participants(connection, in_enabled_modes(request, settings), settings))
        case QueryRequest():
            return await plan_queries(connection, request, settings)
        case TagsRequest():
            return PlannedRun(await plan_tags(connection, request, settings))


async def _planned(database: Database, request: Request, settings: EffectiveSettings) -> PlannedRun:
    return await database.once(plan_request, request, settings)
