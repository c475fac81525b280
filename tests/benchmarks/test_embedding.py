"""The embedding benchmark, without a model."""

import numpy as np

from benchmarks.embedding import EmbeddedSet, compared
from schemas.values.query_sets import QuerySet
from stages.queries.query_set import read_query_set

QUERIES = b'{"_id": "1", "text": "a"}\n{"_id": "2", "text": "b"}\n'
QRELS = b"query-id\tcorpus-id\tscore\n1\tx\t1\n2\ty\t1\n"


def two_queries() -> QuerySet:
    return read_query_set(QUERIES, QRELS, queries_file="q", qrels_file="r")


def test_formats_are_compared_with_float32_alone_query_by_query() -> None:
    documents, asked = ["x", "y"], np.eye(2, dtype=np.float32)
    exact = EmbeddedSet(documents, np.eye(2, dtype=np.float32))
    swapped = EmbeddedSet(documents, np.eye(2, dtype=np.float32)[::-1].copy())

    found = compared({"float32": (exact, asked), "bfloat16": (swapped, asked)}, two_queries())

    assert found["float32 / bfloat16"] == {"ndcg@10": 1.0, "difference": 0.0, "low": 0.0, "high": 0.0}
    assert found["bfloat16 / float32"]["ndcg@10"] < 0.7
    assert found["bfloat16 / float32"]["high"] < 0
    assert "float32 and bfloat16 / float32" in found
