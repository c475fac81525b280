"""Settings: every combination that decides which references are shown runs or is refused, and a stage reads its own.

The combinations go from the plan of a submission through every stage up to `assemble`, on Postgres; only the models
are fakes. What a stage reads is found in the source, in every branch, whatever a run of it would take: from its
function, every function of `workers` and `stages` that it names is read, and the properties of Work and RunSettings.
What has settings is known by the annotations of parameters, and followed through assignments and attributes.
"""

import ast
import inspect
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from textwrap import dedent
from types import FunctionType, SimpleNamespace
from typing import Any, Final, get_type_hints

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.openai import OpenAIEmbedder
from schemas.chains import CHAINS, Stage, stages_of
from schemas.errors import EmbeddingArtifactMismatchError, Refused
from schemas.settings.preset import PRESET_SETTINGS, Preset
from schemas.settings.process import ProcessSettings, ServerAddress
from schemas.settings.resolve import EffectiveSettings, resolve
from schemas.settings.run import RUN_SETTINGS, EmbeddingSettings, ModelSettings, RunSettings
from schemas.values.chat import ChatCall
from schemas.values.participants import (
    AssembledPrompt,
    AssessmentMode,
    Chunk,
    ChunkScoresMeta,
    PHQ8Item,
    RankedReferences,
    Split,
    ValidatedReferences,
)
from schemas.values.requests import ParticipantRequest
from services.participants import plan_participants
from stages.participants.chunking import PROMPT_HASH
from stages.ports import Vectors
from stages.texts.characters import short_hash
from store.database import Connection, Database
from store.references import interviews
from store.runs import attempts, runs
from tests.fakes.embedder import hash_vector
from tests.store.reference_indexes import PLAN, person, publish_index
from tests.workers.processes import FakeWiring, stage_runner
from workers.process import FUNCTIONS
from workers.runner import Outcome, StageRunner
from workers.wiring import Wiring
from workers.work import StageFunction, Work

TESTED, TRAINED = 316, (304, 313, 321)
CHUNKS = 6
QUOTES = {PHQ8Item.SLEEP: "I wake up at four every night", PHQ8Item.TIRED: "I am tired all the time"}
EVIDENCE = {str(TESTED): {item.evidence_key: [quote] for item, quote in QUOTES.items()}}
REQUEST = ParticipantRequest(
    participants=[TESTED], modes=[AssessmentMode.FEW_SHOT], until="assemble", evidence=EVIDENCE
)
PARTICIPANT_SCORE = 2
STAGES = stages_of("participant", AssessmentMode.FEW_SHOT, until="assemble")

CAN_BE_MISSING = ("EMBEDDING_ENABLE_ITEM_TAG_FILTER", "EMBEDDING_REFERENCE_SCORE_SOURCE")
FULL = {"EMBEDDING_EMBEDDINGS_FILE": "full", "EMBEDDING_DIMENSION": "8", "MODEL_EMBEDDING_MODEL": "fake"}
JUDGED = FULL | {"EMBEDDING_ENABLE_REFERENCE_VALIDATION": "true"}
CHOICES = st.fixed_dictionaries(
    {
        # Every chunk of the first index has tags and scores, and none of the other.
        "EMBEDDING_EMBEDDINGS_FILE": st.sampled_from(["full", "full", "bare"]),
        "EMBEDDING_ENABLE_ITEM_TAG_FILTER": st.sampled_from(["false", "true"]),
        "EMBEDDING_REFERENCE_SCORE_SOURCE": st.sampled_from(["participant", "chunk"]),
        "EMBEDDING_ENABLE_REFERENCE_VALIDATION": st.sampled_from(["false", "true"]),
        "EMBEDDING_MIN_REFERENCE_SIMILARITY": st.sampled_from(["0.0", "0.5", "0.6", "1.0"]),
        "EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM": st.sampled_from(["0", "1", "50", "100"]),
        "EMBEDDING_TOP_K_REFERENCES": st.sampled_from(["1", "2", "10"]),
        "RAGQ_RERANKER": st.sampled_from(["similarity", "cross_encoder"]),
    }
)


def judge(call: ChatCall) -> str:
    """Rejects each chunk whose number is odd."""
    return json.dumps({"decision": "reject" if "[odd]" in call.messages[-1].content else "accept"})


