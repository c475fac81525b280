"""A mistyped name is refused with the name that was probably meant."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.main import COMMANDS, cli
from cli.other_words import OtherWordsGroup
from store.corpora import corpora
from store.database import Connection
from store.references import interviews
from store.references.interviews import NewSplit
from store.vocabularies import vocabularies
from tests.cli.conftest import Ragq
from tests.cli.test_daic_woz_files import write_transcript
from tests.stages.tags.clothes import CLOTHES


async def store_names(connection: Connection) -> None:
    await corpora.make(
        connection,
        "shelf",
        backend="huggingface",
        model="tiny",
        dimension=2,
        embeds_headings=True,
    )
    await vocabularies.keep(connection, "wardrobe", CLOTHES)
    split = NewSplit(name="paper-test", csv_hash="c", ids_hash="i", participant_ids=[303])
    await interviews.keep_splits(connection, "data", [split])


@pytest.fixture
def named(ragq: Ragq, stored: Callable[..., Any], tmp_path: Path) -> Ragq:
    """`ragq` on a database with a name of every kind."""
    write_transcript(tmp_path / "data/transcripts", 303)
    assert ragq("import", "participants", "data").exit_code == 0
    stored(store_names)
    return ragq


def test_the_number_of_a_run_that_was_probably_meant_is_suggested(named: Ragq) -> None:
    assert named("submit", "--participants", "303", "--zero-shot-only").exit_code == 0

    for typed in ("run1", "r1,", "#1"):
        assert "Did you mean 'r1'?" in named("show", typed).stderr
        assert "Did you mean 'r1'?" in named("pause", typed).stderr
    assert "Did you mean" not in named("show", "no such run").stderr


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("sumbit", "Did you mean 'submit'?"),
        ("show r1 --jsno", "Did you mean '--json'?"),
        ("status", " ps' or"),
        ("List", " runs' or"),
        ("stop r1", " cancel'?"),
        ("delete r1", " purge' or"),
        ("query lsit", "Did you mean 'list'?"),
        ("import wroks", "Did you mean 'works'?"),
        ("import vocabulary topics/", "import tags'?"),
        ("import Corpus books/", "import works'?"),
        ("index vocabulary topics", "index tags'?"),
        ("report r1 --loss ab_nrom", "Did you mean 'abs_norm'?"),
        ("template show query_expansoin", "Did you mean 'query_expansion'?"),
        ("diff r1 r2 --mode zeroshot", "Did you mean 'zero_shot'?"),
        ("show j12", "'j12' is a job; `ragq inspect j12` shows it."),
        ("inspect r12", "'r12' is a run; `ragq show r12` lists its jobs."),
    ],
)
def test_commands_options_choices_and_ids_are_suggested(ragq: Ragq, typed: str, meant: str) -> None:
    done = ragq(*typed.split())

    assert (done.exit_code, meant in done.stderr) == (2, True), done.stderr


def test_other_words_lead_to_commands_that_exist() -> None:
    assert isinstance(cli, OtherWordsGroup)
    meant = {command.partition(" ")[0] for words in cli.other_words.values() for command in words.split(", ")}

    assert meant - COMMANDS.keys() == {"--help", "--version"}
    assert not cli.other_words.keys() & COMMANDS.keys()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("submit --split papr-test", "Did you mean 'paper-test'?"),
        ("splits show paper-tset", "Did you mean 'paper-test'?"),
        ("submit --participants 302", "Did you mean '303'?"),
        ("submit --participants 303 --zero-shot-only --until scoer", "Did you mean 'score'?"),
        ("submit --participants 303 --profile dmo", "Did you mean 'demo'?"),
        ("submit --participants 303 --set MODEL_TEMPERATRE=0", "did you mean MODEL_TEMPERATURE?"),
        ("submit --query why --corpus shlef", "Did you mean 'shelf'?"),
        ("corpus show Shelff", "Did you mean 'shelf'?"),
        ("preset show orignal", "Did you mean 'Original'?"),
        ("preset set Original retrieval.fusoin=rrf", "did you mean retrieval.fusion?"),
        ("vocabulary show wardrob", "Did you mean 'wardrobe'?"),
    ],
)
def test_names_that_are_stored_are_suggested(named: Ragq, typed: str, meant: str) -> None:
    assert meant in str(named(*typed.split()).exception)


def test_names_of_runs_are_suggested(named: Ragq) -> None:
    assert named("submit", "--participants", "303", "--zero-shot-only").exit_code == 0
    assert named("set", "r1", "--name", "baseline").exit_code == 0

    for typed in ("show basline", "retry baselien"):
        assert "Did you mean 'baseline'?" in named(*typed.split()).stderr


def test_nothing_is_suggested_for_a_name_that_is_near_none(named: Ragq) -> None:
    assert "Did you mean" not in str(named("corpus", "show", "encyclopaedia").exception)
