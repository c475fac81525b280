"""`ragq audit`: whether anything that was stored has changed since."""

from pathlib import Path

import click

from cli.drawing import Text
from cli.ids import RUN
from cli.output import draw, json_option, print_json
from cli.session import with_database
from schemas.errors import Refused
from services.anchors import AuditedRun, anchor_text, audit_runs, read_anchor
from stages.reports.numbers_in_words import counted
from store.runs.audit import PROVES


@click.command()
@click.argument("run_ids", metavar="[RUN]...", type=RUN, nargs=-1)
@click.option(
    "--anchor",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Check against this file of heads; if there is none yet, write it, unless the audit finds a flaw.",
)
@json_option
def audit(run_ids: tuple[int, ...], anchor: Path | None, as_json: bool) -> None:
    """Recompute every hash of these runs, or of all: settings, outputs, vectors, requests, the chains of attempts.

    Exit code 1 when one differs. The hashes find a change that was made without them; somebody who can write to the
    whole database can compute new ones. An anchor finds that too: a file with the newest hash of each run, to be kept
    where that person cannot write. It also covers the replies of language models. Of a run that was purged, it shows
    what is gone since when.

    \b
    Example:
        ragq audit r12
        ragq audit --anchor anchor-2026-11.json
    """
    kept = read_anchor(_text(anchor)) if anchor is not None and anchor.exists() else None
    audited, now = with_database(lambda connection: audit_runs(connection, run_ids, kept))
    has_flaws = any(one.flaws for one in audited)
    is_written = anchor is not None and kept is None and not has_flaws
    if is_written:
        assert anchor is not None
        anchor.write_text(anchor_text(now), encoding="utf-8")
    if as_json:
        print_json(_as_json(audited, checked=kept is not None, written=is_written))
    else:
        _print(audited)
        if is_written:
            draw(f"The heads of {counted(len(now.heads), 'run')} are in {anchor}. Keep it elsewhere.", err=True)
        draw(Text(PROVES, "dim"), err=True)
    if has_flaws:
        raise SystemExit(1)


def _text(anchor: Path) -> str:
    try:
        return anchor.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{anchor} cannot be read ({type(error).__name__}).") from None


def _as_json(audited: list[AuditedRun], *, checked: bool, written: bool) -> dict[str, object]:
    return {
        "attempts": sum(one.attempts for one in audited),
        "flaws": [{"run": one.run, **flaw._asdict()} for one in audited for flaw in one.flaws],
        "purged": [{"run": one.run, "what": what} for one in audited for what in one.purged],
        "anchor": "checked" if checked else "written" if written else None,
        "proves": PROVES,
    }


def _print(audited: list[AuditedRun]) -> None:
    for one in audited:
        for what in one.purged:
            click.echo(what)
        for flaw in one.flaws:
            click.echo(str(flaw) if len(audited) == 1 else f"{one.run}: {str(flaw).removeprefix(f'{one.run}: ')}")
    attempts, flaws = sum(one.attempts for one in audited), sum(len(one.flaws) for one in audited)
    runs = "" if len(audited) == 1 else f" of {counted(len(audited), 'run')}"
    click.echo(f"{counted(attempts, 'attempt')}{runs} checked, {counted(flaws, 'flaw')}.")
