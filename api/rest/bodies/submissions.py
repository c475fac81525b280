"""What every submission of a run takes and gives."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from api.parameters import Text
from api.rest.bodies.base import Reply, SettingsByName, WithSettings
from schemas.statuses import Priority
from schemas.values.runs import Amount, MaxFailures, RunLimits
from services.draws import MAX_SAMPLES, draws


class Submission(WithSettings):
    """How a run is submitted, whatever it works on."""

    profile: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """The profile; by default as for `ragq submit` on the machine of the API."""
    settings: SettingsByName = Field(default={})
    """Values by name, which override the profile, as with `--set`."""
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

    max_failures: MaxFailures | None = Field(default=None, examples=["10%"])
    """The run pauses once so many jobs have failed, or that percentage of at least 20 that finished."""
    max_llm_calls: Amount | None = Field(default=None, examples=[500])
    """Calls of language models that the run may pay for; a job that needs another one is paused."""
    max_tokens: Amount | None = Field(default=None, examples=[1_000_000])
    """Tokens that the run may pay for, and those of the calls in progress then."""

    @model_validator(mode="after")
    def _one_choice_of_a_draw(self) -> Self:
        if self.fresh and self.draw:
            raise ValueError("fresh goes without draw")
        return self

    @property
    def limits(self) -> RunLimits:
        """The limits of the run."""
        return RunLimits(max_failures=self.max_failures, max_llm_calls=self.max_llm_calls, max_tokens=self.max_tokens)

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
    searched: str | None = Field(examples=["index huggingface_all_minilm_l6_v2_paper_train (data/paper-train)"])
    """The reference index that is searched, and the split that it was built of."""
    profile: str = Field(examples=["demo"])
    changed_settings: dict[str, ChangedSettingReply]
    """By name, in the order of the settings."""
    notices: list[str] = Field(examples=[[]])
    """What has to be known about the results, as shown with every report of the run."""
