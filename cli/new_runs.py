"""What commands that store runs have in common: `--dry-run` and `--wait`."""

from collections.abc import Sequence
from typing import Any

import click

from cli.main import carry_out
from cli.options import Decorator, together
from cli.output import json_option, print_result

dry_run_option = click.option(
    "--dry-run",
    is_flag=True,
    help="Print jobs, model calls, tokens, time, money, and why it would be refused. Nothing is stored or sent.",
)


def run_options(what: str) -> Decorator:
    """--dry-run, --wait and --json, as `dry_run`, `wait` and `as_json`."""
    follow = click.option("--wait", is_flag=True, help=f"Follow the {what} until it finishes.")
    return together(dry_run_option, follow, json_option)


def conclude(stored: Sequence[Any], *, wait: bool, as_json: bool, **also: Any) -> None:
    """Follow stored runs to their end, or print them: one JSON object, or an array of several."""
    if wait:
        carry_out("watch", run_ids=[one.run_id for one in stored], results=True, as_json=as_json)
        return
    runs = [{"run": f"r{one.run_id}", **also, **vars(one)} for one in stored]
    print_result(runs if len(runs) > 1 else runs[0], "\n".join(f"r{one.run_id}" for one in stored), as_json=as_json)
