"""Phrases that ask for tags, and what they led to."""

from typing import Annotated, Any

from pydantic import Field

from api.parameters import Text
from api.rest.bodies.base import Body, Reply, with_example
from api.rest.bodies.submissions import Submission
from api.rest.bodies.vocabularies import VocabularyName
from schemas.statuses import JobStatus
from schemas.values.tags import PhraseSet
from services.tags import TagsRequest
from stages.tags.phrase_file import MAX_CHARS, MAX_PHRASES
from stages.texts.plain_ids import PLAIN_ID

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
