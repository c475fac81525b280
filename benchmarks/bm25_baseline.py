"""BM25 over whole documents by bm25s: the baseline of a search."""

from collections.abc import Sequence
from statistics import mean
from typing import Final

import bm25s
import numpy as np
import Stemmer

from benchmarks.retrieval_sets import Document
from schemas.values.queries import QuerySet
from stages.metrics.retrieval import measure_rankings

#: The values of Anserini, which ragq searches with too.
K1, B = 0.9, 0.4
_CUTOFF: Final = 10


def bm25_ndcg(documents: Sequence[Document], queries: QuerySet) -> float:
    """Mean nDCG@10 over the queries with a relevant document; English stemmed, without stop words."""
    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: list[str]) -> list[list[str]]:
        found: list[list[str]] = bm25s.tokenize(
            texts, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False
        )
        return found

    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index(tokens([document.markdown for document in documents]), show_progress=False)
    relevance: dict[str, dict[str, int]] = {}
    for judgement in queries.judgements:
        relevance.setdefault(judgement.query_id, {})[judgement.document] = judgement.relevance
    judged = [query for query in queries.queries if max(relevance.get(query.external_id, {"": 0}).values()) > 0]
    rankings = {}
    for query, words in zip(judged, tokens([query.text for query in judged]), strict=True):
        scores = index.get_scores(words) if words else np.zeros(len(documents))
        best = np.argsort(-scores, kind="stable")[:_CUTOFF]
        rankings[query.external_id] = [documents[place].name for place in best if scores[place] > 0]
    measured = measure_rankings(rankings, relevance, cutoff=_CUTOFF)
    return mean(found["ndcg@10"] for found in measured.values())
