"""Stage `expand`: other wordings of the query, from a language model, pasted, or none."""

from schemas.values.chat import ChatCall, Message
from schemas.values.queries import Expansion, Origin
from stages.ports import ChatModel
from stages.queries.expansion_reply import expansion_json_schema, read_expansion
from stages.queries.templates import render
from stages.replies.whole_reply import whole_reply
from stages.texts.fence import DATA_RULE, fenced

_SYSTEM = f"You prepare searches. You answer with one JSON object and with nothing else. {DATA_RULE}"


def no_expansion() -> Expansion:
    """Expansion skipped: only the query itself is searched for."""
    return Expansion(origin=Origin.NONE)


def pasted_expansion(reply: str) -> Expansion:
    """An expansion by an external model, with any number of queries. Raises as `read_expansion` does."""
    return read_expansion(reply, origin=Origin.PASTED, n=None)


async def expand_query(
    query: str,
    *,
    n: int,
    template: str,
    chat: ChatModel,
    model: str,
    timeout_s: float,
    temperature: float,
    max_tokens: int | None,
) -> Expansion:
    """Ask the model once for `n` search phrases, a hypothetical answer (HyDE), the intent and the entities.

    Raises TemplateError for a template that cannot be filled in, LLMResponseParseError when the reply is cut off or not
    an object, ExpansionReplyError when the object has the wrong shape, and the errors of the model's client unchanged.
    """
    call = expansion_call(
        query, n, template=template, model=model, timeout_s=timeout_s, temperature=temperature, max_tokens=max_tokens
    )
    return read_expansion(
        whole_reply(await chat.chat(call), token_setting="expansion.max_tokens"),
        origin=Origin.MODEL,
        n=n,
    )


def expansion_prompt(query: str, n: int, *, template: str) -> str:
    """The prompt, also for an external model. The query is fenced as data."""
    return render(template, {"query": fenced("question", query), "n": str(n)})


def expansion_call(
    query: str,
    n: int,
    *,
    template: str,
    model: str,
    timeout_s: float,
    temperature: float,
    max_tokens: int | None,
) -> ChatCall:
    """The one call that expands a query."""
    return ChatCall(
        model=model,
        messages=(
            Message(role="system", content=_SYSTEM),
            Message(role="user", content=expansion_prompt(query, n, template=template)),
        ),
        temperature=temperature,
        json_mode=True,
        json_schema=expansion_json_schema(n, max_tokens=max_tokens),
        max_tokens=max_tokens,
        timeout_s=timeout_s,
        purpose="expand query",
    )
