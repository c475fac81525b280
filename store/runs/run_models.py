"""The language models of a run, frozen as they were first found."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from schemas.values.chat import ModelIdentity
from schemas.values.runs import FrozenModel
from store.database import Connection

FREEZE = """
INSERT INTO run_model (run_id, model, identity, is_from_submission) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING
"""

FROZEN = """
SELECT model, identity, is_from_submission FROM run_model
WHERE run_id = $1 AND ($2::text IS NULL OR model = $2) ORDER BY model
"""

# A question is asked again over months, step by step, and each of its answers names its own model.
IS_HELD = "SELECT kind <> 'query' OR (SELECT count(*) FROM job WHERE run_id = run.id) > 1 FROM run WHERE id = $1"


async def freeze(
    connection: Connection, run_id: int, found: Sequence[ModelIdentity], *, is_from_submission: bool
) -> None:
    """Keep these models of a run; one that is kept already stays as it is."""
    rows = [(run_id, one.model, json.dumps(asdict(one)), is_from_submission) for one in found]
    await connection.executemany(FREEZE, rows)


async def frozen(connection: Connection, run_id: int, *, model: str | None = None) -> list[FrozenModel]:
    """The models of a run, or the one of a name, by name."""
    return [FrozenModel.read(row) for row in await connection.fetch(FROZEN, run_id, model)]


async def is_held(connection: Connection, run_id: int) -> bool:
    """Whether all stages of the run have to use the same models: of every run but that of a single question."""
    held: bool = await connection.fetchval(IS_HELD, run_id)
    return held
