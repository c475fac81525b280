"""Vocabularies as JSON, and their import."""

from datetime import datetime
from typing import Annotated

from fastapi import UploadFile
from pydantic import ConfigDict, Field

from api.parameters import Text
from api.rest.bodies.base import Body, Reply

VocabularyName = Annotated[Text, Field(min_length=1, max_length=64, examples=["wardrobe"])]


class VocabularyReply(Reply):
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


class VocabulariesReply(Reply):
    """Every vocabulary, by name."""

    vocabularies: list[VocabularyReply]


class TagReply(Reply):
    """A tag of a vocabulary."""

    name: str = Field(examples=["red_dress"])
    category: str = Field(examples=["0"])
    count: int | None = Field(examples=[900])
    """How often it was used; null where unknown."""
    nsfw_probability: float | None = Field(examples=[0.01])
    """Of not being safe for work, from 0 to 1; null without a rating."""
    title: str | None = Field(examples=["Red dress"])
    """The name as its file writes it; null where that is `name`."""


class TagsPartReply(Reply):
    """A part of the tags of a vocabulary, the most used first."""

    tags: list[TagReply]
    total: int = Field(examples=[40])
    """Tags of the vocabulary, or those that `search` finds."""
    next_offset: int | None = Field(examples=[100])
    """The `offset` of the next part; null in the last one."""


class VocabularyForm(Body):
    """A vocabulary as files of a form."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: VocabularyName
    files: Annotated[list[UploadFile], Field(min_length=1, max_length=4)]
    """tags.csv, and what there is of cooccurrence.tsv, tag_lists.txt and ratings.csv, which may also be called
    word_rating_probabilities.csv."""


class ImportedVocabularyReply(Reply):
    """What was imported."""

    id: int = Field(examples=[2])
    tags: int = Field(examples=[40])
    aliases: int = Field(examples=[61])
    documents: int = Field(examples=[120])
    rated: int = Field(examples=[12])
    """Tags with a rating."""
    unknown_ratings: int = Field(examples=[0])
    """Ratings of tags that the vocabulary does not have, which were left out."""


class BuildReply(Reply):
    """The run that builds the models of a vocabulary, or has built them."""

    run_id: int = Field(examples=[12])
    is_new: bool
    """False when the models are built already, or are being built."""
