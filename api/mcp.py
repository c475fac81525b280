"""Tools of the Model Context Protocol (MCP): a choice of the API's endpoints, with the API's own rules.

A tool is an endpoint, the fields of it that are offered, and a description for a language model. What a field accepts
comes from the OpenAPI description; the call runs in this process as the principal that asks. No tool deletes. Long
work returns its run at once, and is polled.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any, Final
from urllib.parse import quote

import httpx
from fastapi import FastAPI
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as ToolDescription
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from api.security.authentication import MCP, SAFE_METHODS, Principal

_POLL: Final = "The work goes on without you: poll show_run with the run_id until progress.is_idle."
_AGAIN: Final = "The same call again creates nothing new: is_new is false, and the run is the earlier one."

INSTRUCTIONS: Final = (
    "ragq runs retrieval-augmented jobs and stores every step. A run has jobs; a job has stages; a failed stage has an "
    "error and is never replaced by a guess. Submit, poll show_run, then read. When something seems "
    "stuck, call whats_wrong first."
)


@dataclass(frozen=True, kw_only=True)
class Tool:
    """An endpoint as a tool."""

    name: str
    method: str
    path: str
    description: str
    fields: tuple[str, ...] = ()
    """The parameters and fields of its body that are offered besides those in its path."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Values that a call has unless it gives others."""
    is_question: bool = False
    """It takes one `question`, which becomes a set of one."""
    is_sensitive: bool = False
    """Offered alone where texts of transcripts may be read."""


_ABOUT_QUESTIONS: Final = ("corpus", "corpora", "works", "config_preset")

TOOLS: Final = (
    Tool(
        name="search_corpus",
        method="POST",
        path="/rag/query-sets/runs",
        description="Search a corpus for a question, by vectors and full text, without a language model. Returns "
        f"run_id and query_id. {_POLL} Then read_question: retrieved_context has the chunks, best first; none means "
        f"that nothing relevant was found. {_AGAIN}",
        fields=_ABOUT_QUESTIONS,
        fixed={"expand": False, "until": "rerank"},
        is_question=True,
    ),
    Tool(
        name="ask",
        method="POST",
        path="/rag/query-sets/runs",
        description="Ask a question of a corpus: search, then an answer with citations. Returns run_id and query_id. "
        f"{_POLL} Then read_answers. A failed stage is an error to report, not an answer. {_AGAIN}",
        fields=(*_ABOUT_QUESTIONS, "expand", "use_full_model"),
        is_question=True,
    ),
    Tool(
        name="read_question",
        method="GET",
        path="/rag/queries/{query_id}",
        description="A question with its search phrases, chunks (retrieved_context), passages of the prompt "
        "(clean_retrieval_context) and last error. A null part has not been computed, or is stale because an earlier "
        "part was changed.",
    ),
    Tool(
        name="read_answers",
        method="GET",
        path="/rag/queries/{query_id}/results",
        description="The answers to a question, newest first, with the source of each label. A label without a source "
        "was made up by the model. None at all: the question has not been answered; show_job says where it stands.",
    ),
    Tool(
        name="submit_participants",
        method="POST",
        path="/participants/runs",
        description=f"Score the interviews of a split (PHQ-8). {_POLL} 409 means refused, with the reason: often a "
        f"reference index that contains participants of the split. dry_run returns calls, tokens and money instead; "
        f"`missing` is what its models lack. {_AGAIN}",
        fields=("split", "participants", "modes", "profile", "settings", "dry_run", "key"),
    ),
    Tool(
        name="whats_wrong",
        method="GET",
        path="/problems",
        description="What is wrong now in all runs, the most urgent first. no_worker, no_broker and worker_lost: "
        "nothing moves until a person acts on the machine. failed: remove the reason, then retry_run. nothing_found: "
        "a retry finds the same; `reason` names what to change. waits: it goes on by itself at `until`. Empty: nothing "
        "is wrong; what is slow only waits its turn.",
    ),
    Tool(
        name="list_runs",
        method="GET",
        path="/runs",
        description="The newest runs. open_jobs above 0 means that work remains; states counts jobs by state.",
        fields=("limit", "before", "kind", "search"),
    ),
    Tool(
        name="show_run",
        method="GET",
        path="/runs/{run_id}",
        description="A run, its progress and its jobs. is_idle with failed jobs means that somebody has to act: read "
        "the error, remove its cause, then retry_run. paused jobs wait for a person.",
        fields=("jobs_limit", "after", "status"),
        fixed={"jobs_limit": 20},
    ),
    Tool(
        name="show_job",
        method="GET",
        path="/jobs/{job_id}",
        description="A job with its stages. The first stage that is not done is where it stands; its error says why. "
        "More than one attempt means that it was retried or that a worker was lost.",
    ),
    Tool(
        name="show_attempts",
        method="GET",
        path="/jobs/{job_id}/attempts",
        description="Every attempt of a job's stages: worker, times, outcome, hashes of inputs and output. An attempt "
        "that was lost had a worker that died; nothing of it was kept.",
    ),
    Tool(
        name="read_stage",
        method="GET",
        path="/jobs/{job_id}/attempts",
        fields=("stage", "number"),
        description="Attempts of a stage with outputs, prompts and replies. They contain text of transcripts.",
        fixed={"outputs": True},
        is_sensitive=True,
    ),
    Tool(
        name="retry_run",
        method="POST",
        path="/runs/{run_id}/{action}",
        fixed={"action": "retry"},
        description="Continue the failed jobs of a run, each from its failed stage; stored stages are not paid again. "
        "409 means that no job has failed.",
    ),
    Tool(
        name="show_scores",
        method="GET",
        path="/runs/{run_id}/scores",
        description="The scores of a participant run beside the truth. mae counts items that have a score alone: "
        "compare it together with na_items. median_mae and modal_mae are what no model needs to reach. Of an "
        "evaluation: how far sources and reference answers support the answers.",
    ),
    Tool(
        name="compare_runs",
        method="GET",
        path="/runs/{run_id}/compare",
        description="The other runs minus this one, paired, with 95 % intervals. An interval that contains 0 shows no "
        "difference, and does not prove equality. settings lists what was changed.",
        fields=("other", "mode", "other_mode"),
    ),
)


