"""Times in JSON that end in `Z`."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any


def with_utc_times(value: Any) -> Any:
    """What `print_json` takes, with dataclasses as objects and each UTC time ending in `Z`, as in JSON of the API."""
    if is_dataclass(value):
        return {field.name: with_utc_times(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: with_utc_times(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_utc_times(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value
