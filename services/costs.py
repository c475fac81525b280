"""The cost of a run of any kind."""

import tomllib
from pathlib import Path

from pydantic import ValidationError

from schemas.errors import Refused
from schemas.settings.process import ProcessSettings
from schemas.values.estimates import Prices, RunCost
from stages.reports.costs import run_cost
from store.database import Connection
from store.runs import call_costs


async def cost_of_run(
    connection: Connection, run_id: int, prices: "Prices | None" = None, *, by_job: bool = False
) -> RunCost:
    """The cost of a run up to now, on request of each of its jobs too."""
    attempts = await call_costs.stage_work(connection, run_id, by_job=by_job)
    calls = await call_costs.stage_calls(connection, run_id, by_job=by_job)
    retried = await call_costs.retried_stages(connection, run_id)
    return run_cost(attempts, calls, retried, await call_costs.copied_stages(connection, run_id), prices)


_LARGEST = 1024 * 1024


_EXAMPLE = 'currency = "EUR"\n[models."gemma3:27b"]\nprompt = 0.10\nreply = 0.20'


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
