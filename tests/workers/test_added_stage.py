"""The stage that docs/architecture.md adds, as it is written there."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from schemas import chains
from schemas.chains import CHAINS, output_of, stages_of
from schemas.settings.process import ProcessSettings
from schemas.values import tags
from schemas.values.tags import Candidate, ValidatedTags
from store.database import Connection, Database
from store.runs import attempts, runs, stages
from store.runs.runs import NewJob, NewRun
from workers.functions import functions_of_chains
from workers.leases import Leases
from workers.runner import Outcome, StageRunner
from workers.wiring import Wiring

REPOSITORY = Path(__file__).parents[2]
TAGS = ("tags", "candidates")
VALUE, FUNCTION, BINDING, LIST, TEST = ADDED = (
    "schemas/values/tags.py",
    "stages/tags/consolidate.py",
    "workers/bindings/tags/consolidate.py",
    "schemas/chains.py",
    "tests/stages/tags/test_consolidate.py",
)


def section(heading: str) -> str:
    text = (REPOSITORY / "docs/architecture.md").read_text()
    return re.split(r"\n##+ ", text.split(f"\n### {heading}\n")[1])[0]


def add_module(monkeypatch: pytest.MonkeyPatch, path: str, code: str) -> ModuleType:
    module = ModuleType(path.removesuffix(".py").replace("/", "."))
    exec(compile(code, path, "exec"), vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Adds the stage until the end of the test. Its test."""
    blocks = dict(re.findall(r"^\*\*`([\w/.]+)`\*\*.*?^```python\n(.*?)^```", section("Add a stage"), re.M | re.S))
    assert tuple(blocks) == ADDED
    of_value = dict(vars(tags))
    exec(blocks[VALUE], of_value)
    monkeypatch.setattr(tags, "ConsolidatedTags", of_value["ConsolidatedTags"], raising=False)
    add_module(monkeypatch, FUNCTION, blocks[FUNCTION])
    add_module(monkeypatch, BINDING, blocks[BINDING])
    monkeypatch.setitem(CHAINS, TAGS, (*CHAINS[TAGS], *eval(blocks[LIST], vars(chains))))
    return add_module(monkeypatch, TEST, blocks[TEST])


def test_the_pure_function_keeps_its_own_test(added: ModuleType) -> None:
    (test,) = (test for name, test in vars(added).items() if name.startswith("test_"))

    test()


async def test_four_files_make_a_stage(added: ModuleType, database: Database, database_url: str) -> None:
    sources = ("red dress", "dress")
    candidate = Candidate(
        tag="dress", score_combined=1.0, score_fasttext=1.0, score_context=None, count=9, sources=sources
    )
    async with database.connection() as connection:
        job_id = await validated_job(connection, ValidatedTags(candidates=(candidate,), phrase_rank_by_tag={}))
    leases = Leases(database_url, "worker", lease_s=60, heartbeat_s=10)
    wiring = Wiring(ProcessSettings(), database, ollama_url=None, is_crowded=lambda: False)
    functions = functions_of_chains()
    runner = StageRunner(
        database, leases, wiring, functions, worker_id="worker", lease_s=60, grace_s=60, max_interruptions=3
    )

    outcome = await runner.run("consolidate", job_id, is_redelivered=False)
    leases.stop()

    async with database.connection() as connection:
        stored = await attempts.output(connection, job_id, "consolidate")
    assert (outcome, stored and stored.value) == (
        Outcome.STORED,
        {"by_phrase": {"red dress": ["dress"], "dress": ["dress"]}},
    )
    assert output_of(*TAGS, "consolidate") is vars(tags)["ConsolidatedTags"]


async def validated_job(connection: Connection, validated: ValidatedTags) -> int:
    """A tags job whose stages are done up to `validate`."""
    job = NewJob(mode="candidates", subject="1", inputs={}, stages=stages_of(*TAGS, until="consolidate"))
    run = NewRun(kind="tags", profile="demo", settings={}, settings_hash="s", request={}, version="0", jobs=[job])
    (job_id,) = (await runs.store(connection, run, always_new=True)).job_ids
    for stage in stages_of(*TAGS, until="validate"):
        claim = await stages.claim(connection, job_id, stage, "worker", 60)
        assert claim is not None
        output = validated.model_dump(mode="json") if stage == "validate" else {}
        await stages.commit(connection, claim, inputs={}, output=output)
    return job_id


@pytest.mark.parametrize("heading", ["Add a stage", "Add a setting", "Add a report field"])
def test_the_files_that_are_named_exist(heading: str) -> None:
    named = set(re.findall(r"`((?:\w+/)+[\w.]+\.\w+)`", section(heading))).difference((FUNCTION, BINDING, TEST))

    assert named
    assert [path for path in sorted(named) if not (REPOSITORY / path).exists()] == []
