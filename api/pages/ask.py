"""`/rag/new`: a new question, expanded by a model, by a pasted reply, or not at all."""

from enum import StrEnum
from secrets import token_urlsafe
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Query, Request
from pydantic import BaseModel
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Typed, form_key
from api.parameters import Text
from api.rendering import page
from api.routes import PageRoute
from api.security.authentication import CurrentPrincipal, Principal
from api.security.csrf import csrf
from schemas.errors import LLMResponseParseError, QueryValueError, Refused
from services.corpora import DEFAULT_CORPUS
from services.questions.ask import AskResult, ask, preview_expansion_prompt, single_query
from services.questions.submission import QueryRequest, with_chosen_models
from stages.queries.expand import pasted_expansion
from stages.queries.query_files import MAX_CHARS
from stages.queries.works import work_filter
from store.corpora import corpora
from store.questions import presets, query_lines

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class ExpansionSource(StrEnum):
    """Where the expansion comes from."""

    MODEL = "model"
    PASTE = "paste"
    NONE = "none"


class Until(StrEnum):
    """The last stage that a new question runs."""

    ANSWER = "answer"
    EXPANSION = "expansion"


class AskedModel(StrEnum):
    """Which of the two models expands and answers."""

    FULL = "full"
    LIGHT = "light"


class Click(StrEnum):
    """Which button sent the form."""

    ASK = "ask"
    PROMPT = "prompt"


class AskForm(BaseModel):
    """The form as it was filled in."""

    question: Typed = ""
    corpus: list[Text] = []
    """Several are searched as if they were one."""
    author: Typed = ""
    title: Typed = ""
    tag: Typed = ""
    year_from: Text = ""
    year_to: Text = ""
    preset: Text = ""
    """Empty for the default preset."""
    expansion: ExpansionSource = ExpansionSource.MODEL
    reply: Typed = ""
    until: Until = Until.ANSWER
    model: AskedModel = AskedModel.FULL
    click: Click = Click.ASK
    once: str = ""
    """Generated with the form, so that sending the same form twice asks once."""

    @property
    def conditions(self) -> list[str]:
        """The conditions on works that were filled in, as they are typed on a command line."""
        signs = {"author": "=", "title": "=", "tag": "=", "year_from": ">=", "year_to": "<="}
        written = {name: getattr(self, name).strip() for name in signs}
        return [f"{name.partition('_')[0]}{signs[name]}{text}" for name, text in written.items() if text]

    def request(self) -> QueryRequest:
        """The request to submit. Raises QueryValueError, and Refused for a condition that cannot be read."""
        return QueryRequest(
            queries=single_query(self.question),
            corpora=[name for name in self.corpus if name],
            works=work_filter(self.conditions),
            preset=self.preset or None,
            expand=self.expansion is not ExpansionSource.NONE,
            expansion_reply=self.reply if self.expansion is ExpansionSource.PASTE else None,
            use_light_model=self.model is AskedModel.LIGHT,
            until="expand" if self.until is Until.EXPANSION else None,
        )


@router.get("/rag/new")
async def new_page(
    request: Request, ctx: Context, q: Annotated[str, Query()] = "", corpus: str = "", preset: str = ""
) -> Response:
    """The empty form; `q` fills in the question. It has the only corpus, or those of the newest question, chosen."""
    chosen = [corpus] if corpus else await _last_corpora(ctx)
    return await _form(request, ctx, AskForm(question=q, corpus=chosen, preset=preset, once=token_urlsafe(16)))


@router.post("/rag/new", dependencies=[Depends(csrf)])
async def new(
    request: Request, ctx: Context, principal: CurrentPrincipal, form: Annotated[AskForm, Form()]
) -> Response:
    """Ask; or show the prompt for an external model. Invalid values are reported beside their fields."""
    if form.click is Click.PROMPT:
        return await _form(request, ctx, form)
    try:
        asked = await _ask(ctx, form, principal)
    except QueryValueError as error:
        return await _form(request, ctx, form, wrong={"question": f"The question {error.problem}."})
    except LLMResponseParseError as error:
        return await _form(request, ctx, form, wrong={"reply": str(error)})
    except Refused as error:
        return await _form(request, ctx, form, wrong={"form": str(error)})
    return RedirectResponse(f"/rag/{asked.query_id}", 303)


async def _last_corpora(ctx: ApiContext) -> list[str]:
    async with ctx.database.connection() as connection:
        known = [one.name for one in await corpora.all_corpora(connection)]
        newest = await query_lines.lines(connection, limit=1)
    last = [name for line in newest for name in line.corpora if name in known]
    return known if len(known) == 1 else last or [name for name in known if name == DEFAULT_CORPUS]


async def _ask(ctx: ApiContext, form: AskForm, principal: Principal) -> AskResult:
    if form.expansion is ExpansionSource.PASTE:
        pasted_expansion(form.reply)
    async with ctx.database.connection() as connection:
        return await ask(
            connection, form.request(), ctx.run_settings(), key=form_key(principal, form.once, "question", form)
        )


async def _form(request: Request, ctx: ApiContext, form: AskForm, *, wrong: dict[str, str] | None = None) -> Response:
    wrong = dict(wrong or {})
    prompt = None
    async with ctx.database.connection() as connection:
        found = await corpora.all_corpora(connection)
        stored = await presets.list_all(connection)
        if form.expansion is ExpansionSource.PASTE:
            try:
                prompt, _ = await preview_expansion_prompt(connection, form.question, preset=form.preset or None)
            except QueryValueError as error:
                wrong.setdefault("question", f"The question {error.problem}.")
            except Refused as error:
                wrong.setdefault("form", str(error))
    return page(
        request,
        "ask.html.j2",
        status=422 if wrong else 200,
        form=form,
        corpora=found,
        presets=stored,
        prompt=prompt,
        models=await _models(ctx),
        expands=_expands(ctx),
        wrong=wrong,
        longest=MAX_CHARS,
    )


def _expands(ctx: ApiContext) -> bool:
    """Whether a model expands questions; true where the settings have a problem."""
    try:
        return ctx.run_settings().run.ragq.expander == "model"
    except Refused:
        return True


async def _models(ctx: ApiContext) -> dict[AskedModel, str]:
    """The models that a question may choose from; none where there is no choice, or the settings have a problem."""
    try:
        settings = ctx.run_settings()
        async with ctx.database.connection() as connection:
            run = (await with_chosen_models(connection, settings)).run
    except Refused:
        return {}
    if run.query_light_model == run.query_model:
        return {}
    return {AskedModel.FULL: run.query_model, AskedModel.LIGHT: run.query_light_model}
