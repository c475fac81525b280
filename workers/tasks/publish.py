"""Stage `publish`: the last job of an index run to get here makes the index visible, in the same transaction."""

from schemas.errors import InputChangedError
from schemas.values.references import EmbeddedChunks, FinishedBatch
from store import references
from store.database import Connection
from workers.stage_task import define_stage
from workers.work import Result, Work


async def publish_of_index(work: Work) -> Result:
    """Finish this transcript; publish when all others are finished too."""
    run_id = work.claim.run_id
    index = await work.database.steadily(lambda connection: references.by_run(connection, run_id))
    if index is None:
        raise InputChangedError(f"Run r{run_id} has no index to publish.")
    embedded = await work.output("embed", EmbeddedChunks)

    async def publish(connection: Connection) -> None:
        await references.publish_when_complete(connection, run_id)

    return Result(FinishedBatch(index_id=index.id, chunks=embedded.vectors), effect=publish)


define_stage("publish", index=publish_of_index)
