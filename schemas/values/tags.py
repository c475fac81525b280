"""What a vocabulary holds, and what the stages of a tags job store."""

from enum import StrEnum

from pydantic import Field

from schemas.values.base import Value


class Tag(Value):
    """A canonical tag and what is known about it."""

    name: str
    category: str = ""
    count: int | None = None
    """How often it was used; None where unknown."""
    nsfw_probability: float | None = None
    """0..1; None where it has no rating."""


class TagDocument(Value):
    """Tags that occur together, and how often they do."""

    tags: tuple[str, ...]
    weight: int = 1


class Vocabulary(Value):
    """What a vocabulary is imported from. Aliases and documents name tags of `tags`, in order of their files."""

    tags: tuple[Tag, ...]
    aliases: dict[str, tuple[str, ...]]
    """Alias -> the tags it stands for, in alphabetical order."""
    documents: tuple[TagDocument, ...] = ()


class VectorLayout(StrEnum):
    """How a file of vectors is written."""

    WORD2VEC_TEXT = "word2vec-text"
    """A line per token; words outside of the file have no vector."""
    WORD2VEC_BINARY = "word2vec-binary"
    FASTTEXT = "fasttext"
    """Facebook's `.bin`, with n-grams: words outside of the file have one too."""


class BuiltVocabulary(Value):
    """Stage `embed` of a vocabulary: the models that were built and stored."""

    vocabulary_id: int
    model: str
    model_digest: str
    context_digest: str
    dimension: int
    tokens: int
    """Names and aliases that have a vector."""
    context_rows: int
    """Tags that have a context row."""


class PhraseSet(Value):
    """What one tags job is asked for."""

    id: str
    phrases: tuple[str, ...] = Field(repr=False)
    context_tags: tuple[str, ...] = Field(default=(), repr=False)


class Lexicon(Value):
    """What a vocabulary knows about some tokens."""

    tags: dict[str, Tag]
    """Every canonical tag among the tokens and among the targets of the aliases."""
    aliases: dict[str, tuple[str, ...]]


class Neighbour(Value):
    """A token of the vocabulary near a lookup."""

    token: str = Field(repr=False)
    similarity: float
    """Raw cosine, -1..1."""


class Phrase(Value):
    """A phrase on its way."""

    phrase: str = Field(repr=False)
    """As it came in; a head is a part of one."""
    normalized: str = Field(repr=False)
    lookup: str = Field(repr=False)
    """The normalised phrase with `_` for each blank: how tokens of the vocabulary are written."""
    is_head: bool = False
    tfidf_vocab: tuple[str, ...] = Field(default=(), repr=False)
    """The lookup, where the context model knows it as a term."""
    oov_terms: tuple[str, ...] = Field(default=(), repr=False)
    """The lookup, where the context model does not know it."""


class EmbeddedPhrases(Value):
    """Stage `embed`: the final phrases, and how they were embedded."""

    model: str
    model_digest: str
    phrases: tuple[Phrase, ...]
    """Phrases in the order of the request, then heads."""
    embedded: tuple[str, ...] = Field(repr=False)
    """The lookups that have a vector. The vectors are stored beside it, one per lookup, in this order."""
    context: tuple[float, ...] | None
    """The context vector of the request, of length 1; None where none of its terms is known."""


class FoundTag(Value):
    """A canonical tag that a phrase led to."""

    tag: str
    alias_token: str = Field(repr=False)
    """The token that gave the similarity."""
    score_fasttext: float
    """Raw cosine, -1..1; 1.0 for an exact match."""
    count: int | None


class FoundForPhrase(Value):
    """What one phrase led to."""

    phrase: Phrase
    required: tuple[str, ...]
    """The tags that the phrase names exactly, by tag."""
    asked_neighbours: bool
    """Whether neighbours were looked for: not for exact matches, if that is switched off, nor without a vector."""
    found: tuple[FoundTag, ...]
    """By tag."""


class RetrievedTags(Value):
    """Stage `retrieve`: the tags that each phrase led to, in the order of the phrases."""

    vocabulary_id: int
    phrases: tuple[FoundForPhrase, ...]

    @property
    def tags(self) -> frozenset[str]:
        """Every tag that any phrase led to."""
        return frozenset(found.tag for phrase in self.phrases for found in phrase.found)


class Candidate(Value):
    """A tag for a request. Each score is the best of its own over the phrases that led to the tag."""

    tag: str
    score_combined: float
    score_fasttext: float | None
    score_context: float | None
    count: int | None
    sources: tuple[str, ...] = Field(repr=False)
    """The normalised phrases that led to it, first seen first."""


class PhraseCandidate(Value):
    """A tag as one phrase sees it."""

    tag: str
    alias_token: str = Field(repr=False)
    score_fasttext: float
    score_context: float | None
    score_combined: float
    context_imputed: bool
    count: int | None


class PhraseReport(Value):
    """What one phrase led to, best first, before its list was cut."""

    phrase: str = Field(repr=False)
    normalized: str = Field(repr=False)
    lookup: str = Field(repr=False)
    tfidf_vocab: tuple[str, ...] = Field(repr=False)
    oov_terms: tuple[str, ...] = Field(repr=False)
    candidates: tuple[PhraseCandidate, ...]


class RankedTags(Value):
    """Stage `rerank`: the candidates, best first, and how they came about."""

    candidates: tuple[Candidate, ...]
    phrase_reports: tuple[PhraseReport, ...]
    phrase_rank_by_tag: dict[str, int]
    """Candidate -> its best rank, from 1, in the lists of the phrases before they were cut."""


class ValidatedTags(Value):
    """Stage `validate`: the candidates, which keep the contract, and the ranks."""

    candidates: tuple[Candidate, ...]
    phrase_rank_by_tag: dict[str, int]
