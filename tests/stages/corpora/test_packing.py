"""Sentences packed: full chunks, small ends, shared sentences."""

from hypothesis import given
from hypothesis import strategies as st

from stages.corpora.cut import ChunkSize, Sentence, pack


def of(*words: int) -> list[Sentence]:
    """Sentences with these numbers of words, each on its own line."""
    return [Sentence(f"s{place}", place, place, count) for place, count in enumerate(words)]


def packed(*words: int, size: ChunkSize = ChunkSize()) -> list[list[int]]:  # noqa: B008
    """The places of the sentences of each chunk."""
    return [[sentence.start_line for sentence in chunk] for chunk in pack(of(*words), size)]


def test_a_chunk_is_full_at_the_target_and_the_next_begins_with_its_last_three_sentences() -> None:
    assert packed(*[40] * 9) == [[0, 1, 2, 3, 4], [2, 3, 4, 5, 6], [4, 5, 6, 7, 8]]


def test_a_small_end_joins_the_chunk_before_it() -> None:
    assert packed(100, 110, 49) == [[0, 1, 2]]


def test_chunks_of_tokens_are_filled_and_share_a_quarter_at_most() -> None:
    assert packed(*[10] * 12, size=ChunkSize.of_tokens(40)) == [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9], [9, 10, 11]]
    assert packed(*[30] * 3, size=ChunkSize.of_tokens(40)) == [[0], [1], [2]]


def test_headings_leave_less_for_content_and_half_at_least() -> None:
    size = ChunkSize.of_tokens(100)
    assert (size.without(0), size.without(30).most, size.without(90).most) == (size, 70, 50)
    assert size.without(30).target == 70


SIZES = st.tuples(st.integers(1, 60), st.integers(0, 60), st.integers(0, 30), st.integers(0, 4)).map(
    lambda drawn: ChunkSize(target=drawn[0], most=drawn[0] + drawn[1], least=drawn[2], overlap=drawn[3])
)


@given(st.lists(st.integers(0, 120)), SIZES)
def test_every_sentence_is_packed_in_order_and_chunks_stay_within_their_bounds(
    words: list[int], size: ChunkSize
) -> None:
    words = [min(count, size.most) for count in words]
    chunks = pack(of(*words), size)
    new: list[list[int]] = []
    for chunk in chunks:
        places = [sentence.start_line for sentence in chunk]
        assert places == list(range(places[0], places[-1] + 1))
        assert sum(sentence.length for sentence in chunk) <= size.most
        new.append([place for place in places if not new or place > new[-1][-1]])

    assert [place for places in new for place in places] == list(range(len(words)))
    assert all(new)
