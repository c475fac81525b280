"""A vocabulary with models, and runs of phrases with candidates, for tests of resources and pages."""

from typing import Final

import httpx

from schemas.values.tags import Candidate, EmbeddedPhrases, PhraseReport, RankedTags, RetrievedTags, ValidatedTags
from store.database import Connection
from store.runs import stages
from tests.acceptance.wardrobe import FILES
from tests.store.scored import claimed

PHRASES: Final = ("overcoat", "umbrela")
COAT: Final = Candidate(
    tag="coat",
    alias_token="overcoat",
    score_combined=0.9,
    score_fasttext=1.0,
    score_context=0.5,
    count=500,
    sources=("overcoat",),
)

REPORT: Final = PhraseReport(
    phrase="Overcoat",
    normalized="overcoat",
    lookup="overcoat",
    tfidf_vocab=(),
    oov_terms=("overcoat",),
    candidates=(COAT.model_copy(update={"context_imputed": True}),),
)
RANKS: Final = {"coat": 1}
OUTPUTS: Final = {
    "embed": EmbeddedPhrases(model="fasttext", model_digest="a", phrases=(), embedded=(), context=None),
    "retrieve": RetrievedTags(phrases=()),
    "rerank": RankedTags(candidates=(COAT,), phrase_reports=(REPORT,), phrase_rank_by_tag=RANKS),
    "validate": ValidatedTags(candidates=(COAT,), phrase_rank_by_tag=RANKS),
}


async def upload(client: httpx.AsyncClient, name: str = "wardrobe", **files: str) -> httpx.Response:
    sent = [("files", (file, text.encode())) for file, text in (files or FILES).items()]
    return await client.post("/vocabularies", data={"name": name}, files=sent)


async def mark_built(connection: Connection) -> None:
    """Give every vocabulary the columns of models, without their bytes."""
    await connection.execute(
        "UPDATE vocabulary SET model = 'fasttext', model_digest = 'a', context_digest = 'b', dimension = 3, "
        "similarity_digest = 'c', sentence_backend = 'huggingface', sentence_model = 'mini', sentence_digest = 'd', "
        "indexed_at = now()"
    )


async def finish(connection: Connection, job_id: int) -> None:
    """Store the outputs of a job's stages, as a worker does."""
    for stage, output in OUTPUTS.items():
        claim = await claimed(connection, job_id, stage)
        assert await stages.commit(connection, claim, inputs={}, output=output.model_dump(mode="json"))
