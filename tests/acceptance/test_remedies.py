"""What a refusal advises is executed: the commands that it prints are run as printed, and the refused one succeeds."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from schemas.values.participants import PHQ8Item
from store.runs.jobs import OPEN_JOBS
from tests.acceptance.conftest import Install
from tests.acceptance.harness import Installation
from tests.acceptance.shelf import QUESTION, write_shelf
from tests.acceptance.wardrobe import write_wardrobe
from tests.scripted_ollama import ScriptedOllama, ScriptedReply

ROUNDS = 4
"""Refusals of one command after each other: an import may be followed by what builds on it."""

_COMMAND = re.compile(r"`(ragq [^`]+)`")
_PLACEHOLDER = re.compile(r"\b[A-Z]+\b")

FEW_SHOT = ("submit", "--participants", "316", "--few-shot-only")
SCORES = json.dumps({item.evidence_key: None for item in PHQ8Item})


class Situation(NamedTuple):
    """A command that is refused."""

    command: tuple[str, ...]
    advised: str
    """The beginning of the command that has to be among those that the refusal prints."""


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
        assert installation.ragq("import", "participants", str(data_directory)).exit_code == 0
        assert installation.ragq("index", "references", "--split", "paper-train").exit_code == 0
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
    return [line for line in _COMMAND.findall(message) if len(line.split()) > 2 or "migrate" in line]


def filled(line: str, fillings: dict[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: shlex.quote(fillings.get(found[0], found[0])), line)


def assert_remedied(installation: Installation, situation: Situation, fillings: dict[str, str]) -> list[str]:
    """Run what each refusal advises, one command after the other, until the refused command succeeds."""
    command = [filled(word, fillings) for word in situation.command]
    advised: list[str] = []
    for _ in range(ROUNDS):
        done = installation.ragq(*command)
        if done.exit_code == 0:
            break
        assert done.exit_code == 1, done.stderr
        for line in commands_in(done.stderr):
            advised.append(line)
            written = shlex.split(filled(line, fillings))
            assert not _PLACEHOLDER.fullmatch(written[-1]), f"Nothing to fill in {line}"
            step = installation.ragq(*written[1:])
            assert step.exit_code == 0, f"{line}\n{step.stderr}"
            installation.wait_until(f"SELECT count(*) = 0 FROM job WHERE status IN {OPEN_JOBS}")
            if installation.ragq(*command).exit_code == 0:
                break
    assert installation.ragq(*command).exit_code == 0, advised
    assert any(re.sub(r"--split \S+/", "--split ", line).startswith(situation.advised) for line in advised), advised
    return advised


INDEXES = {
    "there is only the index of another profile": Situation(
        (*FEW_SHOT, "--profile", "paper"), "ragq index references --split paper-train --profile paper"
    ),
    "the index of another profile has other chunks": Situation(
        (*FEW_SHOT, "--profile", "paper-parity", "--set", "EMBEDDING_CHUNK_SIZE=5"),
        "ragq index references --split paper-train --profile paper-parity --set EMBEDDING_CHUNK_SIZE=5",
    ),
    "the chunks have no scores": Situation(
        (*FEW_SHOT, "--set", "EMBEDDING_REFERENCE_SCORE_SOURCE=chunk"), "ragq index chunk-scores"
    ),
}


@pytest.mark.parametrize("situation", INDEXES.values(), ids=INDEXES)
def test_a_refused_search_of_references_succeeds_after_its_remedy(
    served: Installation, situation: Situation, fillings: dict[str, str]
) -> None:
    assert_remedied(served, situation, fillings)


NOTHING_STORED = {
    "the split is unknown": Situation(
        ("submit", "--split", "paper-test", "--zero-shot-only"), "ragq import participants DIR"
    ),
    "the participant is unknown": Situation(
        ("submit", "--participants", "316", "--zero-shot-only"), "ragq import participants DIR"
    ),
    "the split of an index is unknown": Situation(
        ("index", "references", "--split", "paper-train"), "ragq import participants DIR"
    ),
}


@pytest.mark.parametrize("situation", NOTHING_STORED.values(), ids=NOTHING_STORED)
def test_a_request_for_what_is_not_stored_succeeds_after_its_import(
    empty: Installation, situation: Situation, fillings: dict[str, str]
) -> None:
    assert_remedied(empty, situation, fillings)


def test_phrases_are_accepted_once_the_vocabulary_is_imported_and_has_its_models(
    empty: Installation, fillings: dict[str, str]
) -> None:
    command = ("submit", "--phrases", "PHRASES", "--vocabulary", "clothes", "--until", "validate")
    fillings = fillings | {"DIR": fillings["TAGS"]}

    advised = assert_remedied(empty, Situation(command, "ragq import tags DIR --name clothes"), fillings)

    assert "ragq index tags clothes" in advised
    assert_fork_is_remedied(empty, "PSQ_SIMILARITY=original", fillings)
    # As a vocabulary of an earlier version has it.
    empty.rows("UPDATE vocabulary SET similarity_digest = NULL RETURNING id")
    fused = (*command, "--set", "PSQ_SIMILARITY=fused")
    refused = empty.ragq(*(filled(word, fillings) for word in fused))
    assert commands_in(refused.stderr) == ["ragq index tags clothes"]
    assert empty.ragq("import", "tags", fillings["DIR"], "--name", "clothes").exit_code == 0
    assert_remedied(empty, Situation(fused, "ragq index tags clothes"), fillings)


def test_questions_are_accepted_once_works_are_embedded_and_of_another_corpus_after_a_refused_fork(
    empty: Installation, ollama: ScriptedOllama, fillings: dict[str, str]
) -> None:
    asked = ("submit", "--query", QUESTION, "--corpus", "my shelf", "--no-expand", "--until", "retrieve")
    assert_remedied(empty, Situation(asked, "ragq import works PATH --corpus 'my shelf'"), fillings)
    assert empty.ragq("import", "works", fillings["PATH"], "--corpus", "other", "--wait").exit_code == 0
    assert empty.ragq(*asked, "--corpus", "other", "--wait").exit_code == 0
    excluded = empty.ragq(*asked, "--where", "year>3000")
    assert excluded.exit_code == 1
    assert [empty.ragq(*shlex.split(line)[1:]).exit_code for line in commands_in(excluded.stderr)] == [0]

    assert_fork_is_remedied(empty, f"MODEL_EMBEDDING_MODEL={ollama.model().name}", fillings)


def assert_fork_is_remedied(installation: Installation, assignment: str, fillings: dict[str, str]) -> None:
    """The newest run is not forked over a setting, and what the refusal prints submits it again with that setting."""
    run_id = installation.value("SELECT max(id) FROM run")
    installation.wait_for(run_id)
    refused = installation.ragq("fork", f"r{run_id}", "--from", "retrieve", "--set", assignment)
    assert refused.exit_code == 1
    show, *steps = _COMMAND.findall(" ".join(refused.stderr.split()))
    file = Path(fillings["PHRASES"]).with_name(f"r{run_id}.toml")
    file.write_text(installation.ragq(*shlex.split(show)[1:]).stdout)
    for line in steps:
        written = filled(line, fillings).replace(file.name, str(file))
        # The harness ends a submission elsewhere unless it is told.
        until = ("--until", "retrieve") if "submit" in line else ()
        done = installation.ragq(*shlex.split(written)[1:], *until)
        assert done.exit_code == 0, f"{line}\n{done.stderr}"
    name, _, value = assignment.partition("=")
    again = installation.value("SELECT settings FROM run ORDER BY id DESC LIMIT 1")
    assert again[name]["value"] == value


def test_people_of_the_index_are_assessed_without_references_or_without_their_own(
    served: Installation, fillings: dict[str, str]
) -> None:
    command = ("submit", "--split", "paper-train", "--few-shot-only")

    refused = served.ragq(*command)

    assert refused.exit_code == 1
    (choice,) = re.findall(r"submit with (--[a-z-]+)", refused.stderr)
    assert choice == "--zero-shot-only"
    assert served.ragq("submit", "--split", "paper-train", choice).exit_code == 0


def test_a_model_that_the_server_lacks_is_asked_once_it_is_fetched_or_replaced(
    served: Installation, ollama: ScriptedOllama
) -> None:
    asked = ("--set", "QUANTITATIVE_EVIDENCE_EXTRACTOR=llm", "--set", "MODEL_QUANTITATIVE_MODEL=absent:1b")
    command = ("submit", "--participants", "316", "--zero-shot-only", *asked)

    refused = served.ragq(*command)

    assert refused.exit_code == 1
    (fetched,) = re.findall(r"`ollama pull ([^`]+)`", refused.stderr)
    assert served.ragq(*command, "--set", "MODEL_QUANTITATIVE_MODEL=gemma3:27b").exit_code == 0
    ollama.model(name=fetched)
    assert served.ragq(*command).exit_code == 0


def test_a_server_that_the_workers_do_not_ask_is_refused_until_it_is_no_longer_named(served: Installation) -> None:
    asked = ("--set", "QUANTITATIVE_EVIDENCE_EXTRACTOR=llm", "--set", "MODEL_QUANTITATIVE_MODEL=gemma3:27b")
    command = ("submit", "--participants", "316", "--zero-shot-only", *asked)

    refused = served.ragq(*command, "--new", OLLAMA_HOST="gpu")

    assert refused.exit_code == 1
    assert f"the running workers ask http://127.0.0.1:{served.ollama_port}" in refused.stderr
    assert "to use theirs, unset OLLAMA_HOST and choose the profile with --profile" in " ".join(refused.stderr.split())
    assert served.ragq(*command, "--new", "--profile", "demo", OLLAMA_HOST="").exit_code == 0


def test_a_fork_over_a_setting_of_the_index_names_commands_that_submit_it_again(
    served: Installation, tmp_path: Path
) -> None:
    run_id = served.submit(*FEW_SHOT[1:], "--until", "rerank")
    served.wait_for(run_id)
    refused = served.ragq("fork", f"r{run_id}", "--from", "rerank", "--set", "EMBEDDING_CHUNK_STEP=1")
    assert refused.exit_code == 1
    show, submit = _COMMAND.findall(" ".join(refused.stderr.split()))
    file = f"r{run_id}.toml"
    (tmp_path / file).write_text(served.ragq(*shlex.split(show)[1:]).stdout)
    resubmit = [*(str(tmp_path / word) if word == file else word for word in shlex.split(submit)[1:]), "--json"]
    lacking = served.ragq(*resubmit)
    assert "Where no index has it, the error names what builds one." in " ".join(refused.stderr.split())
    (index,) = _COMMAND.findall(" ".join(lacking.stderr.split()))
    assert served.ragq(*shlex.split(index)[1:]).exit_code == 0
    again = served.ragq(*resubmit)

    assert again.exit_code == 0, again.stderr
    assert (again.json["is_new"], again.json["changed_settings"]["EMBEDDING_CHUNK_STEP"]["value"]) == (True, 1)
