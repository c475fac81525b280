"""Forks: a run computed again from a stage on, with other settings, on copies of what the stages before stored."""

import itertools
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.chains import CHAINS, READ_AT_SUBMISSION, readers_of, stages_of
from schemas.errors import Refused, SettingsError
from schemas.settings.base import Layer, unknown_name
from schemas.settings.preset import PRESET_SETTINGS, is_preset_name
from schemas.settings.run import RUN_SETTINGS, FrozenSettings, run_settings, settings_hash, thaw
from schemas.suggestions import did_you_mean
from schemas.values.participants import AssessmentMode
from schemas.values.queries import Origin
from schemas.values.runs import Target
from services.documents import KIND
from services.imports import document_templates
from services.new_runs import Submitted, submit_run
from services.participants import left_parity
from services.runs import run_of
from services.tags import minimum_count, tags_hash
from stages.texts.characters import listed
from store.access import RequestKey
from store.corpora import works
from store.database import Connection, Database
from store.questions import queries
from store.runs import forks, overviews, runs
from store.runs.chain import content_hash
from store.runs.forks import ParentJob, Source
from store.runs.overviews import RunOverview
from store.runs.runs import NewJob, NewRun

ORIGIN = "option --set"

#: Inputs of a question that belong to its former steps.
_NOT_KEPT = frozenset({"moved_from", "takes_default", "shown"})

_LISTED = 5

#: What `ragq diff` compares with one run.
_MOST_POINTS = 49


@dataclass(frozen=True, kw_only=True)
class NewFork(NewRun):
    """A fork to store. The same fork of the same outputs has the same identity."""

    parent_id: int
    stage: str
    kept: Mapping[int, Sequence[Source]]
    """Job of the parent -> the attempts that its fork copies, in the order of the jobs."""
    left_out: Mapping[str, list[int]]
    """Why -> the jobs of the parent that are not forked."""

    def computed(self, job: NewJob) -> Sequence[str]:
        """The stages from that of the fork on; what those before it stored is copied."""
        return job.stages[job.stages.index(self.stage) :]

    @property
    def identity(self) -> str:
        """That of the work, and what it continues."""
        attempts = [[job_id, *(source["attempt_id"] for source in of)] for job_id, of in self.kept.items()]
        return content_hash({"work": super().identity, "of": self.parent_id, "from": self.stage, "kept": attempts})


async def fork(
    database: Database,
    target: Target,
    stage: str,
    values: Mapping[str, Any] = {},
    *,
    name: str | None = None,
    always_new: bool = False,
    key: RequestKey | None = None,
) -> Submitted:
    """Store a fork, or find the same one and retry its failed jobs. Raises as its plan and `submit_run` do."""
    new = await database.once(plan_fork, target, stage, values)
    submitted = await submit_run(database, new, name=name, always_new=always_new, key=key)
    return submitted.model_copy(update={"parent_id": new.parent_id, "left_out": dict(new.left_out)})


