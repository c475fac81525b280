"""Participant runs: their submission, and the splits to choose from."""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from api.parameters import Text
from api.rest.bodies.base import Reply
from api.rest.bodies.submissions import Submission
from schemas.values.phq8 import AssessmentMode
from services.participants import ParticipantRequest

ParticipantId = Annotated[int, Field(ge=0, le=2**31 - 1)]


_TEXT: Final[JsonDict] = {"type": "string"}
_LIST: Final[JsonDict] = {"type": "array"}
_ABSENT: Final[JsonDict] = {"type": "null"}


class ParticipantSubmission(Submission):
    """What `ragq submit` takes: a split, or participants by number."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["split"], "properties": {"split": _TEXT, "participants": _ABSENT}},
                {
                    "required": ["participants"],
                    "properties": {"participants": _LIST, "split": _ABSENT, "limit": _ABSENT},
                },
            ],
            "examples": [{"split": "paper-test", "modes": ["few_shot"], "limit": 3}],
        }
    )

    split: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """The participants of this split, in the order of its file."""
    participants: Annotated[list[ParticipantId], Field(min_length=1, max_length=10_000)] | None = None
    """These participants instead of a split."""
    data_set: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """Whose split or participants; needed where several data sets could be meant. `split` may be DATA_SET/NAME too."""
    references: Annotated[Text, Field(min_length=1, max_length=300)] | None = None
    """Search the reference index of this split or name, also of another data set."""
    modes: Annotated[list[Literal["zero_shot", "few_shot"]], Field(min_length=1, max_length=2)] = Field(
        default=["zero_shot", "few_shot"], json_schema_extra={"uniqueItems": True}
    )
    """With or without references, or both, in this order."""
    limit: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    """Only the first participants of the split."""
    until: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """The last stage to run; by default all run."""
    evidence: Annotated[dict[Annotated[Text, Field(max_length=20)], Any], Field(max_length=10_000)] | None = Field(
        default=None, repr=False
    )
    """Ready-made quotes: participant id, then `PHQ8_*` key, then a list of quotes."""
    allow_overlap: bool = False
    """Search an index with participants of the submitted split; their chunks are left out, and the run records it."""
    allow_variant_mismatch: bool = False
    """Search an index that was built from another variant of the transcripts; the run records it."""

    @model_validator(mode="after")
    def _one_choice_of_participants(self) -> Self:
        if (self.split is None) == (self.participants is None):
            raise ValueError("give exactly one of split and participants")
        if self.limit is not None and self.split is None:
            raise ValueError("limit goes with split; name fewer participants instead")
        if len(set(self.modes)) < len(self.modes):
            raise ValueError("name each mode once")
        return self

    @property
    def request(self) -> ParticipantRequest:
        """The request to submit."""
        return ParticipantRequest(
            data_set=self.data_set,
            split=self.split,
            references=self.references,
            participants=self.participants or (),
            modes=tuple(map(AssessmentMode, self.modes)),
            limit=self.limit,
            until=self.until,
            evidence=self.evidence,
            allow_overlap=self.allow_overlap,
            allow_variant_mismatch=self.allow_variant_mismatch,
        )


class SplitLine(Reply):
    """A stored split."""

    data_set: str = Field(examples=["data"])
    called: str = Field(examples=["paper-test"])
    """The name, or DATA_SET/NAME where several data sets have a split of that name."""
    name: str = Field(examples=["paper-test"])
    participants: int = Field(examples=[41])
    without_transcript: int = Field(examples=[0])
    """Participants of the split whose transcript is not stored: it cannot be submitted whole."""
