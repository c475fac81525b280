"""The hash chain over attempts: each closed attempt carries the hash of the one closed before it in its job.

Hashes are SHA-256 over RFC 8785 JSON, so that any program can recompute them from the rows.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import rfc8785

from schemas.settings.preset import is_preset_name
from schemas.statuses import AttemptOutcome
from schemas.values.chat import ModelIdentity
from store.database import Connection
from store.runs import jobs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MANUAL: Final = "manual"
"""The worker of an output that no worker computed."""

COPIED: Final = "copied"
"""The worker of an attempt whose output was computed in another run. Its times are those of that computation."""


def content_hash(content: Any, vectors: "NDArray[np.float32] | None" = None) -> str:
    """SHA-256 over a JSON value, and over the vectors stored beside it as little-endian float32."""
    digest = hashlib.sha256(rfc8785.dumps(content))
    if vectors is not None and vectors.size:
        digest.update(vectors.astype("<f4", order="C", copy=False).tobytes())
    return digest.hexdigest()


def stored_hash(text: str, vectors: bytes = b"") -> str | None:
    """`content_hash` of a JSON document in Postgres, and of the vectors beside it in the byte order of `vector_send`.
    None for a document that RFC 8785 cannot write, which was therefore never stored with a hash."""
    beside = None
    if vectors:
        import numpy as np

        beside = np.frombuffer(vectors, dtype=">f4")
    try:
        return content_hash(json.loads(text), beside)
    except rfc8785.CanonicalizationError:
        return None


@dataclass(frozen=True, kw_only=True)
class Link:
    """What closes an attempt in the chain of its job: without an output, or without an error."""

    previous_hash: str | None
    job_id: int
    stage: str
    number: int
    outcome: str
    settings_hash: str
    inputs: Mapping[str, Any] | None = None
    output_hash: str | None = None
    error_type: str | None = None
    error_message: str | None = None

    @property
    def hash(self) -> str:
        """Over all of it."""
        return content_hash(vars(self))


_HASHED_BY_VALUE: Final = frozenset({"participant", "query"})
"""Kinds of run whose hash of the settings is computed from nothing but their stored values."""


class Flaw(NamedTuple):
    """A difference between what is stored and its hashes."""

    job_id: int | None
    """None for a flaw of the run itself."""
    stage: str
    number: int
    what: str

    def __str__(self) -> str:
        if self.job_id is None:
            return self.what
        return f"j{self.job_id} {self.stage} attempt {self.number}: {self.what}"


def has_settings_hash(kind: str, settings: Mapping[str, Mapping[str, Any]], settings_hash: str) -> bool:
    """Whether the hash of a run is that of its settings, as far as it is computed from them alone."""
    values = {name: setting.get("value") for name, setting in settings.items()}
    if kind not in _HASHED_BY_VALUE or not values:
        return True
    own = {name: value for name, value in values.items() if not is_preset_name(name)}
    preset = {name: value for name, value in values.items() if is_preset_name(name)}
    return settings_hash in (content_hash(own), content_hash([own, preset]))


RUN = "SELECT kind, settings, settings_hash, emptied_at IS NOT NULL AS is_emptied FROM run WHERE id = $1"

# Vectors in the form of their bytes, one value per attempt: a row per vector would be most of the work.
LINKS = """
SELECT a.id, a.job_id, a.stage, a.number, a.outcome, a.inputs,
       a.output::text AS output, a.output_hash, a.previous_hash, a.hash, a.error_type, a.error_message,
       (SELECT string_agg(substring(vector_send(v.vector) FROM 5), '' ORDER BY v.ordinal)
        FROM stage_vector AS v WHERE v.attempt_id = a.id) AS vectors
