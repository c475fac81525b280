"""Submissions of every kind, and the reply to them."""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import Response

from api.context import ApiContext
from api.preferences import REPLAYED
from api.rest.bodies.submissions import ChangedSettingReply, Submission, SubmittedReply
from schemas.settings.resolve import EffectiveSettings
from services.new_runs import Submitted
from services.submit import Request, submit
from stages.reports.words import notices
from store.access.idempotency import RequestKey
from store.runs import overviews

#: The reply of a submission that finds its run, for its OpenAPI description.
SUBMITTED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": SubmittedReply, "description": "The run of the same work"}
}


async def submit_body(
    ctx: ApiContext,
    key: RequestKey | None,
    body: Submission,
    request: Request,
    response: Response,
    *,
    values: Mapping[str, str] | None = None,
) -> SubmittedReply:
    """Submit a request with the settings of its body, or with `values` where the body has others beside them.

    The reply is 201 with a new run under Location, or 200 with the run of the same work.
    """
    settings = ctx.run_settings(profile=body.profile, values=body.values if values is None else values)
    submitted = await submit(
        ctx.database,
        request,
        settings,
        draw=body.chosen_draw,
        always_new=body.always_new,
        priority=body.priority,
        key=key,
        limits=body.limits,
    )
    return await _reply(ctx, submitted, settings, response)


async def _reply(
    ctx: ApiContext, submitted: Submitted, settings: EffectiveSettings, response: Response
) -> SubmittedReply:
    async with ctx.database.connection() as connection:
        overview = await overviews.get(connection, submitted.run_id)
    response.status_code = 201 if submitted.is_new else 200
    response.headers["Location"] = f"/runs/{submitted.run_id}"
    response.headers.update(REPLAYED if submitted.is_replay else {})
    return SubmittedReply(
        run_id=submitted.run_id,
        is_new=submitted.is_new,
        jobs=submitted.jobs,
        resumed=submitted.resumed,
        searched=submitted.searched,
        profile=overview.profile,
        changed_settings={
            name: ChangedSettingReply.model_validate(change) for name, change in settings.changed.items()
        },
        notices=list(notices(overview.kind, overview.profile, overview.request)),
    )
