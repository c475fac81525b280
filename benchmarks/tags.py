"""Tags: the quality of finding them by other words than their names, source by source and fused."""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

import click
import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from adapters.local_models import SentenceTransformerEncoder
from adapters.tag_models import build_tag_models, read_token_model
from adapters.weights import PACKAGED_EMBEDDER
from benchmarks.common import data_folder, show, show_machine
from schemas.values.tags import Vocabulary
from stages.ports import TokenQuery, Vectors
from stages.records import accept
from stages.tags.similarity import FusedSearch, at_length_1, in_any_order, plain
from stages.tags.vocabulary_files import FILES, parse_vocabulary

RESAMPLES: Final = 2000
QUERIES: Final = 400
"""Misspelt names, at most."""
HELD_OUT: Final = 0.2
"""Share of aliases that one model never sees."""
_BATCH: Final = 256

Pairs: TypeAlias = Sequence[tuple[str, str]]
"""Lookups, each with its tag."""
Near: TypeAlias = NDArray[np.floating]
"""How near each lookup is to each token: a row per lookup."""


@click.command(short_help="Quality of finding tags, source by source and fused")
@click.option(
    "--data",
    "folders",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder that `ragq import tags` takes; tags_github_topics of RAGQ_DATA_DIR unless named. May be repeated.",
)
@click.option("--seed", default=7, show_default=True, help="Seed of models, held-out aliases and misspelt names.")
def tags(folders: tuple[Path, ...], seed: int) -> None:
    """Find the tags of vocabularies by aliases that no model saw, and by misspelt names.

    Exact matches of aliases are switched off.

    \b
    Example:
        python -m benchmarks tags
        python -m benchmarks tags --data topics/ --data headings/
    """
    show_machine("gensim", "scikit-learn", "sentence-transformers", "numpy")
    encoder = SentenceTransformerEncoder(PACKAGED_EMBEDDER, threads=1)
    for folder in folders or (data_folder() / "tags_github_topics",):
        files = {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}
        rows = _quality(accept(parse_vocabulary(files)), encoder.encode, seed)
        show(f"{folder}: the tag of a lookup, 95 % intervals", ("lookups", "method", "pairs", "hit@1", "hit@10"), rows)


class Models:
    """A vocabulary with the models that a worker would load."""

    def __init__(self, vocabulary: Vocabulary, encode: Callable[[Sequence[str]], Vectors], *, seed: int) -> None:
        self.vocabulary = vocabulary
        self._encode = encode
        built, _ = build_tag_models(vocabulary, seed=seed)
        self._fasttext = read_token_model(built)
        self.tokens = self._fasttext.tokens
        self._plain = [plain(token) for token in self.tokens]
        self._sentences = at_length_1(encode(self._plain))
        self._search = FusedSearch(self._fasttext, self._sentences)

    def by_fasttext(self, lookups: Sequence[str]) -> Near:
        """The cosine of each lookup with each token; 0 for a lookup of unknown characters."""
        known = self._fasttext.vectors_of(lookups)
        nothing = np.zeros(self._fasttext.dimension, dtype=np.float32)
        vectors = np.array([known.get(lookup, nothing) for lookup in lookups])
        return np.asarray(vectors @ self._fasttext.vectors.T)

    def by_sentence(self, lookups: Sequence[str]) -> Near:
        """The same by the sentence embedder."""
        return np.asarray(self._asked(lookups) @ self._sentences.T)

    def by_spelling(self, lookups: Sequence[str]) -> Near:
        """The same by edits."""
        words = [plain(lookup) for lookup in lookups]
        ordered = _spelt([in_any_order(one) for one in words], [in_any_order(one) for one in self._plain])
        return np.asarray(np.maximum(_spelt(words, self._plain), ordered) ** 2)

    def fused(self, lookups: Sequence[str]) -> Near:
        """The same by what the chain searches with; tokens beyond its nearest ones are not near at all."""
        known = self._fasttext.vectors_of(lookups)
        queries = [
            TokenQuery(lookup, known.get(lookup), sentence)
            for lookup, sentence in zip(lookups, self._asked(lookups), strict=True)
        ]
        near = np.full((len(lookups), len(self.tokens)), -1.0, dtype=np.float32)
        for row, neighbours in enumerate(self._search.nearest(queries, 100)):
            for neighbour in neighbours:
                near[row, self._fasttext.places[neighbour.alias_token]] = neighbour.similarity
        return near

    def _asked(self, lookups: Sequence[str]) -> Vectors:
        return at_length_1(self._encode([plain(lookup) for lookup in lookups]))


