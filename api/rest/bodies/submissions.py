"""What every submission of a run takes and gives."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from api.parameters import Text
from api.rest.bodies.base import Body, Reply
from services.draws import MAX_SAMPLES, draws

SettingValue = bool | int | float | Annotated[Text, Field(max_length=1000)]


class Submission(Body):
    """How a run is submitted, whatever it works on."""

    profile: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """The profile; by default as for `ragq submit` on the machine of the API."""
    settings: Annotated[dict[Annotated[Text, Field(max_length=100)], SettingValue], Field(max_length=200)] = Field(
        default={}
    )
    """Values by name, which override the profile, as with `--set`."""
    always_new: bool = False
    """Store another run even if the same work was submitted before."""
    draw: Annotated[int, Field(ge=0, lt=MAX_SAMPLES)] = 0
    """The same work in another draw is another run, whose language models are asked anew: 0, 1, 2 and so on, to measure
    how much results vary."""
    fresh: bool = False
    """A draw of its own: answers of other runs are not reused."""

    @model_validator(mode="after")
    def _one_choice_of_a_draw(self) -> Self:
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