def make_server(app: FastAPI, *, local: Principal | None = None, is_sensitive: bool = False) -> Server[Any]:
    """The tools over an application. `local` calls where no request came with a principal, as on standard input."""
    routes = AsyncExitStackMiddleware(ExceptionMiddleware(app.router, handlers=app.exception_handlers))
    offered = {tool.name: tool for tool in TOOLS if is_sensitive or not tool.is_sensitive}

    async def call_endpoint(
        principal: Principal, method: str, path: str, key: str | None = None, **sent: Any
    ) -> httpx.Response:
        """The reply of an endpoint to `params` or `json`, in this process: with its errors, without its middleware."""

        async def as_principal(scope: Scope, receive: Receive, send: Send) -> None:
            await routes({**scope, "app": app, "state": {"principal": principal}}, receive, send)

        headers = {"Accept": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
        transport = httpx.ASGITransport(as_principal, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
            return await client.request(method, path, **sent)

    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        openapi = app.openapi()
        return ListToolsResult(tools=[_described(tool, openapi) for tool in offered.values()])

    async def call_tool(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        tool = offered.get(params.name)
        if tool is None:
            return _problem(f"There is no such tool. There are: {', '.join(offered)}.")
        request = getattr(ctx, "request", None)
        principal = request.state.principal if isinstance(request, Request) else local
        if principal is None or (tool.method not in SAFE_METHODS and not principal.can_write):
            return _problem("The token is read-only. `ragq token create NAME` makes one that can write.")
        # Clients send null for what they leave out.
        given = {name: value for name, value in (params.arguments or {}).items() if value is not None}
        return await _called(partial(call_endpoint, principal), tool, app.openapi(), given)

    return Server(
        "ragq", version=version("ragq"), instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


def serve(app: FastAPI) -> StreamableHTTPSessionManager:
    """Offer the tools at /mcp, with the hosts, origins and tokens of the API. Run what is returned while it serves."""
    manager = StreamableHTTPSessionManager(
        make_server(app),
        stateless=True,
        json_response=True,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    app.router.routes.append(Route(MCP, endpoint=StreamableHTTPASGIApp(manager)))
    return manager


async def _called(
    call: Callable[..., Awaitable[httpx.Response]], tool: Tool, openapi: dict[str, Any], given: dict[str, Any]
) -> CallToolResult:
    schema = _schema(tool, openapi)
    if unknown := given.keys() - schema["properties"].keys():
        return _problem(f"{tool.name} has no {', '.join(sorted(unknown))}. It has: {', '.join(schema['properties'])}.")
    if missing := [name for name in schema["required"] if name not in given]:
        return _problem(f"{tool.name} needs {', '.join(missing)}.")
    key = given.pop("key", None)
    values = {**tool.fixed, **given}
    path = re.sub(r"{(\w+)[^}]*}", lambda part: quote(str(values.pop(part[1])), safe=""), tool.path)
    if tool.is_question:
        values["queries"] = [{"id": "q1", "text": values.pop("question")}]
    has_body = "requestBody" in openapi["paths"][tool.path][tool.method.lower()]
    sent = {"json" if has_body else "params": values}
    reply = await call(tool.method, path, key, **sent)
    found = reply.json()
    if reply.is_error:
        return _problem(f"{found['title']}: {found['detail']}")
    if tool.is_question:
        run = await call("GET", f"/runs/{found['run_id']}", params={"jobs_limit": 1})
        found |= {name: run.json()["jobs"][0][name] for name in ("job_id", "query_id")}
    content = TextContent(type="text", text=json.dumps(found, ensure_ascii=False))
    return CallToolResult(content=[content], structured_content=found)


def _problem(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _described(tool: Tool, openapi: dict[str, Any]) -> ToolDescription:
    is_read = tool.method in SAFE_METHODS
    hints = ToolAnnotations(read_only_hint=is_read, destructive_hint=False, open_world_hint=False)
    schema = _schema(tool, openapi)
    return ToolDescription(name=tool.name, description=tool.description, input_schema=schema, annotations=hints)


_KEY: Final = {"type": "string", "maxLength": 200, "description": "Calls with the same key create one run."}
_QUESTION: Final = {"type": "string", "minLength": 1, "maxLength": 10_000, "description": "The question."}


def _schema(tool: Tool, openapi: dict[str, Any]) -> dict[str, Any]:
    """The fields of a tool, with what they accept."""
    operation = openapi["paths"][tool.path][tool.method.lower()]
    parameters = operation.get("parameters", ())
    content = operation.get("requestBody", {}).get("content", {})
    reference = content.get("application/json", {}).get("schema", {}).get("$ref")
    body = {} if reference is None else openapi["components"]["schemas"][reference.rpartition("/")[2]]
    known = {
        one["name"]: one["schema"] | ({"description": one["description"]} if "description" in one else {})
        for one in parameters
    }
    known |= body.get("properties", {}) | {"key": _KEY, "question": _QUESTION}
    in_path = [name for name in re.findall(r"{(\w+)", tool.path) if name not in tool.fixed]
    names = (*(["question"] if tool.is_question else []), *in_path, *tool.fields)
    needed = {"question", *body.get("required", ()), *(one["name"] for one in parameters if one.get("required"))}
    properties = {name: known[name] for name in names}
    schema = {
        "type": "object",
        "properties": properties,
        "required": [name for name in names if name in needed],
        "additionalProperties": False,
    }
    if definitions := _definitions(properties, openapi):
        schema["$defs"] = definitions
    found: dict[str, Any] = json.loads(json.dumps(schema).replace("#/components/schemas/", "#/$defs/"))
    return found


def _definitions(schema: Any, openapi: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    waiting = [json.dumps(schema)]
    while waiting:
        for name in re.findall(r"#/components/schemas/([\w.-]+)", waiting.pop()):
            if name not in found:
                found[name] = openapi["components"]["schemas"][name]
                waiting.append(json.dumps(found[name]))
    return found
