"""TF-IDF over the character n-grams of names, two to four characters long, with the space around each word."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class CharacterModel:
    """The names of a vocabulary, which are written as `spelling.plain` writes them, by the weights of their n-grams."""

    def __init__(self, names: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]  # Loads for a second.

        self._vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), lowercase=False, dtype=np.float32)
        # scikit-learn learns nothing from names without any n-gram.
        self._names = self._vectorizer.fit_transform(names if any(map(str.split, names)) else [*names, " a"]).tocsc()
        self._count = len(names)

    @property
    def bytes(self) -> int:
        """What the weights take."""
        return int(self._names.data.nbytes + self._names.indices.nbytes)

    def knows(self, words: str) -> bool:
        """Whether a name of the vocabulary shares an n-gram with these words."""
        return bool(self._vectorizer.transform([words]).nnz)

    def cosines(self, words: str) -> NDArray[np.float32]:
        """The cosine of these words with each of the names, in the order of rows."""
        asked = self._vectorizer.transform([words])
        summed = self._names[:, asked.indices] @ asked.data
        return np.asarray(np.minimum(summed[: self._count], 1.0), dtype=np.float32)
