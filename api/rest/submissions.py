"""Submissions of every kind, and the reply to them."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final, Self

from fastapi import APIRouter, Response
from pydantic import Field, model_validator

from api.context import ApiContext, Context
from api.parameters import Keyed, StrictRoute, WithSettings, announce, with_example
from schemas.settings.preset import is_preset_name
from schemas.statuses import Priority
from schemas.values.base import Listed
from schemas.values.costs import Estimate
from schemas.values.participants import Split
from schemas.values.requests import Name, ParticipantRequest, QueryPolicy, QueryRequest, RunTerms, SubmittedQuery
from services.new_runs import Submitted, webhook_url
from services.submit import MAX_SAMPLES, Request, estimate, plan_request, submit
from store.access import RequestKey
from store.references import interviews


class Submission(WithSettings, RunTerms):
    """How a run is submitted, whatever it works on."""

    profile: Name | None = None
    """The profile; by default as for `ragq submit` on the machine of the API."""
    dry_run: bool = False
    """Reply with the estimate instead: jobs, model calls, tokens, seconds, money, and why it would be refused. Nothing
    is stored or sent."""
    always_new: bool = False
    """Store another run even if the same work was submitted before."""
    draw: Annotated[int, Field(ge=0, lt=MAX_SAMPLES)] = 0
    """The same work in another draw is another run, whose language models are asked anew: 0, 1, 2 and so on, to measure
    how much results vary."""
    priority: Annotated[Priority, Field(strict=False)] | None = None
    """How often it has a turn where several runs wait; by default interactive for one question or one set of phrases,
    and normal for others."""


#: The reply of a submission that finds its run, or stores none, for its OpenAPI description.
SUBMITTED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": Submitted | Estimate, "description": "The run of the same work, or the estimate"}
}


async def submit_body(
    ctx: ApiContext,
    key: RequestKey | None,
    body: Submission,
    request: Request,
    response: Response,
    *,
    values: Mapping[str, str] | None = None,
) -> Submitted | Estimate:
    """Submit a request with the settings of its body, or with `values` where the body has others beside them.

    The reply is 201 with a new run under Location, or 200 with the run of the same work, or with the estimate.
    """
    settings = ctx.run_settings(profile=body.profile, values=body.values if values is None else values)
    if body.dry_run:
        response.status_code = 200
        plan = partial(plan_request, request=request, settings=settings, draw=body.draw, terms=body)
        return await estimate(ctx.database, plan, ctx.prices)
    (submitted,) = await submit(
        ctx.database,
        request,
        settings,
        draws=[body.draw],
        always_new=body.always_new,
        priority=body.priority,
        key=key,
        terms=body.model_copy(update={"notify_url": webhook_url(ctx.settings, body.notify_url)}),
    )
    announce(response, submitted)
    return submitted


class ParticipantSubmission(ParticipantRequest, Submission):
    """What `ragq submit` takes: a split, or participants by number."""


participants_router = APIRouter(prefix="/participants", tags=["participants"], route_class=StrictRoute)


@participants_router.get("/splits")
async def list_splits(ctx: Context) -> Listed[Split]:
    """Every stored split, by name."""
    return Listed.whole(await ctx.database.once(interviews.stored_splits))


@participants_router.post("/runs", status_code=201, responses=SUBMITTED)
async def submit_participants(
    ctx: Context, key: Keyed, body: ParticipantSubmission, response: Response
) -> Submitted | Estimate:
    """Store a run of one job per participant and mode, and send it.

    The same work submitted again is the same run, whose failed jobs continue: 200 instead of 201. 409 when the request
    is refused, for example because the reference index contains participants of the split; the detail has the reason
    and what to do.
    """
    return await submit_body(ctx, key, body, body, response)


class QuerySetSubmission(QueryPolicy, Submission):
    """What `ragq submit --queries` takes."""

    model_config = with_example(
        queries=[
            {"id": "q1", "text": "Why does black tea turn dark?", "judgements": {"tea": 1}},
            {"id": "q2", "text": "What holds an arch?"},
        ],
        corpus="shelf",
        until="rerank",
    )

    queries: Annotated[tuple[SubmittedQuery, ...], Field(min_length=1, max_length=10_000, strict=False)]

    @model_validator(mode="after")
    def _ids_differ(self) -> Self:
        if len({query.id for query in self.queries}) < len(self.queries):
            raise ValueError("give each question an id of its own")
        return self

    @property
    def run_values(self) -> dict[str, str]:
        """Values of settings of the run."""
        return {name: value for name, value in self.values.items() if not is_preset_name(name)}

    @property
    def request(self) -> QueryRequest:
        """The request to submit."""
        return QueryRequest(
            queries=self.queries,
            preset_values={name: value for name, value in self.values.items() if is_preset_name(name)},
            **{name: getattr(self, name) for name in QueryPolicy.model_fields},
        )


query_sets_router = APIRouter(prefix="/rag/query-sets", tags=["questions"], route_class=StrictRoute)


@query_sets_router.post("/runs", status_code=201, responses=SUBMITTED)
async def submit_query_set(
    ctx: Context, key: Keyed, body: QuerySetSubmission, response: Response
) -> Submitted | Estimate:
    """Store a run of one job per question, and send it. Nothing waits: the events of the run report its progress.

    The same set submitted again is the same run, whose failed jobs continue: 200 instead of 201.
    """
    return await submit_body(ctx, key, body, body.request, response, values=body.run_values)