@dataclass(frozen=True)
class Bench:
    """A database with two indexes, and a process to run stages in."""

    database: Database
    runner: StageRunner

    async def plan(self, effective: EffectiveSettings) -> int:
        """Submit; the job's number."""
        run = await self.database.ask(plan_participants, REQUEST, effective)
        (job_id,) = (await self.database.ask(runs.store, run, always_new=True)).job_ids
        return job_id

    async def compute(self, job_id: int, first: str = STAGES[0]) -> None:
        for stage in STAGES[STAGES.index(first) :]:
            assert await self.runner.run(stage, job_id, is_redelivered=False) is Outcome.STORED

    async def output(self, job_id: int, stage: str) -> Any:
        stored = await self.database.ask(attempts.output, job_id, stage)
        assert stored is not None
        return stored.value


@pytest.fixture
async def bench(database: Database) -> AsyncIterator[Bench]:
    await database.ask(store_everything)
    with stage_runner(database, FUNCTIONS, FakeWiring(database, judge), lease_s=60) as runner:
        yield Bench(database, runner)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=CHOICES)
async def test_every_combination_runs_or_is_refused_by_name(bench: Bench, chosen: dict[str, str]) -> None:
    options = FULL | {"RAGQ_RERANKER_MODEL": "fake-cross-encoder"} | chosen
    effective = resolve(profile="paper", options=options, environment={})
    embedding, is_reranked = effective.run.embedding, effective.run.ragq.reranker == "cross_encoder"
    has_own_scores = embedding.reference_score_source == "chunk"
    asked = zip(CAN_BE_MISSING, (embedding.enable_item_tag_filter, has_own_scores), strict=True)
    refused_for = {name for name, is_asked in asked if is_asked and embedding.embeddings_file == "bare"}
    if refused_for:
        with pytest.raises(EmbeddingArtifactMismatchError) as refusal:
            await bench.plan(effective)
        assert {name for name in CAN_BE_MISSING if name in str(refusal.value)} == refused_for
        return

    job_id = await bench.plan(effective)
    await bench.compute(job_id)

    ranked = RankedReferences.model_validate(await bench.output(job_id, "rerank"))
    validated = ValidatedReferences.model_validate(await bench.output(job_id, "validate"))
    assembled = AssembledPrompt.model_validate(await bench.output(job_id, "assemble"))
    budget = embedding.max_reference_chars_per_item
    for item, kept in ranked.items.items():
        assert item in QUOTES or not kept
        assert len(kept) <= embedding.top_k_references
        assert all(ref.similarity >= embedding.min_reference_similarity for ref in kept)
        assert not budget or sum(ref.chunk_chars for ref in kept) <= budget
        assert TESTED not in {ref.participant_id for ref in kept}
        assert not embedding.enable_item_tag_filter or all(item in tags_of(ref.ordinal) for ref in kept)
        scores = [own_score(ref.ordinal) if has_own_scores else PARTICIPANT_SCORE for ref in kept]
        assert [ref.score for ref in kept] == scores
        assert {ref.rerank_score is not None for ref in kept} <= {is_reranked}
        accepted = tuple(ref for ref in kept if ref.ordinal % 2 == 0)[:2]
        assert validated.items[item] == (accepted if embedding.enable_reference_validation else kept)
    shown = [ref for kept in validated.items.values() for ref in kept if ref.score is not None]
    assert assembled.entries == len(shown) == assembled.block.count(" Score: ")
    assert bool(assembled.block) == bool(shown)


