"""Phrases that ask for tags, and what they led to."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import UploadFile
from pydantic import ConfigDict, Field

from api.parameters import Text
from api.rest.bodies.base import Body, Reply, with_example
from api.rest.bodies.submissions import Submission
from schemas.statuses import JobStatus
from schemas.values.tags import PhraseSet
from services.tags import TagsRequest
from stages.tags.phrases import MAX_CHARS, MAX_PHRASES
from stages.texts.ids import PLAIN_ID

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


MAX_SETS = 10_000

Phrases = Annotated[list[Annotated[Text, Field(max_length=MAX_CHARS)]], Field(max_length=MAX_PHRASES)]


class PhraseSetBody(Body):
    """One request for candidates."""

    id: Annotated[str, Field(pattern=PLAIN_ID)] | None = Field(default=None, examples=["q7"])
    """Appears in logs; by default the number of the set, from 1."""
    phrases: Phrases = Field(repr=False, examples=[["overcoat", "umbrela"]])
    context_tags: Phrases = Field(default=[], repr=False, examples=[["hat"]])
    """Tags that are chosen already."""


class TagsSubmission(Submission):
    """What `ragq submit --phrases` takes."""

    model_config = with_example(vocabulary="wardrobe", phrase_sets=[{"phrases": ["overcoat", "umbrela"]}])

    vocabulary: VocabularyName
    phrase_sets: Annotated[list[PhraseSetBody], Field(min_length=1, max_length=MAX_SETS)]
    allow_nsfw: bool = False
    """Candidates may be tags that are not safe for work."""
    until: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """The last stage to run; by default all run."""

    @property
    def request(self) -> TagsRequest:
        """The request to submit."""
        return TagsRequest(
            phrase_sets=[
                PhraseSet(id=one.id or str(number), phrases=tuple(one.phrases), context_tags=tuple(one.context_tags))
                for number, one in enumerate(self.phrase_sets, start=1)
            ],
            vocabulary=self.vocabulary,
            allow_nsfw_tags=self.allow_nsfw,
            until=self.until,
        )


class TagsSetReply(Reply):
    """What one set of phrases led to."""

    id: str = Field(examples=["q7"])
    job_id: int = Field(examples=[34])
    status: JobStatus = Field(examples=["succeeded"])
    result: list[Any] | None = Field(
        repr=False, examples=[[{"tag": "coat", "score_combined": 0.91, "sources": ["overcoat"]}]]
    )
    """The candidates, best first; with `verbose` or `phrase_ranks` an array of the candidates, then the reports by
    phrase, then the ranks, as far as they were asked for. Null until the job has succeeded."""
    note: str | None = Field(
        examples=["1 phrase without candidates: 2 tags used less than 100 times (PSQ_MIN_TAG_COUNT=0 keeps them)."]
    )
    """Why phrases that led to tags have none; null where the filters left each phrase one."""


class TagsRunReply(Reply):
    """The results of a run, in the order of its sets."""

    run_id: int = Field(examples=[12])
    sets: list[TagsSetReply]
