"""A participant run and a question with marked texts in every place where a run keeps text."""

from typing import Any, Final

import numpy as np

from schemas.chains import CHAINS, stages_of
from schemas.values.participants import PHQ8Item
from schemas.values.runs import AttemptError
from store.database import Connection
from store.runs import jobs, runs, stages
from store.runs.runs import StoredRun
from tests.stages.reports.builders import labels, scores
from tests.store.conftest import new_run
from tests.store.scored import call_model, claimed, import_labels

MARK: Final = "MARKED"
"""In every text of the run."""

QUOTE: Final = f"{MARK} I wake at four"

NO_REFERENCES: Final[dict[str, list[Any]]] = {item.value: [] for item in PHQ8Item}

OUTPUTS: Final[dict[str, dict[str, Any]]] = {
    "extract": {
        "extractor": "llm", "quotes": {"Sleep": [QUOTE], "Tired": []}, "rejected": {}, "reasks": [], "repairs": [],
        "cut_texts": 0,
    },
    "embed": {"model": "m", "model_digest": "d", "dtype": "float32", "dimension": 2, "items": ["Sleep"],
              "embedding_calls": 1, "cut_texts": 0, "reused_texts": 0},
    "retrieve": {"index_id": 3, "excluded_participants": [316], "items": {}},
    "rerank": {"ranker": "similarity", "ranker_digest": "", "items": NO_REFERENCES, "dropped": {"Sleep": {"top_k": 2}}},
    "validate": {"validator": "judge", "items": NO_REFERENCES, "verdicts": {}, "reasks": [], "repairs": []},
    "assemble": {"block": MARK, "messages": [{"role": "user", "content": QUOTE}], "statistics": {}, "entries": 0},
}  # fmt: skip

#: How long the call of `score` took, and what it used.
REPLY: Final[dict[str, Any]] = {"text": "MARKED reply", "prompt_tokens": 100, "reply_tokens": 20, "seconds": 1.5}


async def marked_run(connection: Connection, *, participant: int = 316) -> StoredRun:
    """A run of one few-shot participant: `score` failed once with a marked error and was retried."""
    await import_labels(connection, {participant: labels("2")})
    inputs = {"data_set": "data", "transcript_hash": "a" * 64, "evidence": {"PHQ8_Sleep": [QUOTE]}}
    request = {"split": "paper-test", "limit": None, "evidence": "given", "profile_source": "option --profile"}
    chain = stages_of("participant", "few_shot")
    run = new_run([participant], inputs=inputs, stages=chain, request=request, version="0.1.0")
    stored = await runs.store(connection, run, always_new=True)
    (job_id,) = stored.job_ids
    scored = scores("2").model_dump(mode="json")
    for item in scored["items"].values():
        item |= {"evidence": QUOTE, "reason": QUOTE, "inference_marker": MARK}
    for stage in CHAINS["participant", "few_shot"]:
        if stage.name == "score":
            claim = await claimed(connection, job_id, "score")
            broken = AttemptError("m.E", "It broke.", "scoring_json_parse", {"raw_response": QUOTE})
            await stages.fail(connection, claim, broken, inputs={"assemble": "b" * 64})
            await jobs.retry(connection, run_id=stored.run_id)
        claim = await claimed(connection, job_id, stage.name)
        vectors = np.array([[0.6, 0.8, -0.0]], dtype=np.float32) if stage.name == "embed" else None
        output = OUTPUTS.get(stage.name) or scored
        await stages.commit(connection, claim, inputs={"transcript": "b" * 64}, output=output, vectors=vectors)
    await call_model(connection, claim.attempt_id, QUOTE, **REPLY)
    await connection.execute("""UPDATE llm_call SET tokens = '{"msp": 0.5, "MARKED": "MARKED"}'""")
    await connection.execute("UPDATE run SET note = 'MARKED note' WHERE id = $1", stored.run_id)
    await connection.execute("UPDATE job SET note = 'MARKED note' WHERE id = $1", job_id)
    return stored