def tags_of(ordinal: int) -> tuple[PHQ8Item, ...]:
    """Of a chunk by its place: the first three name sleep, every second tiredness, the last neither."""
    if ordinal == CHUNKS - 1:
        return ()
    return (*((PHQ8Item.SLEEP,) if ordinal < CHUNKS // 2 else ()), *((PHQ8Item.TIRED,) if ordinal % 2 else ()))


def own_score(ordinal: int) -> int | None:
    return None if ordinal == 0 else ordinal % 4


async def store_everything(connection: Connection) -> None:
    """The tested participant, three to learn from, and an index of these with tags and scores, and one without."""
    said = "\n".join(f"Participant: {quote}" for quote in QUOTES.values())
    people = [person(number, transcript=said, score=PARTICIPANT_SCORE) for number in (TESTED, *TRAINED)]
    split = Split(name="paper-train", csv_hash="c", ids_hash="i", participant_ids=TRAINED)
    await interviews.keep(connection, "data", people, [split])
    for name, is_full in (("full", True), ("bare", False)):
        await publish_index(
            connection,
            PLAN.model_copy(update={"name": name, "model": "fake", "dimension": 8}),
            [chunks_of(number, is_full=is_full) for number in TRAINED],
            chunk_scores_meta=ChunkScoresMeta(prompt_hash=PROMPT_HASH) if is_full else None,
        )


def chunks_of(number: int, *, is_full: bool) -> tuple[list[Chunk], Vectors]:
    texts = [f"Participant: night {at} of {number} [{'odd' if at % 2 else 'even'}]" for at in range(CHUNKS)]
    rows = np.array([hash_vector(text) for text in texts], dtype=np.float32)
    chunks = [
        Chunk(
            participant_id=number,
            ordinal=at,
            text=text,
            chunk_hash=short_hash(text),
            tags=tags_of(at) if is_full else None,
            scores=dict.fromkeys(PHQ8Item, own_score(at)) if is_full else None,
        )
        for at, text in enumerate(texts)
    ]
    return chunks, rows / np.linalg.norm(rows, axis=1, keepdims=True)


OPENAI = RunSettings(embedding=EmbeddingSettings(backend="openai"), model=ModelSettings(embedding_model="e"))


def wired(**settings: str) -> Wiring:
    """The wiring of a process with these settings, which connects to nothing before it is asked."""
    process = ProcessSettings.from_environment(settings)
    return Wiring(process, Database("postgresql://h/d"), ollama_url=None, is_crowded=lambda: False)


async def test_a_run_with_backend_openai_is_embedded_by_the_server_that_is_named() -> None:
    with pytest.raises(Refused, match="RAGQ_OPENAI_EMBEDDING_BASE_URL is not set"):
        wired().embedder(OPENAI)
    wiring = wired(RAGQ_OPENAI_EMBEDDING_BASE_URL="http://e/v1")

    embedder = wiring.embedder(OPENAI)

    assert (type(embedder), embedder.name) == (OpenAIEmbedder, "e")
    assert wiring.embedder(OPENAI) is embedder
    await wiring.close()


def test_no_key_is_sent_to_a_server_that_it_was_not_set_for() -> None:
    for chat, embeddings, expected in [
        (("http://c/v1", "ck"), (None, None), ServerAddress("http://c/v1", "ck")),
        (("http://c/v1", "ck"), ("http://e/v1", None), ServerAddress("http://e/v1", None)),
        (("http://c/v1", "ck"), (None, "ek"), ServerAddress("http://c/v1", "ek")),
        (("http://c/v1", "ck"), ("http://e/v1", "ek"), ServerAddress("http://e/v1", "ek")),
        ((None, None), (None, "ek"), None),
    ]:
        names = ("RAGQ_OPENAI_BASE_URL", "RAGQ_OPENAI_API_KEY")
        others = ("RAGQ_OPENAI_EMBEDDING_BASE_URL", "RAGQ_OPENAI_EMBEDDING_API_KEY")
        given = zip((*names, *others), (*chat, *embeddings), strict=True)

        settings = ProcessSettings.from_environment({name: value for name, value in given if value is not None})

        assert settings.openai_embedding_server == expected


WIRED: Final = {
    "embedder": frozenset({"EMBEDDING_BACKEND", "MODEL_EMBEDDING_MODEL"}),
    "chat": frozenset({"LLM_BACKEND"}),
}
"""What the methods of Wiring read of the settings that they are given."""

Path = tuple[str, ...]
"""Where a value lies: `("work", "settings", "embedding")`, `("settings", "embedding")`."""

_NAMES: Final[dict[Path, str]] = {
    **{("settings", *setting.place): name for name, setting in RUN_SETTINGS.items()},
    **{("preset", *setting.place): name for name, setting in PRESET_SETTINGS.items()},
}
_TYPES: Final[dict[object, Path]] = {
    **{setting.group: ("settings", setting.place[0]) for setting in RUN_SETTINGS.values()},
    **{setting.group: ("preset", setting.place[0]) for setting in PRESET_SETTINGS.values()},
    **{Work: ("work",), RunSettings: ("settings",), Preset: ("preset",)},
}
_OURS: Final = ("workers.", "stages.", "schemas.settings.")
_OWNERS: Final = {"work": Work, "settings": RunSettings}


def settings_read(function: StageFunction) -> frozenset[str]:
    """The names of the settings that the function of a stage reads."""
    found: set[str] = set()
    seen: set[object] = set()
    unread: list[Any] = [function]
    while unread:
        one = unread.pop()
        if one not in seen:
            seen.add(one)
            named = list(_read(one))
            found |= {name for name in named if isinstance(name, str)}
            unread += [function for function in named if not isinstance(function, str)]
    return frozenset(found)


def _read(function: FunctionType) -> Iterator[str | FunctionType]:
    """The settings that a function reads itself, and the functions that it names."""
    tree = ast.parse(dedent(inspect.getsource(function)))
    known = {name: _TYPES[hint] for name, hint in get_type_hints(function).items() if hint in _TYPES}
    known["self"] = ("work",) if function.__qualname__.startswith("Work.") else ("settings",)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            targets = [one for target in node.targets for one in getattr(target, "elts", [target])]
            for target, value in zip(targets, values, strict=False):
                if isinstance(target, ast.Name) and (path := _path(value, known)) is not None:
                    known[target.id] = path
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield from _functions(vars(inspect.getmodule(function)).get(node.id))
        elif isinstance(node, ast.Attribute) and (path := _path(node, known)) is not None:
            match path:
                case ("work", "wiring", method):
                    yield from WIRED.get(method, ())
                case ("work" | "settings" as owner, attribute):
                    member = vars(_OWNERS[owner]).get(attribute)
                    yield from _functions(member.fget if isinstance(member, property) else member)
                case _ if path in _NAMES:
                    yield _NAMES[path]


def _path(node: ast.expr, known: dict[str, Path]) -> Path | None:
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if not isinstance(node, ast.Attribute) or (base := _path(node.value, known)) is None:
        return None
    return (node.attr,) if base == ("work",) and node.attr in ("settings", "preset") else (*base, node.attr)


def _functions(found: Any) -> Iterator[FunctionType]:
    """What a name stands for: a function, or a dictionary of functions."""
    for one in found.values() if isinstance(found, dict) else [found]:
        function = one.func if isinstance(one, partial) else one
        if inspect.isfunction(function) and function.__module__.startswith(_OURS):
            yield function


EVERY_STAGE = [(*chain, stage) for chain, stages in CHAINS.items() for stage in stages]

THROUGH_INPUTS = {
    ("query", "expand"): {"RAGQ_EXPANDER"},
    ("tags", "retrieve"): {"PSQ_MIN_TAG_COUNT"},
    ("tags", "validate"): {"PSQ_MIN_TAG_COUNT"},
}
"""Settings that a submission reads for a stage, and stores in the inputs of its jobs."""


@pytest.mark.parametrize(("kind", "mode", "stage"), EVERY_STAGE)
def test_a_stage_declares_what_its_code_reads(kind: str, mode: str, stage: Stage) -> None:
    read = settings_read(FUNCTIONS[kind, mode, stage.name])

    assert read | THROUGH_INPUTS.get((kind, stage.name), set()) == stage.reads


def test_the_wiring_reads_what_is_taken_for_read() -> None:
    nowhere = Database("postgresql://127.0.0.1:1/none")
    wiring = Wiring(ProcessSettings(), nowhere, ollama_url="http://127.0.0.1:1", is_crowded=lambda: False)
    settings = resolve(profile="paper", options={"EMBEDDING_BACKEND": "ollama"}, environment={}).run.values()
    for method, missing in [(of, name) for of in WIRED for name in ("", *sorted(WIRED[of]))]:
        given: Any = SimpleNamespace()
        for group, field, name in ((*RUN_SETTINGS[name].place, name) for name in WIRED[method] - {missing}):
            vars(given).setdefault(group, SimpleNamespace())
            setattr(getattr(given, group), field, settings[name])

        with pytest.raises(AttributeError) if missing else suppress(Refused):
            getattr(wiring, method)(given)
