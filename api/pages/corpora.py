"""`/corpora`: the corpora; one of them with its works; the button that deletes it."""

from typing import Annotated, Final, NamedTuple

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from api.context import Context
from api.parameters import PathId, Text
from api.rendering import page
from api.routes import PageRoute
from api.security.csrf import csrf
from schemas.full_text import language_words
from services.corpora import CorpusLoss, corpus_loss, delete_corpus, embedding_loss
from stages.reports.words import chunk_size_words
from store.corpora import corpora, works
from store.corpora.corpora import CorpusContent, StoredCorpus
from store.corpora.keeping import ImportOutcome
from store.corpora.vector_index import find_index
from store.runs import overviews

PAGE_WORKS: Final = 50
SHOWN_RUNS: Final = 3

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class CorpusRow(NamedTuple):
    """A corpus of the list."""

    corpus: StoredCorpus
    content: CorpusContent
    loss: CorpusLoss


class LastImport(BaseModel):
    """The result of an import, in the query of the page's address."""

    new: int = Field(default=0, ge=0, lt=2**31)
    replaced: int = Field(default=0, ge=0, lt=2**31)
    unchanged: int = Field(default=0, ge=0, lt=2**31)

    @property
    def in_words(self) -> str:
        """The counts that are not 0; empty when nothing was imported."""
        counts = {str(outcome): getattr(self, outcome) for outcome in ImportOutcome}
        return ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)


@router.get("/corpora")
async def corpora_page(request: Request, ctx: Context, name: Text | None = None) -> Response:
    """Every corpus with its numbers; with `name`, redirects to the corpus of that name where there is one."""
    async with ctx.database.connection() as connection:
        named = None if name is None else await corpora.find(connection, name)
        if named is not None:
            return RedirectResponse(f"/corpora/{named.id}", 303)
        rows = []
        for corpus in await corpora.all_corpora(connection):
            content = await corpora.content(connection, corpus.id)
            rows.append(CorpusRow(corpus, content, await corpus_loss(connection, corpus, content)))
    return page(request, "corpora.html.j2", rows=rows, missing=name)


@router.get("/corpora/{corpus_id:int}")
async def corpus_page(
    request: Request,
    ctx: Context,
    corpus_id: PathId,
    last_import: Annotated[LastImport, Query()],
    search: Annotated[Text, Query(max_length=200)] = "",
    part: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> Response:
    """A corpus: its embedder, its numbers, the newest runs that embed it, and a part of its works."""
    search = search.strip()
    async with ctx.database.connection() as connection:
        corpus = await corpora.corpus(connection, corpus_id)
        content = await corpora.content(connection, corpus_id)
        loss = await corpus_loss(connection, corpus, content)
        index = await find_index(connection, corpus_id)
        run_ids = await corpora.embedding_runs(connection, corpus_id, limit=SHOWN_RUNS)
        runs = [await overviews.overview(connection, run_id) for run_id in run_ids]
        found = await works.count(connection, corpus_id, search=search)
        listed = await works.listed(
            connection, corpus_id, search=search, limit=PAGE_WORKS, offset=(part - 1) * PAGE_WORKS
        )
    return page(
        request,
        "corpus.html.j2",
        corpus=corpus,
        content=content,
        loss=loss,
        chunk_size_words=chunk_size_words,
        language_words=language_words,
        unseen=embedding_loss(corpus, content),
        has_index=index is not None and index.has_index,
        index_from=ctx.run_settings().run.ragq.hnsw_from_chunks,
        runs=[run for run in runs if run is not None],
        works=listed,
        found=found,
        search=search,
        part=part,
        parts_of_list=-(-found // PAGE_WORKS),
        imported=last_import.in_words,
    )


@router.post("/corpora/{corpus_id:int}/delete", dependencies=[Depends(csrf)])
async def delete(ctx: Context, corpus_id: PathId) -> Response:
    """Delete the corpus with everything in it, and the questions that were asked of it."""
    async with ctx.database.connection() as connection:
        await corpora.corpus(connection, corpus_id)
        await delete_corpus(connection, corpus_id)
    return RedirectResponse("/corpora", 303)
