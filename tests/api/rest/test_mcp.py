"""The tools of MCP, over both transports, by the protocol's own client."""

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from api.context import ApiContext
from api.mcp import TOOLS
from schemas.settings.process import KNOWN_NAMES
from store import access
from store.access import Scope
from store.database import Connection
from tests.acceptance.forked import forked_ragq
from tests.embedded import ValkeyServer
from tests.services.questions.questions import store_small_corpus

ASK = {"question": "Why is tea dark?", "corpus": "small"}
Connect = Callable[..., Any]


@pytest.fixture(autouse=True)
async def corpus(ctx: ApiContext) -> None:
    # A connection that is open while the server ends makes it wait.
    await ctx.database.once(store_small_corpus)


@pytest.fixture
def connect(address: str) -> Connect:
    @asynccontextmanager
    async def connected(token: str | None = None) -> AsyncIterator[Client]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
        ):
            yield client

    return connected


@pytest.fixture
def start(database_url: str, valkey: ValkeyServer) -> Connect:
    def started(*options: str) -> Client:
        servers = {"DATABASE_URL": database_url, "REDIS_URL": valkey.url, "RAGQ_PROFILE": "demo"}
        kept = {name: value for name, value in os.environ.items() if name not in KNOWN_NAMES}
        return Client(
            StdioServerParameters(command=str(forked_ragq() / "ragq"), args=["mcp", *options], env=kept | servers)
        )

    return started


async def test_a_question_is_asked_once_and_searching_asks_no_language_model(
    connect: Connect, connection: Connection
) -> None:
    async with connect() as client:

        async def call(tool: str, **arguments: Any) -> Any:
            return (await client.call_tool(tool, arguments)).structured_content

        first, again = [await call("ask", **ASK) for _ in range(2)]
        read = await call("read_question", query_id=first["query_id"])
        answers = await call("read_answers", query_id=first["query_id"])
        run = await call("show_run", run_id=first["run_id"])
        searched = await call("search_corpus", **ASK)
        search = await call("show_run", run_id=searched["run_id"])
    of_search = "SELECT inputs->'expansion'->>'origin' FROM job WHERE id = $1"
    origin = await connection.fetchval(of_search, searched["job_id"])

    assert (first["is_new"], again["is_new"], again["run_id"]) == (True, False, first["run_id"])
    assert (read["original_query"], answers["total"]) == (ASK["question"], 0)
    assert [job["job_id"] for job in run["jobs"]] == [first["job_id"]]
    assert [stage["stage"] for stage in run["jobs"][0]["stages"]][-1] == "generate"
    assert searched["run_id"] != first["run_id"]
    assert (search["run"]["request"]["until"], origin) == ("rerank", "none")


async def test_every_tool_describes_its_fields_and_none_deletes(connect: Connect) -> None:
    async with connect() as client:
        tools = (await client.list_tools()).tools

    assert {tool.name for tool in tools} == {tool.name for tool in TOOLS if not tool.is_sensitive}
    for tool in tools:
        Draft202012Validator.check_schema(tool.input_schema)
        assert set(tool.input_schema["required"]) <= set(tool.input_schema["properties"])
        assert "components" not in json.dumps(tool.input_schema)
        assert len(tool.description) > 50
    assert {tool.method for tool in TOOLS} == {"GET", "POST"}


async def test_what_cannot_be_done_is_said_to_the_model(connect: Connect) -> None:
    async with connect() as client:
        for name, arguments, words in [
            ("nothing", {}, "There is no such tool"),
            ("ask", {"question": "Why?", "corpos": "small"}, "It has: question, corpus"),
            ("show_run", {"run_id": None}, "needs run_id"),
            ("show_run", {"run_id": 7}, "r7"),
            ("show_run", {"run_id": "7/../../settings/"}, "Not Found"),
            ("show_run", {"run_id": "seven"}, "run_id"),
            ("ask", ASK | {"corpus": "nowhere"}, "There is no corpus"),
            ("retry_run", {"run_id": 7}, "r7"),
        ]:
            reply = await client.call_tool(name, arguments)

            assert (reply.is_error, words in reply.content[0].text) == (True, True)


async def test_a_read_only_token_reads_and_nobody_comes_without_one(
    connect: Connect, connection: Connection, address: str
) -> None:
    token = (await access.create(connection, "reader", Scope.READ, lifetime=None))[0]

    async with connect(token) as client:
        listed = await client.call_tool("list_runs", {})
        refused = await client.call_tool("ask", ASK)
        left = await client.call_tool("list_runs", {})
    async with httpx.AsyncClient() as anybody:
        unknown = await anybody.post(f"{address}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    assert unknown.status_code == 401
    assert not listed.is_error
    assert refused.is_error
    assert "read-only" in refused.content[0].text
    assert left.structured_content["items"] == []


async def test_over_standard_input_texts_of_transcripts_are_offered_when_asked_for_alone(start: Connect) -> None:
    async with start() as client:
        asked = (await client.call_tool("ask", ASK)).structured_content
        plain = {tool.name for tool in (await client.list_tools()).tools}
        refused = await client.call_tool("read_stage", {"job_id": asked["job_id"], "stage": "expand", "number": 1})
    async with start("--sensitive") as client:
        every = {tool.name for tool in (await client.list_tools()).tools}

    assert asked["is_new"] is True
    assert refused.is_error
    assert every - plain == {"read_stage"}
