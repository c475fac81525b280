from pathlib import Path
from typing import Annotated, Any

import pytest
from annotated_types import Ge, Gt, Le
from pydantic import Field, TypeAdapter

from schemas.settings.base import Layer, SettingSource, allowed_values, file_layer, outside_layers


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (bool, "true or false"),
        (Annotated[int, Ge(0)], "a whole number from 0 up"),
        (Annotated[float, Gt(0)], "a number above 0"),
        (Annotated[float, Ge(0.5), Le(1.0)], "a number from 0.5 to 1"),
        (float, "a number"),
        (Annotated[str, Field(json_schema_extra={"allowed": "a list"})], "a list"),
    ],
)
def test_allowed_values_are_described_in_words(annotation: Any, words: str) -> None:
    assert allowed_values(TypeAdapter(annotation).json_schema()) == words


def test_a_file_is_read_as_python_dotenv_reads_it_and_a_broken_line_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("\ufeff# models\nexport A='one # two' # three\nB=${A}!\nKEY 'sk-secret\nC=\nD\n", encoding="utf-8")

    assert file_layer(path) == (
        Layer(f"file {path}", {"A": "one # two", "B": "one # two!", "C": "", "D": ""}, SettingSource.FILE),
        [f"file {path}, line 4 is not of the form NAME=VALUE."],
    )
    sources = [layer.source for layer in outside_layers({"TESTING": "1"}, path)[0]]
    assert sources == [SettingSource.ENVIRONMENT]
