"""Several corpora that one question searches as if they were one."""

from collections.abc import Iterator, Sequence

from schemas.errors import Refused
from stages.number_formats import first_unlike
from store.corpora.corpora import StoredCorpus


def refuse_unlike(corpora: Sequence[StoredCorpus]) -> None:
    """Raise Refused, naming every difference, unless one search can have all of these corpora.

    Their vectors have to be of one model and comparable, and their texts read by one dictionary.
    """
    first, *others = corpora
    for other in others:
        differences = list(_differences(first, other))
        if differences:
            raise Refused(
                f"Corpora '{first.name}' and '{other.name}' cannot be searched together:\n"
                + "\n".join(f"  {name}: {one} and {another}" for name, one, another in differences)
                + f"\nAsk each by itself, or import the works of '{other.name}' into a new corpus with the values of "
                f"'{first.name}'."
            )


def _differences(first: StoredCorpus, other: StoredCorpus) -> Iterator[tuple[str, object, object]]:
    values = {
        "EMBEDDING_BACKEND": (first.backend, other.backend),
        "MODEL_EMBEDDING_MODEL": (first.model, other.model),
        "EMBEDDING_DIMENSION": (first.dimension, other.dimension),
        "weights": (_weights(first), _weights(other)),
        "headings in vectors": (first.embeds_headings, other.embeds_headings),
        "full text": (first.full_text, other.full_text),
    }
    yield from ((name, one, another) for name, (one, another) in values.items() if one != another)
    for dtype in first.model_dtypes:
        if unlike := first_unlike(dtype, other.model_dtypes):
            yield "number format of vectors", dtype, unlike


def _weights(corpus: StoredCorpus) -> str:
    return (corpus.model_digest or "")[:12] or "unknown"
