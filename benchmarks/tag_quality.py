"""The quality of finding tags by other words than their names, source by source, fused, and through the chain."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from random import Random
from time import process_time
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from adapters.tag_models import (
    FastTextTokens,
    TagModelBuilder,
    read_context_model,
    read_similarity_model,
    similarity_file,
)
from schemas.values.tags import Lexicon, Neighbour, Vocabulary
from stages.ports import Vectors
from stages.tags.candidates import SearchedVocabulary, candidates_from_phrases
from stages.tags.embed import Sentences
from stages.tags.models import SentenceModel, in_any_order, plain
from stages.tags.phrases import final_phrases, lookup_of
from stages.tags.ports import TokenQuery, Vector
from stages.tags.similarity import FusedSearch, TokenTable

RESAMPLES: Final = 2000
QUERIES: Final = 400
"""Misspelt names and inverted headings, at most."""

_BATCH: Final = 256

Pairs: TypeAlias = Sequence[tuple[str, str]]
"""Lookups, each with its tag."""

Encode: TypeAlias = Callable[[Sequence[str]], Vectors]

Made = TypeVar("Made")

Half = Literal["dev", "test"]


class Share(NamedTuple):
    """A share with its 95 % percentile interval."""

    value: float
    low: float
    high: float


class Quality(NamedTuple):
    """One method on one set of lookups."""

    lookups: str
    method: str
    pairs: int
    hit_1: Share
    hit_10: Share
    less_1: Share | None
    """What the fusion has more at 1, on the same resampled pairs; None for the fusion itself."""
    less_10: Share | None


class Measured(NamedTuple):
    """Everything about a vocabulary."""

    rows: list[Quality]
    fasttext_s: float
    """To build FastText and the context model, in processor time."""
    sentences_s: float
    """To embed every name, in processor time."""
    similarity_s: float
    """To weigh character n-grams and pack the model, in processor time."""
    tokens: int


class Models:
    """A vocabulary with the models that a worker would load."""

    def __init__(self, vocabulary: Vocabulary, encode: Encode, *, seed: int) -> None:
        self.vocabulary = vocabulary
        self._encode = encode
        built, self.fasttext_s = _timed(lambda: TagModelBuilder().build(vocabulary, seed=seed))
        self.fasttext = FastTextTokens(built.tokens_file)
        self._context = read_context_model(built.context_file)
        self._rows = built.context_rows
        self.tokens = sorted({*(tag.name for tag in vocabulary.tags), *vocabulary.aliases})
        self._plain = [plain(token) for token in self.tokens]
        self.sentences, self.sentences_s = _timed(lambda: encode(self._plain))
        data, self.similarity_s = _timed(lambda: similarity_file(self.tokens, self.sentences))
        self._similarity = read_similarity_model(data)
        vectors = np.array([built.vectors[token] for token in self.tokens])
        self._table = TokenTable(tokens=self.tokens, vectors=vectors)
        self._search = FusedSearch(self._similarity, self._table)
        self._tags = {tag.name: tag for tag in vocabulary.tags}

    def by_fasttext(self, lookups: Sequence[str]) -> NDArray[np.floating]:
        """The cosine of each lookup with each token; 0 for a lookup of unknown characters."""
        known = self.fasttext.vectors_of(lookups)
        nothing = np.zeros(self.fasttext.dimension, dtype=np.float32)
        return np.array([known.get(lookup, nothing) for lookup in lookups]) @ self._table.vectors.T

    def by_characters(self, lookups: Sequence[str]) -> NDArray[np.floating]:
        """The same by character TF-IDF."""
        return np.array([self._similarity.characters.cosines(plain(lookup)) for lookup in lookups])

    def by_sentence(self, lookups: Sequence[str]) -> NDArray[np.floating]:
        """The same by the sentence embedder."""
        return self._encode([plain(lookup) for lookup in lookups]) @ self.sentences.T

    def by_spelling(self, lookups: Sequence[str]) -> NDArray[np.floating]:
        """The same by edits."""
        words = [plain(lookup) for lookup in lookups]
        as_written = _spelt(words, self._plain)
        ordered = _spelt([in_any_order(one) for one in words], [in_any_order(one) for one in self._plain])
        return np.maximum(as_written, ordered) ** 2

    def fused(self, lookups: Sequence[str]) -> NDArray[np.floating]:
        """The same by what the chain searches with; tokens beyond its nearest ones are not near at all."""
        known = self.fasttext.vectors_of(lookups)
        sentences = self._encode([plain(lookup) for lookup in lookups])
        queries = [
            TokenQuery(lookup, known.get(lookup), sentence) for lookup, sentence in zip(lookups, sentences, strict=True)
        ]
        near = np.full((len(lookups), len(self.tokens)), -1.0, dtype=np.float32)
        for row, neighbours in enumerate(self._search.nearest(queries, 100)):
            for neighbour in neighbours:
                near[row, self._table.places[neighbour.token]] = neighbour.similarity
        return near

    def chain(self, lookup: str, *, fuse: bool) -> list[str]:
        """The candidates for a phrase, best first, with the default settings; exact matches count."""
        vocabulary = SearchedVocabulary(
            1, self, self, self.fasttext, self._context, self._context_rows, self._sentences if fuse else None
        )
        found = asyncio.run(candidates_from_phrases(vocabulary, [lookup], allow_nsfw_tags=True, per_phrase_k=10))
        assert isinstance(found, list)
        return [candidate.tag for candidate in found]

    async def look_up(self, vocabulary_id: int, tokens: Sequence[str]) -> Lexicon:
        """See TagLexicon."""
        aliases = {token: self.vocabulary.aliases[token] for token in tokens if token in self.vocabulary.aliases}
        names = {*tokens, *(target for targets in aliases.values() for target in targets)}
        return Lexicon(tags={name: self._tags[name] for name in names & self._tags.keys()}, aliases=aliases)

    async def nearest(
        self, vocabulary_id: int, queries: Sequence[TokenQuery], *, limit: int
    ) -> list[tuple[Neighbour, ...]]:
        """See NeighbourSearch."""
        if not queries:
            return []
        search = self._table if queries[0].sentence is None else self._search
        return search.nearest(queries, limit)

    async def _context_rows(self, tags: object) -> Mapping[str, Vector]:
        return self._rows

    async def _sentences(self, phrases: Sequence[str]) -> Sentences:
        lookups = [phrase.lookup for phrase in final_phrases(phrases)]
        lookups = [lookup for lookup in lookups if self._similarity.characters.knows(plain(lookup))]
        vectors = self._encode([plain(lookup) for lookup in lookups])
        return Sentences(SentenceModel("huggingface", "packaged", ""), lookups, vectors)


METHODS: Final[Mapping[str, Callable[[Models, Sequence[str]], NDArray[np.floating]]]] = {
    "FastText alone (original)": Models.by_fasttext,
    "characters": Models.by_characters,
    "sentence": Models.by_sentence,
    "spelling": Models.by_spelling,
    "fused": Models.fused,
}


def measure(vocabulary: Vocabulary, encode: Encode, *, seed: int, held_out_share: float, half: Half | None) -> Measured:
    """Every method on aliases that the models saw, on aliases that they never saw, on misspelt names and on headings.

    The vocabulary of held-out aliases is without them: they are no tokens there. `half` keeps the lookups of every
    second tag, in an order drawn once.
    """
    kept = set(_half(vocabulary, half))
    encode = _remembering(encode)
    models = Models(vocabulary, encode, seed=seed)
    pairs = [(alias, tag) for alias, tags in vocabulary.aliases.items() for tag in tags if tag in kept]
    names = {tag.name for tag in vocabulary.tags}
    held_out = sorted(vocabulary.aliases.keys() - names)
    held_out_set = set(Random(seed).sample(held_out, round(held_out_share * len(held_out))))
    rest = {alias: tags for alias, tags in vocabulary.aliases.items() if alias not in held_out_set}
    without = Models(vocabulary.model_copy(update={"aliases": rest}), encode, seed=seed)
    shown = sorted(kept)
    wrong = misspelt(shown, set(models.tokens), seed=seed)
    turned = inverted(shown, set(models.tokens), seed=seed)
    rows = _rows("seen aliases", models, pairs)
    rows += _rows("held-out aliases", without, [pair for pair in pairs if pair[0] in held_out_set])
    rows += _rows("misspelt names", models, wrong)
    rows += _rows("inverted headings", models, turned)
    rows += _through_the_chain("misspelt names, chain", models, wrong)
    rows += _through_the_chain("inverted headings, chain", models, turned)
    return Measured(rows, models.fasttext_s, models.sentences_s, models.similarity_s, len(models.tokens))


def misspelt(names: Sequence[str], known: set[str], *, seed: int) -> list[tuple[str, str]]:
    """Names of five letters or more, each with a letter replaced or exchanged with the next one, in turns."""
    random = Random(seed)
    long = [name for name in names if sum(character.isalpha() for character in name) >= 5]
    found = []
    for number, name in enumerate(random.sample(long, min(QUERIES, len(long)))):
        at = [place for place in range(1, len(name) - 1) if name[place].isalpha() and name[place + 1].isalpha()]
        random.shuffle(at)
        letter = random.choice("abcdefghijklmnopqrstuvwxyz")
        wrong = (
            name[:place]
            + (letter + name[place + 1 :] if number % 2 else name[place + 1] + name[place] + name[place + 2 :])
            for place in at
        )
        found += [(one, name) for one in islice((one for one in wrong if one not in known), 1)]
    return found


def inverted(names: Sequence[str], known: set[str], *, seed: int) -> list[tuple[str, str]]:
    """Names of several words, turned round at a place: `diseases of heart` as `heart, diseases of`."""
    random = Random(seed)
    several = [name for name in names if len(re.split("[-_ ]", name)) > 1 and "," not in name]
    found = []
    for name in random.sample(several, min(QUERIES, len(several))):
        words = re.split("[-_ ]", name)
        place = random.randrange(1, len(words))
        heading = lookup_of(f"{' '.join(words[place:])}, {' '.join(words[:place])}")
        if heading not in known:
            found.append((heading, name))
    return found


def ranks(near: NDArray[np.floating], vocabulary: Vocabulary, tokens: Sequence[str], pairs: Pairs) -> NDArray[np.intp]:
    """The rank of each lookup's tag: a tag is as near as its nearest token. Ties count against the method.

    `near` has a row per lookup and a column per token; the lookup's own token does not count.
    """
    place = {token: column for column, token in enumerate(tokens)}
    rows = {tag.name: number for number, tag in enumerate(vocabulary.tags)}
    members = [(rows[name], place[name]) for name in rows]
    members += [
        (rows[tag], place[alias]) for alias, tags in vocabulary.aliases.items() if alias not in rows for tag in tags
    ]
    of_tag, of_token = np.array(sorted(members)).T
    near = near.copy()
    for row, (lookup, _) in enumerate(pairs):
        if lookup in place:
            near[row, place[lookup]] = -2.0
    by_tag = np.maximum.reduceat(near[:, of_token], np.searchsorted(of_tag, np.arange(len(rows))), axis=1)
    own = by_tag[np.arange(len(pairs)), [rows[tag] for _, tag in pairs]]
    found = (by_tag >= own[:, np.newaxis]).sum(axis=1)
    return np.where(own > 0, found, len(rows) + 1)


def compared(lookups: str, found: Mapping[str, NDArray[np.intp]], *, best: str) -> list[Quality]:
    """Shares of ranks up to 1 and up to 10, and what `best` has more, over the same resampled pairs."""
    pairs = len(found[best])
    draws = np.random.default_rng(0).integers(0, pairs, (RESAMPLES, pairs))
    rows = []
    for method, of_method in found.items():
        shares = [_share(of_method <= limit, draws) for limit in (1, 10)]
        more = [_share((found[best] <= limit).astype(float) - (of_method <= limit), draws) for limit in (1, 10)]
        rows.append(Quality(lookups, method, pairs, *shares, *([None, None] if method == best else more)))
    return rows


def _rows(lookups: str, models: Models, pairs: Pairs) -> list[Quality]:
    if not pairs:
        return []
    found = {}
    for method, similarities in METHODS.items():
        parts = (pairs[start : start + _BATCH] for start in range(0, len(pairs), _BATCH))
        of_parts = [
            ranks(similarities(models, [lookup for lookup, _ in part]), models.vocabulary, models.tokens, part)
            for part in parts
        ]
        found[method] = np.concatenate(of_parts)
    return compared(lookups, found, best="fused")


def _through_the_chain(lookups: str, models: Models, pairs: Pairs) -> list[Quality]:
    if not pairs:
        return []

    def rank(fuse: bool, lookup: str, tag: str) -> int:
        found = models.chain(lookup, fuse=fuse)
        return found.index(tag) + 1 if tag in found else len(models.tokens)

    methods = {"FastText alone (original)": partial(rank, False), "fused": partial(rank, True)}
    return compared(
        lookups,
        {name: np.array([of(lookup, tag) for lookup, tag in pairs]) for name, of in methods.items()},
        best="fused",
    )


def _share(hits: NDArray[np.generic], draws: NDArray[np.intp]) -> Share:
    resampled = hits[draws].mean(axis=1)
    low, high = np.percentile(resampled, [2.5, 97.5])
    return Share(float(hits.mean()), float(low), float(high))


def _spelt(words: Sequence[str], others: Sequence[str]) -> NDArray[np.float32]:
    return cdist(words, others, scorer=OSA.normalized_similarity, dtype=np.float32)


def _half(vocabulary: Vocabulary, half: Half | None) -> list[str]:
    names = sorted(tag.name for tag in vocabulary.tags)
    dev = set(Random(1).sample(names, len(names) // 2))
    return [name for name in names if half is None or (name in dev) is (half == "dev")]


def _remembering(encode: Encode) -> Encode:
    """The same, which embeds no text twice; rows at length 1."""
    known: dict[str, Vector] = {}

    def remembered(texts: Sequence[str]) -> Vectors:
        new = sorted(set(texts) - known.keys())
        if new:
            rows = encode(new)
            known.update(zip(new, rows / np.linalg.norm(rows, axis=1, keepdims=True), strict=True))
        return np.array([known[text] for text in texts], dtype=np.float32)

    return remembered


def _timed(make: Callable[[], Made]) -> tuple[Made, float]:
    began = process_time()
    made = make()
    return made, process_time() - began
