"""Short ways to write runs of queries. Chunk 10 * n + m is a piece of document `dn`."""

from collections.abc import Mapping, Sequence
from typing import Any

from schemas.statuses import JobStatus
from schemas.values.differences import RetrievalMeasures
from schemas.values.participants import Decision, Verdict
from schemas.values.queries import QueryRun, RankedQuery, RetrievedChunks
from schemas.values.runs import SettingValue
from tests.stages.queries.builders import dense, lexical
from tests.stages.reports.builders import NOON, work

DOCUMENTS = {chunk_id: f"d{chunk_id // 10}" for chunk_id in range(100)}
FEW_DRAWS = RetrievalMeasures(bootstrap_resamples=50)


def both_legs(dense_ids: Sequence[int], lexical_ids: Sequence[int], fused: Sequence[int] = ()) -> RetrievedChunks:
    """A retrieval for the original query alone."""
    return RetrievedChunks(
        fusion="zscore",
        lexical="bm25",
        lists=(dense(*dense_ids), lexical(*lexical_ids)),
        fused=tuple((chunk_id, -float(rank)) for rank, chunk_id in enumerate(fused)),
    )


def verdicts(**decisions: Decision) -> tuple[Verdict, ...]:
    """Verdicts by chunk, as in `c11=Decision.ACCEPT`."""
    return tuple(
        Verdict(rank=rank, chunk_id=int(chunk[1:]), decision=decision)
        for rank, (chunk, decision) in enumerate(decisions.items(), start=1)
    )


def query(
    key: str, relevance: Mapping[str, int], found: RetrievedChunks | None = None, *, job_id: int = 1, **changes: Any
) -> RankedQuery:
    """One query; without a retrieval its job failed, unless its status is given."""
    return RankedQuery(
        **{
            "job_id": job_id,
            "key": key,
            "corpus": "small",
            "embedding_model": "tiny",
            "status": JobStatus.FAILED if found is None else JobStatus.SUCCEEDED,
            "judgements": dict(relevance),
            "retrieved": found,
            **dict.fromkeys(("ranker", "ranking", "selected", "validator", "verdicts", "groups")),
            **changes,
        }
    )


def query_run(
    *queries: RankedQuery, run_id: int = 12, settings: Mapping[str, Any] | None = None, **changes: Any
) -> QueryRun:
    """A run of these queries; `retrieve` took each of them its job's number in seconds."""
    return QueryRun(
        **{
            "run_id": run_id,
            "profile": "demo",
            "version": "0.1.0",
            "identity": "a" * 64,
            "settings_hash": "b" * 64,
            "request": {},
            "settings": {name: SettingValue(value=value, source="preset") for name, value in (settings or {}).items()},
            "submitted_at": NOON,
            "queries": queries,
            "documents": DOCUMENTS,
            "lines": {chunk_id: chunk_id for chunk_id in DOCUMENTS},
            "unknown_documents": 0,
            "failures": {},
            "work": work(*queries, stage="retrieve"),
            **changes,
        }
    )
