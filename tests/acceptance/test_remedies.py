"""What a refusal advises is executed: the commands that it prints are run as printed, and the refused one succeeds."""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from schemas.values.participants import PHQ8Item
from store.runs.jobs import OPEN_JOBS
from tests.acceptance.conftest import Install
from tests.acceptance.harness import Installation
from tests.acceptance.shelf import QUESTION, write_shelf
from tests.acceptance.small_data_set import TEST
from tests.acceptance.wardrobe import write_wardrobe
from tests.scripted_ollama import ScriptedOllama, ScriptedReply

ROUNDS = 4
"""Refusals of one command after each other: an import may be followed by what builds on it."""

_COMMAND = re.compile(r"`(ragq [^`]+)`")
_PLACEHOLDER = re.compile(r"\b[A-Z]+\b")

FEW_SHOT = ("submit", "--participants", "316", "--few-shot-only")
SCORES = json.dumps({item.evidence_key: None for item in PHQ8Item})


@pytest.fixture(scope="module")
def fillings(data_directory: Path, ollama: ScriptedOllama, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a user writes in the place of a placeholder."""
    folder = tmp_path_factory.mktemp("fillings")
    (folder / "phrases").write_text("overcoat\n")
    return {
        "DIR": str(data_directory),
        "PATH": str(write_shelf(folder / "shelf")),
        "TAGS": str(write_wardrobe(folder / "wardrobe")),
        "MODEL": ollama.model(lambda prompt: ScriptedReply(SCORES)).name,
        "PHRASES": str(folder / "phrases"),
    }


@pytest.fixture(scope="module")
def served(
    install: Install, migrated_template: str, ollama: ScriptedOllama, data_directory: Path
) -> Iterator[Installation]:
    """Participants and the index of profile `demo`, with a worker whose embedder no process has to load."""
    ollama.model(name="gemma3:27b")
    with install(migrated_template) as installation:
        installation.settings |= scripted_embedder(ollama)
        installation.start_worker()
        installation.learn(data_directory)
        yield installation


@pytest.fixture
def empty(install: Install, migrated_template: str, ollama: ScriptedOllama) -> Iterator[Installation]:
    """Tables without rows, and a worker."""
    with install(migrated_template) as installation:
        installation.settings |= scripted_embedder(ollama)
        installation.start_worker()
        yield installation


def scripted_embedder(ollama: ScriptedOllama) -> dict[str, str]:
    return {
        "EMBEDDING_BACKEND": "ollama",
        "EMBEDDING_DIMENSION": "8",
        "MODEL_EMBEDDING_MODEL": ollama.model(name="embedder").name,
    }


def commands_in(message: str) -> list[str]:
    """The commands that a message prints; those that it mentions without their arguments are left out."""
    found = _COMMAND.findall(" ".join(message.split()))
    return [line for line in found if len(line.split()) > 2 or "migrate" in line]


def filled(line: str, fillings: dict[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: shlex.quote(fillings.get(found[0], found[0])), line)


def assert_remedied(
    installation: Installation, command: Sequence[str], fillings: dict[str, str], *, advised: str
) -> list[str]:
    """Run what each refusal advises, one command after the other, until the refused command succeeds.

    One of the commands begins as `advised` does. Returns all of them.
    """
    command = [filled(word, fillings) for word in command]
    printed: list[str] = []
    for _ in range(ROUNDS):
        done = installation.ragq(*command)
        if done.exit_code == 0:
            break
        assert done.exit_code == 1, done.stderr
        for line in commands_in(done.stderr):
            printed.append(line)
            written = shlex.split(filled(line, fillings))
            assert not _PLACEHOLDER.fullmatch(written[-1]), f"Nothing to fill in {line}"
            step = installation.ragq(*written[1:])
            assert step.exit_code == 0, f"{line}\n{step.stderr}"
            installation.wait_until(f"SELECT count(*) = 0 FROM job WHERE status IN {OPEN_JOBS}")
            if installation.ragq(*command).exit_code == 0:
                break
    installation.do(*command)
    assert any(re.sub(r"--split \S+/", "--split ", line).startswith(advised) for line in printed), printed
    return printed


def submission_by_the_remedy_of_a_fork(
    installation: Installation, assignment: str, fillings: dict[str, str], folder: Path
) -> list[str]:
    """The newest run is not forked over a setting: the last command of the refusal, which submits it again."""
    run_id = installation.value("SELECT max(id) FROM run")
    installation.wait_for(run_id)
    refused = installation.ragq("fork", f"r{run_id}", "--from", "retrieve", "--set", assignment)
    assert refused.exit_code == 1
    show, *steps = _COMMAND.findall(" ".join(refused.stderr.split()))
    file = folder / f"r{run_id}.toml"
    file.write_text(installation.ragq(*shlex.split(show)[1:]).stdout)
    *before, submit = (shlex.split(filled(line, fillings).replace(file.name, str(file)))[1:] for line in steps)
    for step in before:
        installation.do(*step)
    # The harness ends a submission elsewhere unless it is told.
    return [*submit, "--until", "retrieve"]


def newest_setting(installation: Installation, name: str) -> object:
    found: object = installation.value("SELECT settings -> $1 -> 'value' FROM run ORDER BY id DESC LIMIT 1", name)
    return found


INDEXES = {
    "there is only the index of another profile": (
        (*FEW_SHOT, "--profile", "paper"),
        "ragq index references --split paper-train --profile paper --wait",
    ),
    "the index of another profile has other chunks": (
        (*FEW_SHOT, "--profile", "paper-parity", "--set", "EMBEDDING_CHUNK_SIZE=5"),
        "ragq index references --split paper-train --profile paper-parity --set EMBEDDING_CHUNK_SIZE=5 --wait",
    ),
    "the chunks have no scores": (
        (*FEW_SHOT, "--set", "EMBEDDING_REFERENCE_SCORE_SOURCE=chunk"),
        "ragq index chunk-scores",
    ),
}


@pytest.mark.parametrize(("command", "advised"), INDEXES.values(), ids=INDEXES)
def test_a_refused_search_of_references_succeeds_after_its_remedy(
    served: Installation, command: tuple[str, ...], advised: str, fillings: dict[str, str]
) -> None:
    assert_remedied(served, command, fillings, advised=advised)


@pytest.mark.parametrize(
    "command",
    [
        ("submit", "--split", "paper-test", "--zero-shot-only"),
        ("submit", "--participants", "316", "--zero-shot-only"),
        ("index", "references", "--split", "paper-train", "--wait"),
    ],
    ids=["split", "participant", "split of an index"],
)
def test_a_request_for_what_is_not_stored_succeeds_after_its_import(
    empty: Installation, command: tuple[str, ...], fillings: dict[str, str]
) -> None:
    assert_remedied(empty, command, fillings, advised="ragq import participants DIR")


def test_phrases_are_accepted_once_the_vocabulary_is_imported_and_has_its_models(
    empty: Installation, fillings: dict[str, str], tmp_path: Path
) -> None:
    command = ("submit", "--phrases", "PHRASES", "--vocabulary", "clothes", "--until", "validate")
    fillings = fillings | {"DIR": fillings["TAGS"]}

    printed = assert_remedied(empty, command, fillings, advised="ragq import tags DIR --name clothes")

    assert "ragq index tags clothes --wait" in printed
    again = submission_by_the_remedy_of_a_fork(empty, "PSQ_SIMILARITY=original", fillings, tmp_path)
    empty.do(*again)
    assert newest_setting(empty, "PSQ_SIMILARITY") == "original"
    # As a vocabulary of an earlier version has it.
    empty.rows("UPDATE vocabulary SET similarity_digest = NULL RETURNING id")
    fused = [filled(word, fillings) for word in (*command, "--set", "PSQ_SIMILARITY=fused")]
    assert commands_in(empty.ragq(*fused).stderr) == ["ragq index tags clothes --wait"]
    empty.do("import", "tags", fillings["DIR"], "--name", "clothes")
    assert_remedied(empty, fused, fillings, advised="ragq index tags clothes --wait")


def test_questions_are_accepted_once_works_are_embedded_and_of_another_corpus_after_a_refused_fork(
    empty: Installation, ollama: ScriptedOllama, fillings: dict[str, str], tmp_path: Path
) -> None:
    asked = ("submit", "--query", QUESTION, "--corpus", "my shelf", "--no-expand", "--until", "retrieve")
    assert_remedied(empty, asked, fillings, advised="ragq import works PATH --corpus 'my shelf'")
    empty.do("import", "works", fillings["PATH"], "--corpus", "other", "--wait")
    empty.do(*asked, "--corpus", "other", "--wait")
    excluded = empty.ragq(*asked, "--where", "year>=3000")
    assert excluded.exit_code == 1
    assert [empty.ragq(*shlex.split(line)[1:]).exit_code for line in commands_in(excluded.stderr)] == [0]

    other = ollama.model().name
    again = submission_by_the_remedy_of_a_fork(empty, f"MODEL_EMBEDDING_MODEL={other}", fillings, tmp_path)
    empty.do(*again)
    assert newest_setting(empty, "MODEL_EMBEDDING_MODEL") == other


def test_a_run_without_references_model_or_server_is_accepted_once_it_asks_for_others(
    served: Installation, ollama: ScriptedOllama
) -> None:
    people = ("submit", "--split", "paper-train", "--few-shot-only")
    refused = served.ragq(*people)
    assert refused.exit_code == 1
    (choice,) = re.findall(r"submit with (--[a-z-]+)", refused.stderr)
    assert choice == "--zero-shot-only"
    served.do("submit", "--split", "paper-train", choice)

    by_model = ("submit", "--participants", "316", "--zero-shot-only", "--set", "QUANTITATIVE_EVIDENCE_EXTRACTOR=llm")
    asked = (*by_model, "--set", "MODEL_QUANTITATIVE_MODEL=absent:1b")
    refused = served.ragq(*asked)
    assert refused.exit_code == 1
    (fetched,) = re.findall(r"`ollama pull ([^`]+)`", refused.stderr)
    present = ("--set", "MODEL_QUANTITATIVE_MODEL=gemma3:27b")
    served.do(*asked, *present)
    ollama.model(name=fetched)
    served.do(*asked)

    refused = served.ragq(*by_model, *present, "--new", OLLAMA_HOST="gpu")
    assert refused.exit_code == 1
    assert f"the running workers ask http://127.0.0.1:{served.ollama_port}" in refused.stderr
    assert "to use theirs, unset OLLAMA_HOST and choose the profile with --profile" in " ".join(refused.stderr.split())
    served.do(*by_model, *present, "--new", "--profile", "demo", OLLAMA_HOST="")


def test_a_fork_over_a_setting_of_the_index_names_commands_that_submit_it_again(
    served: Installation, fillings: dict[str, str], tmp_path: Path
) -> None:
    served.submit(*FEW_SHOT[1:], "--until", "rerank")
    again = submission_by_the_remedy_of_a_fork(served, "EMBEDDING_CHUNK_STEP=1", fillings, tmp_path)
    assert_remedied(served, again, fillings, advised="ragq index references")
    assert newest_setting(served, "EMBEDDING_CHUNK_STEP") == 1


def test_profile_local_scores_by_the_evidence_of_its_index_and_asks_no_language_model(
    served: Installation, ollama: ScriptedOllama, fillings: dict[str, str]
) -> None:
    local = ("submit", "--split", "paper-test", "--profile", "local")
    assert "RAGQ_SCORER=neighbours: " in served.ragq(*local).stderr
    assert_remedied(served, local, fillings, advised="ragq index references --split paper-train --profile local --wait")
    calls = sum(model.calls for model in ollama.models.values())

    run_id = served.submit(*local[1:], "--until", "score")

    assert served.wait_for(run_id) == {"succeeded": len(TEST)}
    assert sum(model.calls for model in ollama.models.values()) == calls
    for ordinal in range(len(TEST)):
        (scored,) = served.inspect(run_id, "score", ordinal=ordinal)
        items = scored["output"]["items"]
        assert {item["basis"] for item in items.values()} <= {"neighbours", "median"}
        assert all(0 <= items[item]["score"] <= 3 for item in PHQ8Item)
        assert not any(str(participant) in items[item]["reason"] for participant in TEST for item in PHQ8Item)
    (prompt,) = served.inspect(run_id, "assemble")
    assert prompt["output"]["messages"]