def grid_points(grid: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Every combination of the values, the last name varying fastest. Raises Refused for too many.

    >>> grid_points({"A": ["1", "2"], "B": ["3"]})
    [{'A': '1', 'B': '3'}, {'A': '2', 'B': '3'}]
    """
    points = list(itertools.product(*(dict.fromkeys(of) for of in grid.values())))
    if len(points) > _MOST_POINTS:
        raise Refused(f"The grid has {len(points)} points; {_MOST_POINTS} can be compared with their parent.")
    return [dict(zip(grid, values, strict=True)) for values in points]


async def fork_each(
    database: Database,
    target: Target,
    stage: str,
    points: Sequence[Mapping[str, Any]],
    *,
    name: str | None = None,
    always_new: bool = False,
) -> list[Submitted]:
    """A fork for each of these values, every one checked before the first is stored. Raises as `fork` does."""
    async with database.connection() as connection:
        # The first is checked where it is stored.
        for values in points[1:]:
            await plan_fork(connection, target, stage, values)
    return [await fork(database, target, stage, values, name=name, always_new=always_new) for values in points]


async def plan_fork(connection: Connection, target: Target, stage: str, values: Mapping[str, Any] = {}) -> NewFork:
    """The fork of a run or of one of its jobs, which computes the stages from `stage` on: its jobs, and the outputs of
    the stages before that they copy. `values` are settings, and values of the preset, that win over the parent's.

    The subjects, the reference index, the corpus or the vocabulary, and the prompt templates are the parent's. Raises
    MissingError, SettingsError and PresetValueError for values that cannot be used, and Refused for a stage that no
    job can be forked from, and for a setting that an earlier stage, the submission, or no stage reads.
    """
    parent = await _parent(connection, target)
    found = await forks.parent_jobs(connection, parent.id, job_id=target.job_id)
    if parent.kind == KIND:
        await works.refuse_replaced(connection, [job.id for job in found])
    modes = _modes(parent, found, stage)
    snapshot = await runs.settings(connection, parent.id)
    _refuse_values(parent, modes, target, stage, values)
    new = changed_snapshot(snapshot, values)
    frozen = thaw(new)
    earlier = {mode: stages_of(parent.kind, mode, until=stage)[:-1] for mode in modes}
    ready, left_out = _ready(found, stage, earlier)
    if not ready:
        why = "; ".join(left_out_in_words(left_out))
        raise Refused(f"No job of {target} can be forked from stage '{stage}': {why}.", slug="fork-refused")
    before = sorted({one for of_mode in earlier.values() for one in of_mode})
    kept = await forks.sources(connection, [job.id for job in ready], before)
    own_hash = _settings_hash(parent.kind, frozen)

    async def copy(connection: Connection, run_id: int) -> None:
        job_ids = await forks.store(
            connection, run_id, parent_id=parent.id, stage=stage, settings_hash=own_hash, kept=kept
        )
        await queries.copy(connection, job_ids)

    inputs = [await _inputs(connection, parent.kind, job, frozen, values) for job in ready]
    of_job = {} if target.job_id is None else {"job": target.job_id}
    return NewFork(
        kind=parent.kind,
        profile=parent.profile,
        settings=new,
        settings_hash=own_hash,
        request={
            **_inherited(parent, frozen, modes),
            "fork": {"run": parent.id, "from": stage, "set": sorted(values), **of_job},
        },
        jobs=[
            NewJob(mode=job.mode, subject=job.subject, inputs=own, stages=job.stages)
            for job, own in zip(ready, inputs, strict=True)
        ],
        parent_id=parent.id,
        stage=stage,
        kept=kept,
        left_out=left_out,
        effect=copy,
    )


def changed_snapshot(
    snapshot: Mapping[str, Mapping[str, Any]], values: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    """The settings of a run with other values. Raises SettingsError and PresetValueError for those that are wrong."""
    before = thaw(snapshot)
    own = {name: value for name, value in values.items() if not is_preset_name(name)}
    of_preset = {name: value for name, value in values.items() if is_preset_name(name)}
    run, problems = run_settings(Layer("stored with the run", before.run.values()), Layer(ORIGIN, own))
    if run is None:
        raise SettingsError(problems)
    new = dict(snapshot)
    after = run.values()
    new |= {name: {"value": after[name], "source": "option"} for name in own}
    if before.preset is not None and of_preset:
        preset = before.preset.changed(of_preset, origin=ORIGIN).values()
        new |= {name: {"value": preset[name], "source": "option"} for name in of_preset}
    return new


async def _parent(connection: Connection, target: Target) -> RunOverview:
    parent = await overviews.get(connection, await run_of(connection, target))
    if parent.kind == "index":
        raise Refused(
            f"Run r{parent.id} builds an index, which is published as a whole; `ragq index` builds another one.",
            slug="fork-refused",
        )
    return parent


def _modes(parent: RunOverview, found: Sequence[ParentJob], stage: str) -> list[str]:
    """The modes of jobs that have a stage. Raises Refused for one that none has."""
    modes = {job.mode for job in found if stage in job.stages and (parent.kind, job.mode) in CHAINS}
    if not modes:
        stages = max((job.stages for job in found), key=len, default=())
        raise Refused(
            f"No job of run r{parent.id} has a stage '{stage}'.{did_you_mean(stage, stages)} "
            f"Its stages: {', '.join(stages)}.",
            slug="fork-refused",
        )
    return sorted(modes)


def _refuse_values(
    parent: RunOverview, modes: Sequence[str], target: Target, stage: str, values: Mapping[str, Any]
) -> None:
    unknown = [
        unknown_name(name, ORIGIN, {**RUN_SETTINGS, **(PRESET_SETTINGS if parent.kind == "query" else {})})
        for name in values
        if name not in RUN_SETTINGS and not (parent.kind == "query" and is_preset_name(name))
    ]
    if unknown:
        raise SettingsError(unknown)
    for name in values:
        if name in READ_AT_SUBMISSION[parent.kind]:
            raise Refused(_submit_instead(parent, name, values[name]), slug="fork-refused")
        if not any(name in one.reads for chain in CHAINS.values() for one in chain):
            continue
        readers = [one for mode in modes for one in readers_of(parent.kind, mode, name)]
        if not readers:
            raise Refused(
                f"No stage of run r{parent.id} reads {name}, so the fork would compute the same.", slug="fork-refused"
            )
        chain = max((stages_of(parent.kind, mode) for mode in modes), key=len)
        reader = min(readers, key=chain.index)
        if chain.index(reader) < chain.index(stage):
            raise Refused(
                f"Stage '{reader}' reads {name}, and comes before '{stage}'. Fork from there: `ragq fork "
                f"{target} --from {reader} --set {name}=VALUE`.",
                slug="fork-refused",
            )


def _submit_instead(parent: RunOverview, name: str, value: object) -> str:
    """How to compute a run with another value of a setting that its submission reads."""
    file, assignment = f"r{parent.id}.toml", f"--set {shlex.quote(f'{name}={value}')}"
    shown = "--config" if parent.kind == "participant" else "--config --with-text"
    why = (
        f"{name} is read when a run is submitted: it belongs to what the run searches. "
        f"Store the output of `ragq show r{parent.id} {shown}` in {file};"
    )
    if parent.kind == "query":
        return (
            f"{why} `ragq import works PATH --corpus ANOTHER {assignment} --wait` imports the works into another "
            f"corpus, and `ragq submit --config {file} --corpus ANOTHER {assignment}` asks that."
        )
    return (
        f"{why} `ragq submit --config {file} {assignment}` submits it with the other value; the calls that the ledger "
        "holds are not paid again. Where no index has the value, the error names what builds one."
    )


def _ready(
    found: Sequence[ParentJob], stage: str, earlier: Mapping[str, Sequence[str]]
) -> tuple[list[ParentJob], dict[str, list[int]]]:
    """The jobs that can be forked, and by the reason those that cannot."""
    ready: list[ParentJob] = []
    left_out: dict[str, list[int]] = {}
    for job in found:
        missing = next((one for one in earlier.get(job.mode, ()) if one not in job.done), None)
        if stage not in job.stages or job.mode not in earlier:
            left_out.setdefault(f"it has no stage '{stage}'", []).append(job.id)
        elif job.has_moved:
            left_out.setdefault("its question continued in another run", []).append(job.id)
        elif missing is not None:
            left_out.setdefault(f"stage '{missing}' is not stored", []).append(job.id)
        else:
            ready.append(job)
    return ready, left_out


def left_out_in_words(left_out: Mapping[str, Sequence[int]]) -> list[str]:
    """Which jobs are not forked, and why: a line for each reason."""
    return [f"{listed([f'j{one}' for one in job_ids], _LISTED)}: {why}" for why, job_ids in left_out.items()]


def _inherited(parent: RunOverview, frozen: FrozenSettings, modes: Sequence[str]) -> dict[str, Any]:
    inherited = {name: value for name, value in parent.request.items() if name != "left_parity"}
    return inherited | (left_parity(parent.profile, frozen.run) if AssessmentMode.FEW_SHOT in modes else {})


def _settings_hash(kind: str, frozen: FrozenSettings) -> str:
    if kind == "tags":
        return tags_hash(frozen.run)
    if frozen.preset is not None:
        return content_hash([frozen.run.values(), frozen.preset.values()])
    return settings_hash(frozen.run)


async def _inputs(
    connection: Connection, kind: str, job: ParentJob, frozen: FrozenSettings, changed: Mapping[str, Any]
) -> dict[str, Any]:
    """Those of the parent's job, with what a submission finds for it by settings that changed."""
    inputs = {name: value for name, value in job.inputs.items() if name not in _NOT_KEPT}
    if kind == "query" and "RAGQ_EXPANDER" in changed and inputs["expansion"]["origin"] != Origin.PASTED:
        inputs["expansion"] = {"origin": frozen.run.ragq.expander}
    if "augmentation.top_n_contexts" in changed:
        inputs.pop("top_n", None)
    if kind == "work":
        inputs["templates"] = await document_templates(connection)
    if kind == "tags" and "PSQ_MIN_TAG_COUNT" in changed:
        inputs["min_tag_count"] = await minimum_count(connection, inputs["vocabulary_id"], frozen.run)
    return inputs