METHODS: Final[Mapping[str, Callable[[Models, Sequence[str]], Near]]] = {
    "FastText alone": Models.by_fasttext,
    "sentence": Models.by_sentence,
    "spelling": Models.by_spelling,
    "fused": Models.fused,
}


def _quality(vocabulary: Vocabulary, encode: Callable[[Sequence[str]], Vectors], seed: int) -> list[tuple[object, ...]]:
    """Every method on each kind of lookups. The vocabulary of held-out aliases is without them: they are no tokens."""
    names = sorted(tag.name for tag in vocabulary.tags)
    aliases = sorted(vocabulary.aliases.keys() - set(names))
    held_out = set(Random(seed).sample(aliases, round(HELD_OUT * len(aliases))))
    rest = {alias: tags for alias, tags in vocabulary.aliases.items() if alias not in held_out}
    models = Models(vocabulary, encode, seed=seed)
    without = Models(vocabulary.model_copy(update={"aliases": rest}), encode, seed=seed)
    pairs = [(alias, tag) for alias in sorted(held_out) for tag in vocabulary.aliases[alias]]
    return [
        *_shares("held-out aliases", without, pairs),
        *_shares("misspelt names", models, misspelt(names, set(models.tokens), seed=seed)),
    ]


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


def ranks(near: Near, models: Models, pairs: Pairs) -> NDArray[np.intp]:
    """The rank of each lookup's tag: a tag is as near as its nearest token. Ties count against the method.

    The lookup's own token does not count.
    """
    place = {token: column for column, token in enumerate(models.tokens)}
    rows = {tag.name: number for number, tag in enumerate(models.vocabulary.tags)}
    members = [(rows[name], place[name]) for name in rows]
    for alias, names in models.vocabulary.aliases.items():
        members += [(rows[name], place[alias]) for name in names if alias not in rows]
    of_tag, of_token = np.array(sorted(members)).T
    for row, (lookup, _) in enumerate(pairs):
        if lookup in place:
            near[row, place[lookup]] = -2.0
    by_tag = np.maximum.reduceat(near[:, of_token], np.searchsorted(of_tag, np.arange(len(rows))), axis=1)
    own = by_tag[np.arange(len(pairs)), [rows[tag] for _, tag in pairs]]
    found = (by_tag >= own[:, np.newaxis]).sum(axis=1)
    return np.where(own > 0, found, len(rows) + 1)


def _shares(lookups: str, models: Models, pairs: Pairs) -> list[tuple[object, ...]]:
    rows = []
    draws = np.random.default_rng(0).integers(0, len(pairs), (RESAMPLES, len(pairs)))
    for method, similarities in METHODS.items():
        parts = (pairs[start : start + _BATCH] for start in range(0, len(pairs), _BATCH))
        found = np.concatenate(
            [ranks(similarities(models, [lookup for lookup, _ in part]), models, part) for part in parts]
        )
        rows.append((lookups, method, len(pairs), *(_share(found <= limit, draws) for limit in (1, 10))))
    return rows


def _share(hits: NDArray[np.bool_], draws: NDArray[np.intp]) -> str:
    low, high = np.percentile(hits[draws].mean(axis=1), [2.5, 97.5])
    return f"{hits.mean():.3f} ({low:.3f} to {high:.3f})"


def _spelt(words: Sequence[str], others: Sequence[str]) -> NDArray[np.float32]:
    return cdist(words, others, scorer=OSA.normalized_similarity, dtype=np.float32)
