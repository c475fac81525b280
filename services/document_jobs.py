"""Jobs that make works of documents, and what their stages stored."""

from typing import NamedTuple, TypeVar

from schemas.chains import stage_that_stores
from schemas.errors import DocumentMissingError, Refused
from schemas.values.base import Value
from store.corpora import sources, works
from store.database import Connection
from store.runs import attempts, jobs
from store.runs.jobs import Job

Output = TypeVar("Output", bound=Value)

KIND = "work"
MODE = "document"


class DocumentTarget(NamedTuple):
    """A work, or the job of a document; one of them is given."""

    work_id: int | None = None
    job_id: int | None = None


async def document_job(connection: Connection, job_id: int) -> Job:
    """The job of a document. Raises JobMissingError, and DocumentMissingError for a job of another kind."""
    job = await jobs.get(connection, job_id)
    if job.kind != KIND:
        raise DocumentMissingError(
            f"Job j{job_id} is about no document; `ragq corpus show CORPUS` lists works with their jobs."
        )
    return job


async def job_of(connection: Connection, target: DocumentTarget) -> Job | None:
    """The job of a document, or that which made a work what it is; None for a work that no stored job made.

    Raises as `document_job`, and Refused for a work that is not stored.
    """
    if target.job_id is not None:
        return await document_job(connection, target.job_id)
    assert target.work_id is not None
    await works.work(connection, target.work_id)
    job_id = (await sources.jobs_of_works(connection, [target.work_id])).get(target.work_id)
    return None if job_id is None else await document_job(connection, job_id)


async def output_of(connection: Connection, job_id: int, output: type[Output]) -> Output | None:
    """What a stage of a document stored last; None while it is not stored, or stale."""
    return await attempts.stored(connection, job_id, stage_that_stores(KIND, MODE, output), output)


async def needed(connection: Connection, job_id: int, output: type[Output]) -> Output:
    """The same. Raises DocumentMissingError while it is not stored."""
    found = await output_of(connection, job_id, output)
    if found is None:
        stage = stage_that_stores(KIND, MODE, output)
        raise DocumentMissingError(
            f"Stage '{stage}' of job j{job_id} is not stored now; `ragq inspect j{job_id}` shows its progress."
        )
    return found


async def refuse_replaced(connection: Connection, *job_ids: int) -> None:
    """Raise Refused for a job of a document whose work has another text since."""
    if (replaced := await sources.replaced(connection, job_ids)) is not None:
        job_id, work_id = replaced
        raise Refused(
            f"Work {work_id} has another text than job j{job_id} made, because its file was imported again; `ragq work "
            f"show {work_id}` names the job of the present text.",
            slug="document-replaced",
        )
