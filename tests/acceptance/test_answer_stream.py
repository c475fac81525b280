"""The text of an answer that is being written is in Postgres alone, and only as long as it is written."""

import asyncio
import json

import asyncpg

from store.runs.answer_pieces import CHANNEL
from store.runs.edits import LISTEN_ON
from tests.acceptance.broker_contents import commands_received, everything_in
from tests.acceptance.harness import Installation
from tests.acceptance.shelf import QUESTION, SHORT
from tests.scripted_ollama import ScriptedOllama, ScriptedReply

WORDS = "lighthouse keepers drank oolong"
ANSWER = f"{WORDS} [S1]. " * 20

WRITTEN = "SELECT coalesce(string_agg(text, '' ORDER BY ordinal), '') FROM answer_piece"


def heard_while_written(installation: Installation, run_id: int) -> list[str]:
    """The notifications until the run has finished, and that its answer grew meanwhile."""

    async def listen() -> list[str]:
        heard: list[str] = []
        sizes = {0}
        connection = await asyncpg.connect(installation.database_url)
        try:
            for channel in (CHANNEL, "ragq_changes"):
                await connection.add_listener(channel, lambda *notified: heard.append(notified[3]))
            await connection.execute(LISTEN_ON)
            while (
                await connection.fetchval("SELECT count(*) FROM job WHERE run_id = $1 AND status = 'succeeded'", run_id)
                < 1
            ):
                written = await connection.fetchval(WRITTEN)
                assert ANSWER.startswith(written)
                sizes.add(len(written))
                await asyncio.sleep(0.05)
            assert await connection.fetchval(WRITTEN) == ""
        finally:
            await connection.close()
        assert len(sizes) > 3
        return heard

    return asyncio.run(asyncio.wait_for(listen(), 60))


def test_no_text_of_an_answer_leaves_postgres_while_it_is_written(
    shelved: Installation, ollama: ScriptedOllama
) -> None:
    writer = ollama.model(lambda prompt: ScriptedReply(ANSWER, piece_delay_s=0.03))
    with commands_received(shelved.redis_url) as commands:
        by = ("--until", "generate", *SHORT, "--set", f"RAGQ_QUERY_MODEL={writer.name}")
        run_id = shelved.submit("--query", QUESTION, "--corpus", "shelf", "--no-expand", *by)
        shelved.start_worker(LOG_LEVEL="DEBUG")
        heard = heard_while_written(shelved, run_id)
        outside = [*commands, everything_in(shelved.redis_url), *heard, shelved.logs]

    job_id = shelved.value("SELECT id FROM job WHERE run_id = $1", run_id)
    assert heard.count(str(job_id)) > 3
    assert "stage_stored" in shelved.logs
    found = [word for word in (*WORDS.split(), QUESTION) if any(word in text for text in outside)]
    assert found == []
    query_id = shelved.value(
        "SELECT q.id FROM queries AS q JOIN job AS j ON j.id = q.job_id WHERE j.run_id = $1", run_id
    )
    (answer,) = json.loads(shelved.ragq("query", "show", str(query_id), "--json").stdout)["answers"]
    assert answer["response_text"] == ANSWER.rstrip()
