"""The chunks of a corpus in words, wherever it is shown: their size, and what the embedder does not read of them."""

from stages.reports.numbers_in_words import percent


def chunk_size_words(tokens: int) -> str:
    """The size of chunks in words.

    >>> chunk_size_words(192), chunk_size_words(0)
    ('chunks of at most 192 tokens', 'chunks of 200 to 300 words')
    """
    return f"chunks of at most {tokens} tokens" if tokens else "chunks of 200 to 300 words"


def loss_words(*, cut: int, of: int, reads: int | None, unseen: float | None) -> str:
    """How many chunks are longer than the embedder reads, and the share of tokens in what it does not read.

    >>> loss_words(cut=3, of=4, reads=256, unseen=0.148)
    '3 of 4 chunks are longer than the 256 tokens that the embedder reads; it never sees 14.8 % of all tokens'
    >>> loss_words(cut=0, of=4, reads=256, unseen=0.0)
    'no chunk is longer than the 256 tokens that the embedder reads'
    >>> loss_words(cut=1, of=4, reads=None, unseen=None)
    '1 of 4 chunks is longer than the embedder reads'
    """
    limit = "the embedder reads" if reads is None else f"the {reads} tokens that the embedder reads"
    if not cut:
        return f"no chunk is longer than {limit}"
    words = f"{cut:,} of {of:,} chunks {'is' if cut == 1 else 'are'} longer than {limit}"
    return words if unseen is None else f"{words}; it never sees {percent(unseen)} % of all tokens"