FROM stage_attempt AS a
WHERE a.job_id = ANY($1::bigint[])
ORDER BY a.job_id, a.id
"""

GONE = """
SELECT s.job_id, s.stage, s.attempts
FROM stage_run AS s JOIN job AS j ON j.id = s.job_id
LEFT JOIN stage_attempt AS a ON a.job_id = s.job_id AND a.stage = s.stage AND a.number = s.attempts
WHERE j.run_id = $1 AND s.attempts > 0 AND a.id IS NULL
ORDER BY s.job_id, s.position
"""

REQUESTS = """
SELECT a.job_id, a.stage, a.number, c.id, c.key, c.request::text AS request, c.served_by
FROM llm_call_use AS u
JOIN llm_call AS c ON c.id = u.call_id
JOIN stage_attempt AS a ON a.id = u.attempt_id
WHERE a.job_id = ANY($1::bigint[]) AND c.key NOT LIKE 'purged:%'
ORDER BY a.id, u.ordinal
"""

#: Jobs that are read at a time: outputs and vectors of a large run would not fit into memory.
_JOBS_AT_ONCE: Final = 200


async def audit(connection: Connection, run_id: int) -> tuple[int, list[Flaw]]:
    """Recompute every hash of a run from the rows: settings, outputs, vectors, requests, and the chains of attempts.
    Returns how many attempts it has, and the flaws."""
    run = await connection.fetchrow(RUN, run_id)
    flaws = []
    if not has_settings_hash(run["kind"], run["settings"], run["settings_hash"]):
        flaws.append(Flaw(None, "", 0, "the settings of the run changed"))
    flaws += [
        Flaw(row["job_id"], row["stage"], row["attempts"], "its attempt is gone")
        for row in await connection.fetch(GONE, run_id)
    ]
    attempts = 0
    every_job = await jobs.of_run(connection, run_id)
    for start in range(0, len(every_job), _JOBS_AT_ONCE):
        job_ids = every_job[start : start + _JOBS_AT_ONCE]
        rows = await connection.fetch(LINKS, job_ids)
        attempts += len(rows)
        flaws += chain_flaws(rows, run["settings_hash"], is_emptied=run["is_emptied"])
        flaws += _request_flaws(await connection.fetch(REQUESTS, job_ids))
    return attempts, flaws


def chain_flaws(rows: Iterable[Mapping[str, Any]], settings_hash: str, *, is_emptied: bool = False) -> Iterator[Flaw]:
    """Every flaw of these attempts, which are ordered by job and, within one, as they were added. They have their
    output as JSON text, and their vectors in the byte order of `vector_send`."""
    previous: dict[int, str] = {}
    for row in rows:
        of = row["job_id"], row["stage"], row["number"]
        if row["hash"] is None:
            if row["outcome"] != AttemptOutcome.RUNNING:
                yield Flaw(*of, "it is closed and carries no hash")
            continue
        found = None if row["output"] is None else stored_hash(row["output"], row["vectors"] or b"")
        if found != row["output_hash"] and not (is_emptied and found is None):
            yield Flaw(*of, "its output or its vectors changed")
        if row["previous_hash"] != previous.get(row["job_id"]):
            yield Flaw(*of, "the attempt before it changed, or is gone")
        if _recomputed(row, settings_hash) != row["hash"]:
            yield Flaw(*of, "its outcome, inputs, settings or error changed")
        previous[row["job_id"]] = row["hash"]


def _recomputed(row: Mapping[str, Any], settings_hash: str) -> str | None:
    try:
        values = {one.name: row[one.name] for one in fields(Link) if one.name != "settings_hash"}
        return Link(settings_hash=settings_hash, **values).hash
    except rfc8785.CanonicalizationError:
        # A number that JSON cannot carry exactly: no hash was ever computed from it.
        return None


def _request_flaws(rows: Sequence[Mapping[str, Any]]) -> list[Flaw]:
    """Calls whose request or model is not the one that their key was computed from, each once."""
    seen: set[int] = set()
    flaws = []
    for row in rows:
        if row["id"] in seen:
            continue
        seen.add(row["id"])
        served_by = ModelIdentity.model_validate(row["served_by"]).key
        if stored_hash(f'{{"served_by":{json.dumps(served_by)},"call":{row["request"]}}}') != row["key"]:
            flaws.append(
                Flaw(row["job_id"], row["stage"], row["number"], "the request of a language model call changed")
            )
    return flaws


# Postgres writes JSON with the shortest numbers that read back as the same.
EXPORTED_RUN: Final = """
SELECT to_jsonb(r) FROM (
    SELECT id, name, note, kind, identity, profile, settings, settings_hash, request, version, created_at
    FROM run WHERE id = $1
) AS r
"""

_EXPORTED: Final[Mapping[str, str]] = {
    "jobs": """
SELECT id, ordinal, kind, mode, subject, inputs, status, created_at, finished_at, note
FROM job WHERE run_id = $1 ORDER BY ordinal
""",
    "stages": """
SELECT t.job_id, t.stage, t.position, t.status, t.fence, t.attempts, t.interruptions, t.retries, t.started_at,
       t.finished_at
FROM stage_run AS t JOIN job AS j ON j.id = t.job_id WHERE j.run_id = $1 ORDER BY j.ordinal, t.position
""",
    "attempts": """
SELECT a.id, a.job_id, a.stage, a.number, a.fence, a.started_at, a.ended_at, a.outcome, a.inputs, a.output,
       a.output_hash, a.previous_hash, a.hash, a.error_type, a.error_message, a.error_category, a.error_details
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1 ORDER BY j.ordinal, a.id
""",
    "vectors": """
SELECT a.id AS attempt_id, t.ordinal, t.vector::real[] AS vector
FROM job AS j
JOIN stage_attempt AS a ON a.job_id = j.id
JOIN stage_vector AS t ON t.attempt_id = a.id
WHERE j.run_id = $1 ORDER BY j.ordinal, a.id, t.ordinal
""",
    "calls": """
SELECT c.id, c.key, c.model, c.digest, c.request, c.reply, c.stop_reason, c.prompt_tokens, c.reply_tokens, c.seconds,
       c.tokens, c.served_by, c.created_at, c.rejected_at
FROM llm_call AS c
WHERE c.id IN (
    SELECT u.call_id
    FROM llm_call_use AS u JOIN stage_attempt AS a ON a.id = u.attempt_id JOIN job AS j ON j.id = a.job_id
    WHERE j.run_id = $1
) ORDER BY c.id
""",
    "call_uses": """
SELECT t.attempt_id, t.ordinal, t.call_id, t.purpose, t.is_reused
FROM llm_call_use AS t JOIN stage_attempt AS a ON a.id = t.attempt_id JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 ORDER BY t.attempt_id, t.ordinal
""",
    "questions": """
SELECT q.job_id, q.external_id, (
           SELECT string_agg(k.name, ', ' ORDER BY k.name) FROM corpus AS k
           WHERE k.id = q.corpus_id OR k.id = ANY(q.other_corpus_ids)
       ) AS corpus, q.original_query, q.judgements
FROM queries AS q JOIN job AS j ON j.id = q.job_id WHERE j.run_id = $1 ORDER BY j.ordinal
""",
}

TABLES: Final = {name: f"SELECT to_json(t)::text AS line FROM ({rows}) AS t" for name, rows in _EXPORTED.items()}
"""The rows of a run for its file, by table: a JSON object a line."""
