"""Participant runs: their submission, and the splits to choose from."""

from typing import Annotated, Any, Self

from fastapi import UploadFile
from pydantic import ConfigDict, Field, model_validator

from api.rest.bodies.base import Body, Reply, SettingsByName, WithSettings, with_example
from schemas.settings.profiles import ChangedSetting
from schemas.statuses import JobStatus, Priority
from schemas.values.base import Text
from schemas.values.requests import ParticipantRequest, RunTerms, TagsPolicy, TagsRequest
from schemas.values.tags import PhraseSet, Tag
from services.few_shot import MAX_SAMPLES, draws
from services.new_runs import Submitted
from stages.tags.phrases import MAX_CHARS, MAX_PHRASES
from stages.texts.characters import PLAIN_ID
from store.vocabularies import StoredVocabulary


class Submission(WithSettings, RunTerms):
    """How a run is submitted, whatever it works on."""

    profile: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """The profile; by default as for `ragq submit` on the machine of the API."""
    settings: SettingsByName = Field(default={})
    """Values by name, which override the profile, as with `--set`."""
    dry_run: bool = False
    """Reply with the estimate instead: jobs, model calls, tokens, seconds, money, and why it would be refused. Nothing
    is stored or sent."""
    always_new: bool = False
    """Store another run even if the same work was submitted before."""
    draw: Annotated[int, Field(ge=0, lt=MAX_SAMPLES)] = 0
    """The same work in another draw is another run, whose language models are asked anew: 0, 1, 2 and so on, to measure
    how much results vary."""
    fresh: bool = False
    """A draw of its own: answers of other runs are not reused."""
    priority: Annotated[Priority, Field(strict=False)] | None = None
    """How often it has a turn where several runs wait; by default interactive for one question or one set of phrases,
    and normal for others."""

    @model_validator(mode="after")
    def _one_choice_of_a_draw(self) -> Self:
        if self.fresh and self.draw:
            raise ValueError("fresh goes without draw")
        return self

    @property
    def chosen_draw(self) -> int:
        """The draw to submit it in."""
        return draws(fresh=True)[0] if self.fresh else self.draw


class SubmittedReply(Submitted):
    """What a submission led to."""

    profile: str = Field(examples=["demo"])
    changed_settings: dict[str, ChangedSetting]
    """By name, in the order of the settings."""


class ParticipantSubmission(ParticipantRequest, Submission):
    """What `ragq submit` takes: a split, or participants by number."""


VocabularyName = Annotated[Text, Field(min_length=1, max_length=64, examples=["wardrobe"])]


class VocabulariesReply(Reply):
    """Every vocabulary, by name."""

    vocabularies: list[StoredVocabulary]


class TagsPartReply(Reply):
    """A part of the tags of a vocabulary, the most used first."""

    tags: list[Tag]
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


class TagsSubmission(TagsPolicy, Submission):
    """What `ragq submit --phrases` takes."""

    model_config = with_example(vocabulary="wardrobe", phrase_sets=[{"phrases": ["overcoat", "umbrela"]}])

    phrase_sets: Annotated[list[PhraseSetBody], Field(min_length=1, max_length=MAX_SETS)]

    @property
    def request(self) -> TagsRequest:
        """The request, with an id for every set."""
        sets = [
            PhraseSet(id=one.id or str(number), phrases=tuple(one.phrases), context_tags=tuple(one.context_tags))
            for number, one in enumerate(self.phrase_sets, start=1)
        ]
        return TagsRequest(phrase_sets=sets, **self.model_dump(include=set(TagsPolicy.model_fields)))


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
