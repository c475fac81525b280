"""The base of every value."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value. Unknown fields are refused, so that a stored output of another version is never half-read."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants", allow_inf_nan=False)
