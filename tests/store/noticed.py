"""A scored run that has a notice of every kind about its references."""

import json
from typing import Any, Final

from store.database import Connection
from tests.stages.reports.builders import labels, scores
from tests.store.scored import import_labels, store_scored_run

REQUEST: Final[dict[str, Any]] = {
    "overlap": {"index": "tiny_avec_train", "participants": [316, 319]},
    "left_parity": ["EMBEDDING_MIN_REFERENCE_SIMILARITY=0.6"],
    "variants": {"transcripts": {"raw": 1, "unknown": 1}, "index": "participant_qa"},
}

NOTICES: Final = (
    "Parity with the paper's notebook is left by EMBEDDING_MIN_REFERENCE_SIMILARITY=0.6: compare with none of its "
    "figures.",
    "Overlap allowed: 2 participants of reference index 'tiny_avec_train' are assessed here or in the same split: 316, "
    "319. Their chunks were left out of every search.",
    "The transcripts are of several variants: raw (1), unknown (1).",
    "Transcript variant of transcripts unknown: stored before variants were recorded, or from files that do not name "
    "theirs.",
)


async def noticed_run(connection: Connection) -> int:
    """A finished run of two participants, with REQUEST as part of its request. Its number."""
    await import_labels(connection, {316: labels("10"), 319: labels("2")})
    outcomes = {("few_shot", 316): scores("11", "21"), ("few_shot", 319): scores("2", "11")}
    run_id = await store_scored_run(connection, outcomes)
    await connection.execute("UPDATE run SET request = request || $2 WHERE id = $1", run_id, json.dumps(REQUEST))
    return run_id
