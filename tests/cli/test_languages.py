"""`ragq import works --language`: found, chosen, and fixed; questions to several corpora, and to some works."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from store.database import Connection
from tests.cli.conftest import Ragq, Stored
from tests.store.small_corpora import SearchableChunk, store_corpus

PLAIN = ("--profile", "demo")
TEXTS = {
    "german": "Die Häuser standen an den Straßen. Das war z. B. in der alten Stadt so, und die Leute waren froh.",
    "french": "Les feuilles sont cueillies au printemps, puis elles sont séchées avant la vente sur le marché.",
    "russian": "Листья собирают весной, а потом сушат на солнце, и только после этого продают на рынке.",
    "polish": "Liście zbiera się wiosną, a potem suszy się je na słońcu, zanim są sprzedawane na rynku.",
}


def work(folder: Path, text: str) -> str:
    file = folder / "work.md"
    file.write_text(f"# Titel\n\n{text}\n")
    return str(file)


def shown(ragq: Ragq, name: str) -> Any:
    return json.loads(ragq("corpus", "show", name, "--json").stdout)


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_a_new_corpus_is_found_in_its_first_works(ragq: Ragq, tmp_path: Path, language: str) -> None:
    done = ragq("import", "works", work(tmp_path, TEXTS[language]), "--corpus", "new", "--json", *PLAIN)

    corpus = shown(ragq, "new")
    assert json.loads(done.stdout)["language"] == language
    assert (corpus["language"], corpus["full_text"]) == (language, "simple" if language == "polish" else language)
    words = " ".join(ragq("corpus", "show", "new").stdout.split())
    assert f"language {language}" in words
    assert ("has no dictionary here" in words) == (language == "polish")


@pytest.fixture
def shelves(stored: Stored) -> None:
    """Two corpora, of one work each."""

    async def store(connection: Connection) -> None:
        for number, name in ((1, "shelf"), (2, "archive")):
            await store_corpus(connection, [SearchableChunk(number, "tea", np.ones(2, dtype=np.float32))], name=name)
        await connection.execute("UPDATE works SET authors = 'A. Leaf', year = 2019")

    stored(store)


BOTH = ("--corpus", "shelf", "--corpus", "archive")


def test_the_configuration_of_such_a_run_submits_it_again(ragq: Ragq, shelves: None, tmp_path: Path) -> None:
    done = ragq("submit", "--query", "Why?", *BOTH, "--where", "author=leaf", "--profile", "demo", "--json")
    run = json.loads(done.stdout)["run"]
    (tmp_path / "run.toml").write_text(ragq("show", run, "--config").stdout)

    again = ragq("submit", "--config", "run.toml", "--query", "Why?", "--json")

    assert again.exit_code == 0, again.exception
    assert json.loads(again.stdout)["run"] == run
