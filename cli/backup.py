"""`ragq backup` and `ragq restore`: everything that is stored, in one file."""

import os
from pathlib import Path

import click

from cli.output import json_option, print_result
from cli.session import unavailable
from schemas.settings.layers import ENV_FILE, merged
from services import backups
from stages.reports.numbers_in_words import counted
from store.database import UNAVAILABLE_ERRORS

_FILE = click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))


@click.command()
@_FILE
@json_option
def backup(path: Path, as_json: bool) -> None:
    """Write everything that is stored to a new file, while workers go on.

    The file has transcripts, questions, prompts and answers, and its owner alone may read it: keep it as you keep the
    data. Broker, ports and passwords of servers are not in it; nothing of them is needed.

    \b
    Example:
        ragq backup ragq.dump
    """
    try:
        done = backups.back_up(merged(os.environ, ENV_FILE), path)
    except UNAVAILABLE_ERRORS as error:
        raise unavailable(error) from error
    words = f"Wrote {done.bytes / 1e6:.1f} MB with {counted(done.runs, 'run')} to {done.file}."
    print_result(done, words, as_json=as_json)


@click.command()
@_FILE
@click.option("--replace", is_flag=True, help="Delete what is stored there.")
@json_option
def restore(path: Path, replace: bool, as_json: bool) -> None:
    """Fill an empty database from a file that `ragq backup` wrote, also one of an older version.

    Stages that ran when it was written start again when workers are there.

    \b
    Example:
        ragq up --no-workers
        ragq restore ragq.dump
        ragq up
    """
    try:
        done = backups.restore(merged(os.environ, ENV_FILE), path, replace=replace)
    except UNAVAILABLE_ERRORS as error:
        raise unavailable(error) from error
    words = f"Restored {counted(done.runs, 'run')} from {done.file}. `ragq up` starts the workers."
    print_result(done, words, as_json=as_json)
