"""The prices of language models, from a file."""

import tomllib
from pathlib import Path

from pydantic import ValidationError

from schemas.errors import Refused
from schemas.settings.process import ProcessSettings
from schemas.values.prices import Prices

_LARGEST = 1024 * 1024

_EXAMPLE = 'currency = "EUR"\n[models."gemma3:27b"]\nprompt = 0.10\nreply = 0.20'
"""Prices per million tokens; the numbers are an example."""


def read_prices(file: Path) -> Prices:
    """The prices of a TOML file. Raises Refused for a file that has none, with what is wrong."""
    try:
        if file.stat().st_size > _LARGEST:
            raise Refused(f"{file} is larger than {_LARGEST} bytes, which no price file is.")
        return Prices.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"The price file {file} cannot be read ({type(error).__name__}).") from None
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"The price file {file} is not TOML: {error}.") from None
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5])
        raise Refused(f"The price file {file} cannot be used: {problems}. It looks like this:\n{_EXAMPLE}") from None


def prices_of(settings: ProcessSettings) -> Prices | None:
    """The prices of the file that RAGQ_PRICES names; None where it is unset."""
    return None if settings.ragq_prices is None else read_prices(settings.ragq_prices)
