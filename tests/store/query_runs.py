"""Runs of queries whose stages are stored directly, for tests of reports."""

from collections.abc import Mapping, Sequence
from typing import Any

from schemas.values.participants import Decision
from schemas.values.requests import SubmittedQuery
from schemas.values.runs import AttemptError
from store.corpora.keeping import keep
from store.database import Connection
from store.questions import queries
from store.runs import runs
from tests.stages.reports.query_builders import both_legs
from tests.store.conftest import new_run
from tests.store.scored import committing, failing, take
from tests.store.small_corpora import chunks_of_work, new_work, small_corpus

STAGES = ("retrieve", "rerank", "validate", "consolidate")
BROKEN = AttemptError("schemas.errors.WorkChangedError", "Work 7 changed.", "work_changed", {"words": "private"})

Found = Mapping[str, Sequence[int]] | None
"""Chunks by stage: `dense`, `lexical`, `fused`, and, where the job came so far, `ranking`, `accepted`, `groups`."""


async def store_corpus(connection: Connection, works: Sequence[str], *, name: str = "small") -> dict[str, int]:
    """A corpus of works with one chunk each: the chunks' numbers by the works' names."""
    corpus, found = await small_corpus(connection, name), {}
    for work in works:
        made = new_work(f"words of {work}", title="A title", source_path=f"/somewhere/{work}.md")
        kept_id, _ = await keep(connection, corpus.id, **made)
        *_, chunk = await chunks_of_work(connection, kept_id)
        found[work] = chunk.id
    return found


async def store_query_run(
    connection: Connection,
    found: Mapping[str, Found],
    judgements: Sequence[tuple[str, str, int]] = (),
    *,
    settings: Mapping[str, Any] | None = None,
    corpus: str = "small",
) -> int:
    """A run of one query per key; None is a job that fails in its first stage. Its number."""
    of_queries: dict[str, Any] = {"kind": "query", "mode": "search", "inputs": {}, "stages": STAGES, "version": "0.1.0"}
    chosen = {name: {"value": value, "source": "preset"} for name, value in (settings or {}).items()}
    run = new_run(found, settings=chosen, request={"corpus": corpus}, **of_queries)
    stored = await runs.store(connection, run, always_new=True)
    await queries.keep(
        connection,
        stored.run_id,
        [await connection.fetchval("SELECT id FROM corpus WHERE name = $1", corpus)],
        [
            SubmittedQuery(
                id=key,
                text=f"text of the question about {key}",
                judgements={name: grade for judged, name, grade in judgements if judged == key},
            )
            for key in found
        ],
    )
    for job_id, chunks in zip(stored.job_ids, found.values(), strict=True):
        if chunks is None:
            await take(connection, job_id, "retrieve", failing(BROKEN))
        else:
            await _go_through(connection, job_id, chunks)
    return stored.run_id


async def _go_through(connection: Connection, job_id: int, chunks: Mapping[str, Sequence[int]]) -> None:
    retrieved = both_legs(*(chunks[name] for name in ("dense", "lexical", "fused")))
    ranking, accepted = chunks.get("ranking", ()), chunks.get("accepted", ())
    listed = [{"chunk_id": chunk_id, "content": "words"} for chunk_id in ranking]
    verdicts = [
        {"rank": rank, "chunk_id": one, "decision": Decision.ACCEPT if one in accepted else Decision.REJECT}
        for rank, one in enumerate(ranking, start=1)
    ]
    groups = [{"chunk_ids": [chunk_id]} for chunk_id in chunks.get("groups", ())]
    outputs: dict[str, tuple[str, Any]] = {
        "fused": ("retrieve", retrieved.model_dump(mode="json")),
        "ranking": ("rerank", {"ranker": "score-fusion", "ranking": list(ranking), "chunks": listed}),
        "accepted": ("validate", {"validator": "judge", "reasks": ["json_parse"], "verdicts": verdicts}),
        "groups": ("consolidate", {"groups": groups}),
    }
    for name, (stage, output) in outputs.items():
        if name in chunks:
            await take(connection, job_id, stage, committing(output))
