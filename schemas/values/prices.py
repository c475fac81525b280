"""What people pay for language models."""

from typing import Annotated

from pydantic import Field

from schemas.values.base import Value

Price = Annotated[float, Field(ge=0)]


class ModelPrice(Value):
    """The price of a model, per million tokens."""

    prompt: Price
    reply: Price


class Prices(Value):
    """A price file: what people pay, in their currency."""

    currency: str = Field(min_length=1, max_length=12, pattern=r"^[^\s\x00-\x1f]+$")
    models: dict[str, ModelPrice]
