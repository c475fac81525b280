"""A stage reads the settings that the list of chains declares for it, all of them and no others."""

from contextlib import suppress
from typing import Any

import pytest

from schemas.chains import CHAINS, Stage
from schemas.errors import Refused, UndeclaredSettingError
from schemas.settings.preset import PRESET_SETTINGS, Preset
from schemas.settings.process import ProcessSettings
from schemas.settings.resolve import resolve
from schemas.settings.run import RUN_SETTINGS, FrozenSettings, RunSettings, declared_settings
from store.database import Database
from tests.workers.declared import WIRED, settings_read
from tests.workers.processes import stage_runner
from workers.process import FUNCTIONS
from workers.wiring import Wiring
from workers.work import Work

EVERY_STAGE = [(*chain, stage) for chain, stages in CHAINS.items() for stage in stages]
DECLARED = [(kind, mode, stage.name, name) for kind, mode, stage in EVERY_STAGE for name in sorted(stage.reads)]

THROUGH_INPUTS = {("query", "expand"): {"expansion.enabled", "RAGQ_EXPANDER"}}
"""Settings that a submission reads for a stage, and stores in the inputs of its jobs."""

FEW_SHOT = ("participant", "few_shot")


@pytest.mark.parametrize(("kind", "mode", "stage"), EVERY_STAGE)
def test_a_stage_declares_what_its_code_reads(kind: str, mode: str, stage: Stage) -> None:
    read = settings_read(FUNCTIONS[kind, mode, stage.name])

    assert read | THROUGH_INPUTS.get((kind, stage.name), set()) == stage.reads


@pytest.mark.parametrize(("kind", "mode", "stage", "name"), DECLARED)
def test_a_declaration_that_is_removed_makes_the_read_fail(
    kind: str, mode: str, stage: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = FrozenSettings(RunSettings(), Preset())
    assert read(declared_settings(frozen, kind, mode, stage), name) == read(frozen, name)

    without(monkeypatch, kind, mode, stage, name)

    with pytest.raises(UndeclaredSettingError, match=name):
        read(declared_settings(frozen, kind, mode, stage), name)


def without(monkeypatch: pytest.MonkeyPatch, kind: str, mode: str, stage: str, name: str) -> None:
    """Remove a declaration until the end of the test."""
    chain = tuple(of._replace(reads=of.reads - {name}) if of.name == stage else of for of in CHAINS[kind, mode])
    monkeypatch.setitem(CHAINS, (kind, mode), chain)


def read(settings: FrozenSettings, name: str) -> Any:
    """A setting by its name, as code reads it."""
    group, field = (RUN_SETTINGS | PRESET_SETTINGS)[name].place
    return getattr(getattr(settings.preset if name in PRESET_SETTINGS else settings.run, group), field)


async def test_a_worker_fails_a_stage_that_reads_what_it_does_not_declare(
    database: Database, job_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stage(work: Work) -> Any:
        return work.settings.quantitative.evidence_extractor

    without(monkeypatch, *FEW_SHOT, "extract", "QUANTITATIVE_EVIDENCE_EXTRACTOR")

    with (
        stage_runner(database, {(*FEW_SHOT, "extract"): stage}) as runner,
        pytest.raises(UndeclaredSettingError, match="Stage 'extract' reads QUANTITATIVE_EVIDENCE_EXTRACTOR,"),
    ):
        await runner.run("extract", job_id, is_redelivered=False)


@pytest.mark.parametrize(
    ("method", "missing"), [(method, name) for method in WIRED for name in ("", *sorted(WIRED[method]))]
)
def test_the_wiring_reads_what_the_interpreter_takes_it_to_read(
    method: str, missing: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiring = Wiring(
        ProcessSettings(), database, ollama_url="http://127.0.0.1:1", is_crowded=lambda: False, is_awaited=lambda: False
    )
    stage = CHAINS[FEW_SHOT][0]._replace(reads=WIRED[method] - {missing})
    monkeypatch.setitem(CHAINS, FEW_SHOT, (stage,))
    settings = resolve(profile="paper", options={"EMBEDDING_BACKEND": "ollama"}, environment={}).run
    declared = declared_settings(FrozenSettings(settings, None), *FEW_SHOT, stage.name)

    with pytest.raises(UndeclaredSettingError, match=missing) if missing else suppress(Refused):
        getattr(wiring, method)(declared.run)
