"""Price files: what people pay for models."""

import tomllib
from typing import Final

from pydantic import ValidationError

from schemas.errors import Refused
from schemas.settings.process import ProcessSettings
from schemas.values.costs import Prices

_LARGEST: Final = 1024 * 1024
_EXAMPLE: Final = 'currency = "EUR"\n[models."gemma3:27b"]\nprompt = 0.10\nreply = 0.20'


def prices_of(settings: ProcessSettings) -> Prices | None:
    """The prices of the TOML file that RAGQ_PRICES names; None where it is unset.

    Raises Refused for a file that has none, with what is wrong.
    """
    if (file := settings.ragq_prices) is None:
        return None
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
