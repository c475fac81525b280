"""Stage `retrieve`: dense and full-text search for the texts of a query, and the fusion of all."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from schemas.errors import EmbeddingArtifactMismatchError
from schemas.settings.preset import RetrievalPreset
from schemas.settings.run import EmbeddingSettings
from schemas.values.queries import EmbeddedQuery, Expansion, Hit, Leg, QueryText, RankedList, RetrievedChunks
from stages.models import refuse_mixture
from stages.ports import ChunkSearch, Embedder, Vectors
from stages.queries.rerank import z_scores
from stages.vectors import embedded_by, unit_vectors


def query_texts(query: str, expansion: Expansion) -> list[tuple[QueryText, str]]:
    """The query, then every search phrase, then the hypothetical answer (HyDE) if there is one."""
    texts = [(QueryText.ORIGINAL, query), *((QueryText.MQE, phrase) for phrase in expansion.queries)]
    return [*texts, (QueryText.HYDE, expansion.hyde_answer)] if expansion.hyde_answer else texts


async def embed_query(
    query: str,
    expansion: Expansion,
    *,
    embedder: Embedder,
    digest: str,
    dtypes: Collection[str] = (),
    embedding: EmbeddingSettings,
) -> tuple[EmbeddedQuery, Vectors]:
    """One row per text of a query, as `unit_vectors` gives it. `digest` and `dtypes` are those of the corpus; an empty
    digest, on either side, is not compared. Raises EmbeddingArtifactMismatchError for other weights or number formats,
    before any call, and what `unit_vectors` raises."""
    now = await embedder.digest()
    if digest and now and digest != now:
        raise EmbeddingArtifactMismatchError(
            f"The corpus was embedded with weights {digest[:12]}, and model '{embedder.name}' now has {now[:12]}; "
            "embed the corpus again, or restore the model."
        )
    refuse_mixture(await embedder.dtype(), dtypes, what="The corpus")
    kinds, texts = zip(*query_texts(query, expansion), strict=True)
    timeout_s, dimension = embedding.query_embed_timeout_seconds, embedding.dimension
    found = await unit_vectors(texts, embedder=embedder, timeout_s=timeout_s, dimension=dimension)
    by = await embedded_by(embedder, [found], dimension=dimension)
    return EmbeddedQuery(**dict(by), texts=kinds), found.vectors


def fuse(lists: Sequence[RankedList], preset: RetrievalPreset) -> list[Hit]:
    """Every chunk of the lists, once, best first; equal scores keep the order in which the lists name them."""
    scores = (reciprocal_ranks if preset.fusion == "rrf" else weighted_z_scores)(lists, preset)
    return sorted(scores.items(), key=lambda hit: -hit[1])


def reciprocal_ranks(lists: Sequence[RankedList], preset: RetrievalPreset) -> dict[int, float]:
    """The sum of 1 / (k + rank) over the lists that have the chunk (Cormack, Clarke and Buettcher, SIGIR 2009)."""
    scores = dict.fromkeys(_chunks(lists), 0.0)
    for ranked in lists:
        for rank, (chunk_id, _) in enumerate(ranked.hits, start=1):
            scores[chunk_id] += 1 / (preset.rrf_k + rank)
    return scores


def _lowest_score(ranked: RankedList, *, lexical_limit: int) -> float:
    """The upper bound of the score of a chunk that is not in the list. A full list omits chunks that score less than
    its last hit, and so does a dense list, which omits none unless it is full. A lexical list that is not full omits
    chunks without any word of the text: 0."""
    if not ranked.hits or (ranked.leg is Leg.LEXICAL and len(ranked.hits) < lexical_limit):
        return 0.0
    return min(score for _, score in ranked.hits)


def weighted_z_scores(lists: Sequence[RankedList], preset: RetrievalPreset) -> dict[int, float]:
    """The weighted sum of both legs. The z-scores of a list are over all chunks, with `_lowest_score` for those not in
    it; a leg is the mean of its lists, and a leg without lists is 0."""
    ids = _chunks(lists)
    total = np.zeros(len(ids))
    for leg, weight in ((Leg.DENSE, preset.dense_weight), (Leg.LEXICAL, 1 - preset.dense_weight)):
        of_leg = [ranked for ranked in lists if ranked.leg is leg]
        for ranked in of_leg:
            found = dict(ranked.hits)
            lowest = _lowest_score(ranked, lexical_limit=preset.lexical_limit)
            total += weight * z_scores(np.array([found.get(id_, lowest) for id_ in ids])) / len(of_leg)
    return dict(zip(ids, total.tolist(), strict=True))


def _chunks(lists: Sequence[RankedList]) -> list[int]:
    return list(dict.fromkeys(chunk_id for ranked in lists for chunk_id, _ in ranked.hits))


async def retrieve_chunks(
    query: str,
    expansion: Expansion,
    embedded: EmbeddedQuery,
    vectors: Vectors,
    *,
    search: ChunkSearch,
    corpora: Sequence[int],
    among: Sequence[int] | None = None,
    preset: RetrievalPreset,
) -> RetrievedChunks:
    """One dense list per vector, one lexical list per text except HyDE, in the order of the texts, and the first chunks
    of their fusion. Several corpora are searched as if they were one; with `among` only these chunks are found."""
    lists: list[RankedList] = []
    if preset.dense_limit:
        found = await search.dense(corpora, vectors, limit=preset.dense_limit, among=among)
        lists += _ranked(Leg.DENSE, embedded.texts, found)
    if preset.lexical_limit:
        texts = [(kind, text) for kind, text in query_texts(query, expansion) if kind is not QueryText.HYDE]
        asked = [text for _, text in texts]
        found = await search.lexical(corpora, asked, limit=preset.lexical_limit, scorer=preset.lexical, among=among)
        lists += _ranked(Leg.LEXICAL, (kind for kind, _ in texts), found)
    return RetrievedChunks(
        fusion=preset.fusion,
        lexical=preset.lexical,
        lists=tuple(lists),
        fused=tuple(fuse(lists, preset)[: preset.top_k_rrf]),
    )


def _ranked(leg: Leg, kinds: Iterable[QueryText], found: Iterable[Sequence[Hit]]) -> list[RankedList]:
    return [RankedList(leg=leg, text=kind, hits=tuple(hits)) for kind, hits in zip(kinds, found, strict=True)]
