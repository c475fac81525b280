"""What an answer is based on, in sentences."""

import pytest

from schemas.values.queries import AnswerBasis, ContextSource
from stages.queries.basis_words import basis_in_words

WHOLE = AnswerBasis(context_source=ContextSource.CONSOLIDATED, shown=3, available=3, found_chunks=9)


def test_nothing_is_said_where_nothing_was_lost() -> None:
    assert basis_in_words(WHOLE) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"context_source": ContextSource.EMPTY, "shown": 0, "available": 0}, "The prompt has no sources"),
        ({"context_source": ContextSource.RETRIEVED}, "retrieved chunks: consolidation has not run"),
        (
            {"context_source": ContextSource.RETRIEVED, "consolidated_count": 0, "dropped_passages": 4},
            "all 4 passages were shorter than consolidation.min_content_length",
        ),
        ({"dropped_passages": 1}, "1 passage shorter than consolidation.min_content_length dropped"),
        (
            {"dropped_chunks": {"min_chars": 1, "min_words": 2}},
            "3 of 9 retrieved chunks dropped as too short (1 retrieval.min_char_count, 2 retrieval.min_word_count)",
        ),
        ({"kept_short": {"min_words": 9}}, "All 9 retrieved chunks are too short (9 retrieval.min_word_count)"),
        ({"rejected_chunks": 2}, "2 chunks not accepted by validation"),
        ({"ranker": "score-fusion, without the weights of bge"}, "Ranked by score-fusion, without the weights of bge"),
        ({"cut_texts": 1}, "1 text of the question longer than the embedder reads, and cut"),
        ({"cut_chunks": 2}, "2 chunks of the sources longer than the embedder reads"),
        (
            {"context_tokens": 4096, "left_out": 1, "cut_chars": 9},
            "4096 tokens together, so that 1 further source and the last 9 characters of source S3 did not fit",
        ),
        ({"available": 8}, "The prompt has 3 of 8 available sources"),
    ],
)
def test_every_fallback_and_every_loss_is_one_sentence(changes: dict[str, object], words: str) -> None:
    (sentence,) = basis_in_words(WHOLE.model_copy(update=changes))

    assert words in sentence
