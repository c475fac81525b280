"""Participant runs: their submission, and the splits to choose from."""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from api.parameters import Text
from api.rest.bodies.base import Body, Reply
from schemas.values.phq8 import AssessmentMode
from services.draws import MAX_SAMPLES, draws
from services.participants import ParticipantRequest

ParticipantId = Annotated[int, Field(ge=0, le=2**31 - 1)]
SettingValue = bool | int | float | Annotated[Text, Field(max_length=1000)]


_TEXT: Final[JsonDict] = {"type": "string"}
_LIST: Final[JsonDict] = {"type": "array"}
_ABSENT: Final[JsonDict] = {"type": "null"}


class ParticipantSubmission(Body):
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
    modes: Annotated[list[Literal["zero_shot", "few_shot"]], Field(min_length=1, max_length=2)] = Field(
        default=["zero_shot", "few_shot"]
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
    profile: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """The profile; by default as for `ragq submit` on the machine of the API."""
    settings: Annotated[dict[Annotated[Text, Field(max_length=100)], SettingValue], Field(max_length=200)] = Field(
        default={}
    )
    """Values by name, which override the profile, as with `--set`."""
    allow_overlap: bool = False
    """Search an index with participants of the submitted split; their chunks are left out, and the run records it."""
    allow_variant_mismatch: bool = False
    """Search an index that was built from another variant of the transcripts; the run records it."""
    always_new: bool = False
    """Store another run even if the same work was submitted before."""
    draw: Annotated[int, Field(ge=0, lt=MAX_SAMPLES)] = 0
    """The same work in another draw is another run, whose language models are asked anew: 0, 1, 2 and so on, to measure
    how much results vary."""
    fresh: bool = False
    """A draw of its own: answers of other runs are not reused."""

    @model_validator(mode="after")
    def _one_choice_of_participants(self) -> Self:
        if (self.split is None) == (self.participants is None):
            raise ValueError("give exactly one of split and participants")
        if self.limit is not None and self.split is None:
            raise ValueError("limit goes with split; name fewer participants instead")
        if len(set(self.modes)) < len(self.modes):
            raise ValueError("name each mode once")
        if self.fresh and self.draw:
            raise ValueError("fresh goes without draw")
        return self

    @property
    def values(self) -> dict[str, str]:
        """The settings as texts, as --set takes them."""
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in self.settings.items()
        }

    @property
    def chosen_draw(self) -> int:
        """The draw to submit it in."""
        return draws(fresh=True)[0] if self.fresh else self.draw

    @property
    def request(self) -> ParticipantRequest:
        """The request to submit."""
        return ParticipantRequest(
            split=self.split,
            participants=self.participants or (),
            modes=tuple(map(AssessmentMode, self.modes)),
            limit=self.limit,
            until=self.until,
            evidence=self.evidence,
            allow_overlap=self.allow_overlap,
            allow_variant_mismatch=self.allow_variant_mismatch,
        )


class ChangedSettingReply(Reply):
    """A value that differs from the profile."""

    value: Any
    profile: Any
    """The value of the profile."""
    source: str = Field(examples=["option"])
    """`file`, `environment`, or `option` for a value of the request."""


class SubmittedReply(Reply):
    """What a submission led to."""

    run_id: int = Field(examples=[12])
    is_new: bool
    """False when the same work was submitted before: the run is that one."""
    jobs: int = Field(examples=[82])
    resumed: int = Field(examples=[0])
    """Failed jobs of the existing run that continue."""
    is_sent: bool
    """Messages were sent; otherwise the broker is unavailable, and the jobs start by themselves when it is back."""
    profile: str = Field(examples=["demo"])
    changed_settings: dict[str, ChangedSettingReply]
    """By name, in the order of the settings."""
    notices: list[str] = Field(examples=[[]])
    """What has to be known about the results, as shown with every report of the run."""


class SplitLine(Reply):
    """A stored split."""

    name: str = Field(examples=["paper-test"])
    participants: int = Field(examples=[41])
    without_transcript: int = Field(examples=[0])
    """Participants of the split whose transcript is not stored: it cannot be submitted whole."""
