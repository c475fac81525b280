"""`ragq import works --language`: what is found."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ragq

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
