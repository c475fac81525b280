"""The recipes of docs/architecture.md, carried out on a copy of the product as they are written there."""

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from store.database import Database

ROOT = Path(__file__).parents[2]
PRODUCT = "schemas stages store services workers adapters stack cli api migrations ragq demo tests"
STEP = re.compile(r"^\*\*`([\w/.]+)`\*\*(.*?)^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

Followed = Callable[[str], tuple[list[str], Path]]


@pytest.fixture
def follow(tmp_path: Path) -> Followed:
    """Carries out a recipe. The files that it changes or adds, and the copy that has them."""
    for package in PRODUCT.split():
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))

    def carried_out(heading: str) -> tuple[list[str], Path]:
        text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
        recipe = re.split(r"^##+ ", text.split(f"\n### {heading}\n")[1], flags=re.MULTILINE)[0]
        steps = STEP.findall(recipe)
        for path, place, code in steps:
            take(tmp_path / path, place, code)
        return [path for path, *_ in steps], tmp_path

    return carried_out


def take(file: Path, place: str, code: str) -> None:
    """Put code into a file: at the end of the tuple, the table or the fields of the class that the place names, or of
    the file."""
    source = file.read_text(encoding="utf-8") if file.exists() else ""
    lines = source.splitlines(keepends=True)
    at = len(lines)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and f"in `{node.name}`" in place:
            at = max(field.end_lineno or 0 for field in node.body if isinstance(field, ast.AnnAssign)) + 1
        if isinstance(node, ast.AnnAssign) and f"in `{ast.unparse(node.target)}`" in place:
            at = max(table.end_lineno or 0 for table in ast.walk(node) if isinstance(table, ast.Dict)) - 1
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Tuple) and f"`({', '.join(map(json.dumps, ast.literal_eval(key)))})`" in place:
                    at, code = (value.end_lineno or 0) - 1, f"*{code.rstrip()},\n"
    file.write_text("".join([*lines[:at], code, *lines[at:]]), encoding="utf-8")


def said(folder: Path, *command: str, **environment: str) -> str:
    """What Python prints, in the copy."""
    variables = {"PYTHONPATH": str(folder), "PATH": "", "HOME": str(folder), "COLUMNS": "200"} | environment
    found = subprocess.run(
        [sys.executable, *command], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    return found.stdout + found.stderr


def test_four_files_make_a_stage_that_the_worker_runs(follow: Followed, database: Database) -> None:
    changed, folder = follow("Add a stage")

    printed = said(folder, "-m", "tests.docs.added_stage", database.url)

    assert len(changed) == 4
    assert json.loads(printed.splitlines()[-1]) == [
        "STORED",
        {"by_phrase": {"red dress": ["dress"], "coat": ["dress", "coat"]}},
    ]


def test_one_file_makes_a_setting(follow: Followed) -> None:
    changed, folder = follow("Add a setting")

    shown = said(folder, "-m", "ragq", "config", "show", "--set", "PSQ_SHORTEST_PHRASE=3")
    refused = said(folder, "-m", "ragq", "config", "show", PSQ_SHORTEST_PHRASE="0")

    assert changed == ["schemas/settings/run.py"]
    assert re.search(r"PSQ_SHORTEST_PHRASE\W+3\W", shown)
    assert "PSQ_SHORTEST_PHRASE is '0' (environment); allowed is a whole number from 1 up" in refused


def test_one_file_makes_a_field_of_a_request(follow: Followed) -> None:
    changed, folder = follow("Add a field of a request")
    schema = "import json; from api.rest.tags import TagsSubmission as T; print(json.dumps(T.model_json_schema()))"

    assert changed == ["schemas/values/requests.py"]
    assert re.search(
        r"--most-uses N +Only tags that are used at most so often", said(folder, "-m", "ragq", "submit", "-h")
    )
    assert "most_uses" in json.loads(said(folder, "-c", schema))["properties"]


def test_one_file_makes_a_column_of_a_listing(follow: Followed) -> None:
    changed, folder = follow("Add a column to a listing")
    drawn = (
        "from schemas.values.tags import Tag; from services.listings import TAGS; "
        "table = TAGS.table([Tag(name='coat')]); print(table.columns[-1], table.rows[0][-1])"
    )

    assert (changed, said(folder, "-c", drawn)) == (["services/listings.py"], "rated no\n")
