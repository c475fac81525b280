"""Rows as data frames: of pandas and polars through Arrow, which are optional, and as HTML in notebooks."""

import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any

from schemas.errors import Refused
from schemas.values.base import Value

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_SHOWN = 30


class Table:
    """A list of rows with the same columns. Numbers and times keep their type; other values are JSON in a string."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> None:
        names = dict.fromkeys([*columns, *(name for row in rows for name in row)])
        self.columns = tuple(names)
        self.rows = tuple({name: _plain(row.get(name)) for name in self.columns} for row in rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __repr__(self) -> str:
        return f"<ragq table: {len(self)} rows of {', '.join(self.columns)}>"

    def to_arrow(self) -> "pa.Table":
        """As an Arrow table. Needs pyarrow."""
        _need("pyarrow", "frames")
        import pyarrow as pa

        return pa.table({name: pa.array([row[name] for row in self.rows]) for name in self.columns})

    def to_pandas(self) -> "pd.DataFrame":
        """As a data frame of pandas. Needs pandas."""
        _need("pandas", "pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> "pl.DataFrame":
        """As a data frame of polars. Needs polars."""
        _need("polars", "polars")
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_words(row[name]))}</td>" for name in self.columns) + "</tr>"
            for row in self.rows[:_SHOWN]
        )
        more = f"<p>{len(self) - _SHOWN} more rows</p>" if len(self) > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def rows_of(values: Sequence[Any]) -> list[dict[str, Any]]:
    """Values or dataclasses as rows."""
    return [value.model_dump() if isinstance(value, Value) else asdict(value) for value in values]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | datetime):
        return value
    if isinstance(value, str):
        return str(value)
    return json.dumps(value, default=_jsonable)


def _jsonable(value: Any) -> Any:
    if isinstance(value, Value):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def _words(value: Any) -> str:
    if value is None:
        return "N/A"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else str(value)


def _need(package: str, extra: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise Refused(f"{package} is not installed. `pip install 'ragq[{extra}]'` installs it.")
