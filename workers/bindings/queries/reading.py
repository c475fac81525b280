"""What the stages of a query job read beside the outputs of earlier stages. All of it is noted as input."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from schemas.errors import InputChangedError, NothingRelevantError
from schemas.full_text import SIMPLE
from stages.ports import Terms
from stages.queries.templates import TemplateTag
from store.corpora import bm25, corpora
from store.corpora.chunk_search import PostgresChunkSearch
from store.corpora.corpora import StoredCorpus
from store.database import Connection
from store.questions import queries, templates
from store.questions.queries import StoredQuery
from store.questions.templates import StoredTemplate
from store.runs.chain import content_hash
from workers.work import Work


async def question(work: Work) -> StoredQuery:
    """The question as it is asked now. Raises InputChangedError when it is gone."""
    found = await work.database.with_retry(lambda connection: queries.of_job(connection, work.claim.job_id))
    if found is None:
        raise InputChangedError(f"The question of job j{work.claim.job_id} is not stored any more; submit it anew.")
    work.read["query"] = content_hash(found.original_query)
    return found


async def searched_corpora(work: Work, query: StoredQuery) -> list[StoredCorpus]:
    """The corpora that the question searches."""
    return [await work.database.with_retry(partial(_corpus, corpus_id=corpus_id)) for corpus_id in query.corpus_ids]


async def _corpus(connection: Connection, *, corpus_id: int) -> StoredCorpus:
    return await corpora.corpus(connection, corpus_id)


def number_formats(searched: Sequence[StoredCorpus]) -> list[str]:
    """The number formats of their vectors."""
    return list(dict.fromkeys(dtype for corpus in searched for dtype in corpus.model_dtypes))


@contextmanager
def advising(work: Work, query: StoredQuery) -> Iterator[None]:
    """When the values of the preset leave nothing to answer from, the error names the commands to continue with."""
    try:
        yield
    except NothingRelevantError as error:
        error.advise(query.id, work.claim.job_id, work.claim.stage)
        raise


async def template(work: Work, tag: TemplateTag) -> StoredTemplate:
    """The version of the template that was active at submission; of a template that is newer, the active one."""
    version: int | None = work.claim.inputs["templates"].get(tag)
    found = await work.database.with_retry(lambda connection: templates.get(connection, tag, version))
    work.read[f"template {tag}"] = found.version
    return found


def asked_model(work: Work) -> str:
    """The model that expands or answers: the light one where it was asked for, which is noted, or that of the run."""
    full, light = work.settings.query_model, work.settings.query_light_model
    if not work.claim.inputs.get("light_model") or light == full:
        return full
    work.read["model"] = light
    return light


def terms_of(work: Work, searched: Sequence[StoredCorpus]) -> Terms:
    """The terms of texts, as the full-text search of these corpora reads them."""
    full_text = searched[0].full_text or SIMPLE

    async def terms(texts: Sequence[str]) -> list[dict[str, int]]:
        return await work.database.with_retry(
            lambda connection: bm25.asked_terms(connection, texts, full_text=full_text)
        )

    return terms


def chunk_search(work: Work) -> PostgresChunkSearch:
    """The search over chunks, with the preset's parameters of BM25."""
    preset = work.preset.retrieval
    return PostgresChunkSearch(work.database, k1=preset.bm25_k1, b=preset.bm25_b)
