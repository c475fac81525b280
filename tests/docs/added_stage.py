"""Runs the stage that docs/architecture.md adds, in a copy of the product that has it: `python -m ... DATABASE_URL`."""

import asyncio
import json
import sys

from schemas.chains import stages_of
from schemas.values.tags import Vocabulary
from stages.tags.validate import validate_tags
from store.database import Database
from store.runs import attempts, runs
from tests.stages.at_defaults import rank_tags
from tests.stages.tags.builders import retrieved, tags_of
from tests.store.conftest import new_run
from tests.store.scored import committing, take
from tests.workers.processes import stage_runner
from workers.process import FUNCTIONS

TAGS = ("tags", "candidates")
FOUND = retrieved({"red dress": {"dress": 0.9}, "coat": {"coat": 0.8, "dress": 0.7}})
VALIDATED = validate_tags(
    rank_tags(FOUND, context=None, rows={}, per_phrase_final_k=2),
    retrieved=FOUND,
    vocabulary=Vocabulary(tags=tuple(tags_of({"coat": 1, "dress": 1}).values()), aliases={}),
    allow_nsfw_tags=True,
    min_tag_count=0,
    global_k=300,
)


async def main(database_url: str) -> None:
    run = new_run(kind=TAGS[0], mode=TAGS[1], stages=stages_of(*TAGS, until="consolidate"))
    async with Database(database_url) as database:
        async with database.connection() as connection:
            (job_id,) = (await runs.store(connection, run, always_new=True)).job_ids
            for stage in stages_of(*TAGS, until="validate"):
                output = VALIDATED.model_dump(mode="json") if stage == "validate" else {}
                await take(connection, job_id, stage, committing(output))
        with stage_runner(database, FUNCTIONS) as runner:
            outcome = await runner.run("consolidate", job_id, is_redelivered=False)
        async with database.connection() as connection:
            stored = await attempts.output(connection, job_id, "consolidate")
    print(json.dumps([outcome.name, stored and stored.value]))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
