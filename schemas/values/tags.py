"""The content of a vocabulary, and the outputs of the stages of a tags job."""

from enum import StrEnum

from pydantic import Field

from schemas.values.base import Value


class Tag(Value):
    """A canonical tag."""

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
    """The imported content of a vocabulary. Aliases and documents name tags of `tags`, in order of their files."""

    tags: tuple[Tag, ...]
    aliases: dict[str, tuple[str, ...]]
    """Alias -> its tags, in alphabetical order."""
    documents: tuple[TagDocument, ...] = ()


class VectorLayout(StrEnum):
    """The format of a file of vectors."""

    WORD2VEC_TEXT = "word2vec-text"
    """A line per token; words that are not in the file have no vector."""
    WORD2VEC_BINARY = "word2vec-binary"
    FASTTEXT = "fasttext"
    """Facebook's `.bin`, with n-grams: words that are not in the file have a vector too."""


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
    """The request of one tags job."""

    id: str
    phrases: tuple[str, ...] = Field(repr=False)
    context_tags: tuple[str, ...] = Field(default=(), repr=False)


class Lexicon(Value):
    """The tags and aliases of some tokens in a vocabulary."""

    tags: dict[str, Tag]
    """Every canonical tag among the tokens and among the targets of the aliases."""
    aliases: dict[str, tuple[str, ...]]


class Neighbour(Value):
    """A token of the vocabulary near a lookup."""

    token: str = Field(repr=False)
    similarity: float
    """Raw cosine, -1..1."""


class Phrase(Value):
    """A phrase, normalised for lookup."""

    phrase: str = Field(repr=False)
    """As given; a head is a part of one."""
    normalized: str = Field(repr=False)
    lookup: str = Field(repr=False)
    """The normalised phrase with `_` for each space: the form of tokens in the vocabulary."""
    is_head: bool = False
    tfidf_vocab: tuple[str, ...] = Field(default=(), repr=False)
    """The lookup, if it is a term of the context model."""
    oov_terms: tuple[str, ...] = Field(default=(), repr=False)
    """The lookup, if it is not a term of the context model."""


class EmbeddedPhrases(Value):
    """Stage `embed`: the final phrases, and their embedding."""

    model: str
    model_digest: str
    phrases: tuple[Phrase, ...]
    """Phrases in the order of the request, then heads."""
    embedded: tuple[str, ...] = Field(repr=False)
    """The lookups that have a vector. The vectors are stored separately, one per lookup, in this order."""
    context: tuple[float, ...] | None
    """The context vector of the request, of length 1; None if none of its terms is known."""


class FoundTag(Value):
    """A canonical tag found for a phrase."""

    tag: str
    alias_token: str = Field(repr=False)
    """The token that gave the similarity."""
    score_fasttext: float
    """Raw cosine, -1..1; 1.0 for an exact match."""
    count: int | None


class FoundForPhrase(Value):
    """The tags found for one phrase."""

    phrase: Phrase
    required: tuple[str, ...]
    """The tags that the phrase names exactly, by tag."""
    asked_neighbours: bool
    """Whether neighbours were searched: not for exact matches, if these are skipped, nor without a vector."""
    found: tuple[FoundTag, ...]
    """By tag."""


class RetrievedTags(Value):
    """Stage `retrieve`: the tags found for each phrase, in the order of the phrases."""

    vocabulary_id: int
    phrases: tuple[FoundForPhrase, ...]

    @property
    def tags(self) -> frozenset[str]:
        """All tags found for any phrase."""
        return frozenset(found.tag for phrase in self.phrases for found in phrase.found)


class Candidate(Value):
    """A tag for a request. Each score is its maximum over the phrases that found the tag."""

    tag: str
    score_combined: float
    score_fasttext: float | None
    score_context: float | None
    count: int | None
    sources: tuple[str, ...] = Field(repr=False)
    """The normalised phrases that found it, in order."""


class PhraseCandidate(Value):
    """The scores of a tag for one phrase."""

    tag: str
    alias_token: str = Field(repr=False)
    score_fasttext: float
    score_context: float | None
    score_combined: float
    context_imputed: bool
    count: int | None


class PhraseReport(Value):
    """The tags found for one phrase, best first, before its list was cut."""

    phrase: str = Field(repr=False)
    normalized: str = Field(repr=False)
    lookup: str = Field(repr=False)
    tfidf_vocab: tuple[str, ...] = Field(repr=False)
    oov_terms: tuple[str, ...] = Field(repr=False)
    candidates: tuple[PhraseCandidate, ...]


class RankedTags(Value):
    """Stage `rerank`: the candidates, best first, with reports per phrase."""

    candidates: tuple[Candidate, ...]
    phrase_reports: tuple[PhraseReport, ...]
    phrase_rank_by_tag: dict[str, int]
    """Candidate -> its best rank, from 1, in the lists of the phrases before they were cut."""


class ValidatedTags(Value):
    """Stage `validate`: the candidates, which satisfy the contract, and the ranks."""

    candidates: tuple[Candidate, ...]
    phrase_rank_by_tag: dict[str, int]
