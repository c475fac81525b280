"""Forks of runs and jobs, as JSON."""

from typing import Annotated

from pydantic import Field

from api.parameters import Text
from api.rest.bodies.base import Body, Reply, SettingsByName, SettingValue, WithSettings, with_example
from schemas.values.estimates import Estimate
from services.sweeps import Point, grid_points

StageText = Annotated[Text, Field(pattern="^[a-z_]{1,40}$", examples=["rerank"])]


class ForkBody(WithSettings):
    """What is computed again, and with which settings."""

    model_config = with_example(stage="rerank", settings={"EMBEDDING_MIN_REFERENCE_SIMILARITY": 0.6})

    stage: StageText
    """The first stage that is computed."""
    settings: SettingsByName = Field(default={})
    """Other values of settings, and of the preset, that this stage or a later one reads."""
    always_new: bool = False
    """Store another fork even if the same one is stored."""


class RedoBody(Body):
    """What is computed again."""

    model_config = with_example(stage="rerank")

    stage: StageText
    """The first stage that is computed."""


class LeftOutJob(Reply):
    """A job that is not forked."""

    job_id: int = Field(examples=[34])
    subject: str = Field(examples=["316"])
    mode: str = Field(examples=["few_shot"])
    why: str = Field(examples=["stage 'retrieve' is not stored"])


class ForkedReply(Reply):
    """What a fork led to."""

    run_id: int = Field(examples=[13])
    parent_id: int = Field(examples=[12])
    is_new: bool
    """False when the same fork was stored before: the run is that one."""
    jobs: int = Field(examples=[41])
    resumed: int = Field(examples=[0])
    """Failed jobs of the existing fork that continue."""
    left_out: list[LeftOutJob] = Field(examples=[[]])
    """Jobs of the parent whose earlier stages are not all stored."""
    without_stage: int = Field(examples=[41])
    """Jobs of the parent in a mode without the stage."""


class RedoneReply(Reply):
    """A job that computes stages again."""

    job_id: int = Field(examples=[34])
    stage: str = Field(examples=["rerank"])


class ChildLine(Reply):
    """A fork of a run."""

    run_id: int = Field(examples=[13])
    stage: str = Field(examples=["rerank"])
    """The first stage that it computed itself."""


class FamilyReply(Reply):
    """What a run was forked from, and its forks."""

    parent_id: int | None = Field(examples=[None])
    """Null for a run that is no fork, and when the parent is deleted."""
    stage: str | None = Field(examples=[None])
    """The first stage that it computed itself; null for a run that is no fork."""
    children: list[ChildLine] = Field(examples=[[]])


class SweepBody(Body):
    """The points at which a run is forked."""

    model_config = with_example(stage="rerank", grid={"EMBEDDING_MIN_REFERENCE_SIMILARITY": [0.5, 0.6]})

    stage: StageText
    """The first stage that the forks compute."""
    grid: Annotated[
        dict[
            Annotated[Text, Field(max_length=100)], Annotated[list[SettingValue], Field(min_length=1, max_length=100)]
        ],
        Field(min_length=1, max_length=20),
    ]
    """Values of settings; every combination is a point."""
    random: Annotated[int, Field(ge=1, le=1000)] | None = None
    """This many points of the grid, at random."""
    seed: Annotated[int, Field(ge=0, le=2**31)] = 42
    """The same seed takes the same points."""

    @property
    def points(self) -> list[Point]:
        """The points. Raises Refused for too many."""
        grid = {
            name: [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
            for name, values in self.grid.items()
        }
        return grid_points(grid, sample=self.random, seed=self.seed)


class SweepFork(Reply):
    """A point and its fork."""

    run_id: int = Field(examples=[13])
    is_new: bool
    """False when the fork was stored before."""
    jobs: int = Field(examples=[41])
    values: dict[str, str] = Field(examples=[{"EMBEDDING_MIN_REFERENCE_SIMILARITY": "0.5"}])


class SweepReply(Reply):
    """The forks of a sweep, in the order of its points."""

    parent_id: int = Field(examples=[12])
    results: str = Field(examples=["/runs/12/sweep?stage=rerank&setting=EMBEDDING_MIN_REFERENCE_SIMILARITY"])
    """Where the comparison of the forks is."""
    forks: list[SweepFork]


class PointEstimateReply(Reply):
    """A point, and what its fork would do."""

    values: dict[str, str] = Field(examples=[{"EMBEDDING_MIN_REFERENCE_SIMILARITY": "0.5"}])
    estimate: Estimate
