"""Evaluations of answers, as JSON."""

from pydantic import Field

from api.rest.bodies.base import Reply, with_example
from api.rest.bodies.with_settings import SettingsByName, WithSettings


class EvaluationBody(WithSettings):
    """How the answers of a run are judged."""

    model_config = with_example(settings={"MODEL_JUDGE_MODEL": "gemma3:27b"})

    settings: SettingsByName = Field(default={})
    """Other values of settings of the judge; by default those of the run."""
    always_new: bool = False
    """Store another evaluation even if the same one is stored."""


class EvaluationSubmitted(Reply):
    """A run that evaluates answers."""

    run_id: int = Field(examples=[13])
    evaluates: int = Field(examples=[12])
    is_new: bool
    """False when the same answers were evaluated before: the run is that one."""
    jobs: int = Field(examples=[12])
    resumed: int = Field(examples=[0])
    """Failed jobs of the existing run that continue."""
    notices: list[str] = Field(examples=[[]])
