"""Participant runs: submitted with the same checks as by `ragq submit`."""

from fastapi import APIRouter, Response

from api.context import Context
from api.idempotency import REPLAYED, Keyed
from api.problems import problem_responses
from api.rest.bodies.participants import ChangedSettingReply, ParticipantSubmission, SplitLine, SubmittedReply
from api.rest.strict import StrictRoute
from schemas.errors import RunMissingError
from services.submit import submit
from stages.reports.run_words import notices
from store.references import interviews
from store.runs import overviews

router = APIRouter(prefix="/participants", tags=["participants"], route_class=StrictRoute)


@router.get("/splits", summary="List splits")
async def list_splits(ctx: Context) -> list[SplitLine]:
    """Every stored split, by name."""
    async with ctx.database.connection() as connection:
        return [SplitLine.model_validate(split) for split in await interviews.split_sizes(connection)]


@router.post(
    "/runs",
    summary="Submit participants",
    status_code=201,
    responses={
        200: {"model": SubmittedReply, "description": "The run of the same work"},
        **problem_responses(409, 422),
    },
)
async def submit_participants(
    ctx: Context, key: Keyed, body: ParticipantSubmission, response: Response
) -> SubmittedReply:
    """Store a run of one job per participant and mode, and send it.

    The same work submitted again is the same run, whose failed jobs continue: 200 instead of 201. 409 when the request
    is refused, for example because the reference index contains participants of the split; the detail has the reason
    and what to do.
    """
    settings = ctx.run_settings(profile=body.profile, values=body.values)
    submitted = await submit(
        ctx.broker,
        ctx.database,
        body.request,
        settings,
        draw=body.chosen_draw,
        always_new=body.always_new,
        key=key,
    )
    async with ctx.database.connection() as connection:
        overview = await overviews.overview(connection, submitted.run_id)
    if overview is None:
        raise RunMissingError(submitted.run_id)
    response.status_code = 201 if submitted.is_new else 200
    response.headers["Location"] = f"/runs/{submitted.run_id}"
    response.headers.update(REPLAYED if submitted.is_replay else {})
    return SubmittedReply(
        run_id=submitted.run_id,
        is_new=submitted.is_new,
        jobs=submitted.jobs,
        resumed=submitted.resumed,
        is_sent=submitted.sent == submitted.due,
        profile=overview.profile,
        changed_settings={
            name: ChangedSettingReply.model_validate(change) for name, change in settings.changed.items()
        },
        notices=list(notices(overview.kind, overview.profile, overview.request)),
    )
