"""The option that names a price file."""

import os
from pathlib import Path

import click

from schemas.settings.layers import ENV_FILE, merged
from schemas.settings.process import ProcessSettings
from schemas.values.prices import Prices
from services.prices import prices_of, read_prices

prices_option = click.option(
    "--prices",
    "price_file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file of prices per million tokens, by model.  [default: RAGQ_PRICES]",
)


def chosen_prices(file: Path | None) -> Prices | None:
    """The prices of the option, or of RAGQ_PRICES; None without either. Raises SettingsError for a misspelt setting."""
    if file is None and not any(
        name.startswith("RAGQ_") for name in merged(os.environ, ENV_FILE).keys() - {"RAGQ_HOME"}
    ):
        return None
    return prices_of(ProcessSettings.from_environment(os.environ, ENV_FILE)) if file is None else read_prices(file)


def refuse_prices(file: Path | None) -> None:
    """Raise UsageError where a price file was named and nothing is estimated."""
    if file is not None:
        raise click.UsageError("--prices goes with --dry-run; `ragq show RUN --prices FILE` has what a run cost.")
