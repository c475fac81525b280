"""What the stages of a query job read beside the outputs of earlier stages. All of it is noted as input."""

from schemas.errors import InputChangedError
from stages.queries.templates import TemplateTag
from store import queries, templates
from store.chain import content_hash
from store.queries import StoredQuery
from workers.work import Work


async def question(work: Work) -> StoredQuery:
    """The question as it is asked now. Raises InputChangedError when it is gone."""
    found = await work.database.steadily(lambda connection: queries.of_job(connection, work.claim.job_id))
    if found is None:
        raise InputChangedError(f"The question of job j{work.claim.job_id} is not stored any more; submit it anew.")
    work.read["query"] = content_hash(found.original_query)
    return found


async def template(work: Work, tag: TemplateTag) -> tuple[str, int]:
    """The text and the version of the template that was active at submission."""
    version: int = work.claim.inputs["templates"][tag]
    work.read[f"template {tag}"] = version
    stored = await work.database.steadily(lambda connection: templates.get(connection, tag, version))
    return stored.text, version
