from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Le
from pydantic import Field, TypeAdapter

from schemas.settings.base import (
    Given,
    Layer,
    SettingSource,
    allowed_values,
    file_layer,
    given_in,
    outside_layers,
)
from schemas.settings.run import RUN_SETTINGS


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (bool, "true or false"),
        (Literal["a", "b"], "a or b"),
        (Annotated[int, Ge(0)], "a whole number from 0 up"),
        (Annotated[float, Gt(0)], "a number above 0"),
        (Annotated[float, Ge(0.5), Le(1.0)], "a number from 0.5 to 1"),
        (float, "a number"),
        (Annotated[str, Field(json_schema_extra={"allowed": "a list"})], "a list"),
    ],
)
def test_allowed_values_are_described_in_words(annotation: Any, words: str) -> None:
    assert allowed_values(TypeAdapter(annotation).json_schema()) == words


def test_a_later_layer_wins() -> None:
    low = Layer(SettingSource.FILE, "file .env", {"MODEL_JUDGE_MODEL": "low", "MODEL_EMBEDDING_MODEL": "low"})
    high = Layer(
        SettingSource.ENVIRONMENT, "environment", {"MODEL_JUDGE_MODEL": "high", "MODEL_PLANE": "other program"}
    )

    assert given_in([low, high], RUN_SETTINGS) == {
        "MODEL_JUDGE_MODEL": Given("high", high),
        "MODEL_EMBEDDING_MODEL": Given("low", low),
    }


def test_a_file_is_read_as_python_dotenv_reads_it(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("\ufeff# models\nexport A='one # two' # three\nB=${A}!\nC=\nD\n", encoding="utf-8")

    layer = Layer(SettingSource.FILE, f"file {path}", {"A": "one # two", "B": "one # two!", "C": "", "D": ""})
    assert file_layer(path) == (layer, [])


def test_a_broken_line_is_named_by_its_number_and_not_shown(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("A=1\nKEY 'sk-secret\nB=2\n")

    assert file_layer(path) == (
        Layer(SettingSource.FILE, f"file {path}", {"A": "1", "B": "2"}),
        [f"file {path}, line 2 is not of the form NAME=VALUE."],
    )


def test_the_file_is_passed_over_while_testing(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("A=1\n")

    sources = [layer.source for layer in outside_layers({"TESTING": "1"}, path)[0]]

    assert sources == [SettingSource.ENVIRONMENT]
