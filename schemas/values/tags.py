"""The content of a vocabulary, and the outputs of the stages of a tags job."""

from datetime import datetime
from functools import cached_property
from typing import Annotated, Final, Self

from pydantic import Field, WithJsonSchema

from schemas.values.base import MAX_ID, PLAIN_ID, NumberAsText, Request, Storable, Value


class Tag(Value):
    """A canonical tag."""

    name: str = Field(examples=["red_dress"])
    category: str = Field(default="", examples=["0"])
    count: int | None = Field(default=None, examples=[900])
    """How often it was used; null where unknown."""
    nsfw_probability: float | None = Field(default=None, examples=[0.01])
    """Of not being safe for work, from 0 to 1; null without a rating."""
    title: str | None = Field(default=None, examples=["Red dress"])
    """The name as its file writes it; null where that is `name`, which phrases are matched with."""


Together = tuple[tuple[str, ...], int]
"""Tags that occur together, and how often they do."""


class Vocabulary(Value):
    """The imported content of a vocabulary, or a part of it. Aliases and documents name tags of `tags`."""

    tags: tuple[Tag, ...]
    aliases: dict[str, tuple[str, ...]]
    """Alias -> its tags, in alphabetical order."""
    documents: tuple[Together, ...] = ()
    unknown_ratings: int = 0
    """Ratings in its files of tags that it does not have."""

    @cached_property
    def by_name(self) -> dict[str, Tag]:
        """The tags by their names."""
        return {tag.name: tag for tag in self.tags}


class BuiltVocabulary(Value):
    """Stage `embed` of a vocabulary: the models that were built and stored."""

    vocabulary_id: int
    model: str
    model_digest: str
    context_digest: str
    dimension: int
    similarity_digest: str | None = None
    """Of the model of spelling and meaning; None for vocabularies that were built without one, as the next ones."""
    sentence_backend: str | None = None
    sentence_model: str | None = None
    """The embedder of the names of tags, and of phrases."""
    sentence_digest: str | None = None


MAX_PHRASES: Final = 1000
"""Of a set."""

MAX_CHARS: Final = 800
"""Of a phrase."""

_IN_JSON = WithJsonSchema({"type": "string", "maxLength": MAX_CHARS, "pattern": r"^[^\x00]*$"})
_Phrase = Annotated[str, Field(max_length=MAX_CHARS), Storable, _IN_JSON]
Phrases = Annotated[tuple[_Phrase, ...], Field(max_length=MAX_PHRASES)]

_ID = {"anyOf": [{"type": "string", "pattern": PLAIN_ID}, {"type": "integer", "minimum": 0, "maximum": MAX_ID}]}


class PhraseSet(Request):
    """Phrases to find tags for, one job."""

    id: Annotated[str, Field(pattern=PLAIN_ID), NumberAsText, WithJsonSchema(_ID)] | None = Field(
        default=None, examples=["q7"]
    )
    """Appears in logs; by default the number of the set, from 1."""
    phrases: Phrases = Field(repr=False, examples=[["overcoat", "umbrela"]])
    context_tags: Phrases = Field(default=(), repr=False, examples=[["hat"]])
    """Tags that are chosen already."""

    def numbered(self, number: int, context_tags: tuple[str, ...] = ()) -> Self:
        """The set with an id, and with further context tags after its own."""
        return self.model_copy(
            update={"id": self.id or str(number), "context_tags": (*self.context_tags, *context_tags)}
        )


class StoredVocabulary(Value):
    """A vocabulary: its size, and its models."""

    id: int = Field(examples=[1])
    name: str = Field(examples=["wardrobe"])
    tags: int = Field(examples=[40])
    aliases: int = Field(examples=[61])
    documents: int = Field(examples=[120])
    """Groups of tags that occur together."""
    model: str | None = Field(examples=["fasttext"])
    """What places tokens near each other; null until the models are built, as the next ones."""
    model_digest: str | None = Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])
    context_digest: str | None = Field(examples=["60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"])
    dimension: int | None = Field(examples=[100])
    similarity_digest: str | None = Field(examples=["2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"])
    """Of the model of spelling and meaning, which `PSQ_SIMILARITY=fused` needs; null for models without it."""
    sentence_backend: str | None = Field(examples=["huggingface"])
    sentence_model: str | None = Field(examples=["all-minilm-l6-v2"])
    """The embedder of the names of tags, and of phrases."""
    sentence_digest: str | None = Field(examples=["53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"])
    imported_at: datetime
    indexed_at: datetime | None


class NearToken(Value):
    """A token of the vocabulary, and how near it is to a phrase by each source, -1..1; None where the source does not
    know one of both."""

    alias_token: str = Field(repr=False)
    """The token."""
    score_fasttext: float | None
    """Raw cosine of the token model; 1.0 for an exact match."""
    score_similarity: float | None = None
    """The fusion of the sources, which counts; None where FastText alone counts."""
    score_characters: float | None = None
    """Cosine of TF-IDF over character n-grams."""
    score_sentence: float | None = None
    """Cosine of the sentence embedder."""
    score_spelling: float | None = None
    """The share of characters that need no edit, squared, whatever the order of the words."""

    @property
    def similarity(self) -> float:
        """What counts: the fusion of the sources, or FastText alone."""
        counted = self.score_fasttext if self.score_similarity is None else self.score_similarity
        assert counted is not None, "what is near has a similarity"
        return counted


class Candidate(NearToken):
    """A tag for a phrase, found by its nearest token; or for a request, with the token of the phrase that it fits best,
    and the maximum of each score over the phrases."""

    tag: str
    title: str | None = None
    """The tag as its file writes it; None where that is `tag`."""
    count: int | None
    score_context: float | None = None
    score_combined: float
    """The similarity; from stage `rerank` on with the context."""
    context_imputed: bool | None = Field(default=None, exclude_if=lambda imputed: imputed is None)
    """Whether a phrase's tag has the context score of others; None for a request, and before stage `rerank`."""
    sources: tuple[str, ...] = Field(repr=False)
    """The normalised phrases that found it, in order."""

    @property
    def shown(self) -> str:
        """Its name for people."""
        return self.title or self.tag


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
    token_dimension: int | None = None
    """The first numbers of each vector are those of the token model, zeros where it cannot embed the lookup; the others
    are those of the sentence embedder. None where all are those of the token model."""
    context: tuple[float, ...] | None
    """The context vector of the request, of length 1; None if none of its terms is known."""


class PhraseReport(Phrase):
    """The tags found for one phrase, before its list was cut: by tag, from stage `rerank` on best first."""

    candidates: tuple[Candidate, ...]
    required: tuple[str, ...] = ()
    """The tags that the phrase names exactly, by tag."""
    too_rare: int = 0
    """Tags that were left out because they are used too seldom."""
    not_permitted: int = 0
    """Tags that were left out because they are not safe for work."""


class RetrievedTags(Value):
    """Stage `retrieve`: the tags found for each phrase, in the order of the phrases."""

    phrases: tuple[PhraseReport, ...]

    @property
    def tags(self) -> frozenset[str]:
        """All tags found for any phrase."""
        return frozenset(found.tag for phrase in self.phrases for found in phrase.candidates)


class ValidatedTags(Value):
    """Stage `validate`: the candidates, best first, which satisfy the contract."""

    candidates: tuple[Candidate, ...]
    phrase_rank_by_tag: dict[str, int]
    """Candidate -> its best rank, from 1, in the lists of the phrases before they were cut."""


class RankedTags(ValidatedTags):
    """Stage `rerank`: the candidates, best first, not validated yet, with reports per phrase."""

    phrase_reports: tuple[PhraseReport, ...]
