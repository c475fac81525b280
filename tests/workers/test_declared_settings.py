"""A stage reads the settings that the list of chains declares for it, all of them and no others."""

from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.chains import CHAINS, Stage
from schemas.errors import Refused
from schemas.settings.process import ProcessSettings
from schemas.settings.resolve import resolve
from schemas.settings.run import RUN_SETTINGS
from store.database import Database
from tests.workers.declared import WIRED, settings_read
from workers.process import FUNCTIONS
from workers.wiring import Wiring

EVERY_STAGE = [(*chain, stage) for chain, stages in CHAINS.items() for stage in stages]

THROUGH_INPUTS = {("query", "expand"): {"expansion.enabled", "RAGQ_EXPANDER"}}
"""Settings that a submission reads for a stage, and stores in the inputs of its jobs."""


@pytest.mark.parametrize(("kind", "mode", "stage"), EVERY_STAGE)
def test_a_stage_declares_what_its_code_reads(kind: str, mode: str, stage: Stage) -> None:
    read = settings_read(FUNCTIONS[kind, mode, stage.name])

    assert read | THROUGH_INPUTS.get((kind, stage.name), set()) == stage.reads


def test_the_wiring_reads_what_the_interpreter_takes_it_to_read() -> None:
    nowhere = Database("postgresql://127.0.0.1:1/none")
    wiring = Wiring(
        ProcessSettings(), nowhere, ollama_url="http://127.0.0.1:1", is_crowded=lambda: False, is_awaited=lambda: False
    )
    settings = resolve(profile="paper", options={"EMBEDDING_BACKEND": "ollama"}, environment={}).run.values()
    for method, missing in [(of, name) for of in WIRED for name in ("", *sorted(WIRED[of]))]:
        given: Any = SimpleNamespace()
        for group, field, name in ((*RUN_SETTINGS[name].place, name) for name in WIRED[method] - {missing}):
            vars(given).setdefault(group, SimpleNamespace())
            setattr(getattr(given, group), field, settings[name])

        with pytest.raises(AttributeError) if missing else suppress(Refused):
            getattr(wiring, method)(given)
