"""`ragq up`, `down`, `status`, `worker` and `api`: start, stop and show the stack."""

import os
import socket
import sys
from collections.abc import Collection, Sequence
from typing import NoReturn

import click

from cli.config import servers, with_database
from cli.options import Choice, warn_of_names
from cli.output import FittingTable, Text, draw, print_json, print_text
from schemas.chains import QUEUES, queues_named
from schemas.errors import Refused, StackError
from schemas.settings.base import ENV_FILE, merged
from schemas.settings.process import ProcessSettings
from services.doctor import Verdict, examine
from stack.connections import connections
from stack.home import Home, find_home, write_private
from stack.lifecycle import PartStatus, status
from stack.lifecycle import down as bring_down
from stack.lifecycle import up as bring_up
from stack.parts import ORDER, api_command, worker_command
from stack.ports import holder, is_free, other_users
from stack.probes import broker_answers
from stack.supervision import HEARTBEATS, SUPERVISOR
from stages.reports.tables import UI
from stages.reports.words import duration
from store import access
from store.migrate import upgrade
from store.runs import problems as problems_of
from store.runs.problems import ProblemKind, RunProblem
from workers.app import make_app

#: `python -m` looks into the working folder first, where another project may have packages of these names.
_SAFE_PATH = {"PYTHONSAFEPATH": "1"}
#: The name of the token that `ragq up` makes.
OWNERS_TOKEN = "owner"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the parts as JSON.")
@click.option("--no-workers", is_flag=True, help="Start the servers alone; `ragq worker` runs workers elsewhere.")
@click.option("--no-api", is_flag=True, help="Leave the API and its pages out.")
@click.option("--no-flower", is_flag=True, help="Leave the monitor out.")
@click.option(
    "--timeout", "timeout_s", default=120.0, show_default=True, help="Seconds that the parts may take to be healthy."
)
def up(as_json: bool, no_workers: bool, no_api: bool, no_flower: bool, timeout_s: float) -> None:
    """Start Postgres, the broker, the language model, workers, the API and Flower, and wait until all are healthy.

    Servers named by DATABASE_URL, REDIS_URL and OLLAMA_HOST are used as they are; the others are started on this
    machine, on loopback, with their data under RAGQ_HOME. What runs already is left alone. Settings are read when a
    worker starts: after a change, run `ragq down` and `ragq up`. RAGQ_API_PORT and RAGQ_FLOWER_PORT choose the ports of
    pages and monitor.

    Where other people have an account on this machine, a token of the API is made, so that they cannot use it: the
    address that is printed then logs a browser in, and the file api.token in RAGQ_HOME keeps the token. RAGQ_API_OPEN=1
    leaves the API open to them.

    \b
    Example:
      ragq up
      ragq up --no-workers --json
    """
    warn_of_names()
    environment = _environment()
    settings = ProcessSettings.from_environment(os.environ, ENV_FILE)
    others = [] if settings.ragq_api_open else other_users()
    made: list[str] = []

    def migrate(url: str) -> None:
        upgrade(url)
        if others and not no_api:
            made.extend(_token_for_owner(home))

    home = find_home(environment)
    parts = bring_up(
        home,
        environment,
        workers=not no_workers,
        api=not no_api,
        flower=not no_flower,
        timeout_s=timeout_s,
        settings=settings,
        migrate=migrate,
        ping=ping_workers,
        report=_report,
    )
    if as_json:
        print_json(parts)
    else:
        _show(parts)
    state = home.read_state()
    if state and state.api_url:
        _report(_pages(state.api_url, home, made, others, is_open=not with_database(access.any_live)))
    if state and state.flower_url:
        _report(f"Flower: {state.flower_url} (user ragq, password file: {home.flower_password})")


@click.command()
def down() -> None:
    """Stop what `ragq up` started.

    Workers finish the stages they hold, for RAGQ_STOP_SECONDS at most; a stage that is cut off starts again when
    workers are back. Data is kept.

    \b
    Example:
      ragq down
    """
    home = find_home(_environment())
    if not bring_down(home, _report):
        _report(f"Nothing runs in {home.folder}.")


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: `parts` and `problems`.")
@click.pass_context
def status_command(context: click.Context, as_json: bool) -> None:
    """Show the parts of the stack, and what is wrong now in all runs: since when, why, and the command that helps.

    Listed are jobs whose queue no worker takes or whose broker does not answer, stages whose worker was lost, failed
    and paused jobs, and jobs that wait for a retry or for a language model that takes no calls. Jobs that only wait
    their turn are not. Exits with 1 when the database or a part does not answer, or anything is listed but questions
    that their corpus does not answer.

    \b
    Example:
      ragq status
      ragq status --json
    """
    parts = status(find_home(_environment()), ping_workers)
    found: list[RunProblem] | None = None
    try:
        is_broker_away = not broker_answers(servers().redis_url)
        found = with_database(problems_of.problems, is_broker_away=is_broker_away)
    except StackError as error:
        _report(str(error))
    if as_json:
        print_json({"parts": parts, "problems": found})
    else:
        _show(parts)
        _show_problems(found)
    is_wrong = found is None or any(one.what is not ProblemKind.NOTHING_FOUND for one in found)
    if is_wrong or not all(part.healthy for part in parts):
        context.exit(1)


def _show_problems(found: Sequence[RunProblem] | None) -> None:
    if found == []:
        _report("Nothing is wrong.")
    if not found:
        return
    table = FittingTable("problem", "run", "stage", "jobs", "since", "why", "remedy")
    for one in found:
        since = one.since and f"{one.since.astimezone():%Y-%m-%d %H:%M}"
        until = "" if one.until is None else f" Until {one.until.astimezone():%H:%M:%S}."
        why = f"{one.reason or ''}{until}"
        table.add_row(one.what, f"r{one.run_id}", one.stage, one.jobs, since, why, one.remedy)
    draw(table)


@click.command()
@click.option(
    "--stages",
    metavar="NAME,NAME",
    help="Stages to work on; `model` means those that run models here, `llm` those that wait for a language model.  "
    "[default: all]",
)
@click.option(
    "--concurrency", type=click.IntRange(min=1), default=16, show_default=True, help="Stages worked on at a time."
)
def worker(stages: str | None, concurrency: int) -> NoReturn:
    """Run a worker in the foreground, on this machine or another.

    It uses DATABASE_URL, REDIS_URL and OLLAMA_HOST, or else the running stack. Ctrl-C lets it finish the stages
    it holds, for RAGQ_STOP_SECONDS at most; others start again elsewhere. On many cores, start several.

    \b
    Example:
      ragq worker --stages embed,rerank --concurrency 32
      ragq worker --stages validate,score --concurrency 32
    """
    warn_of_names()
    try:
        chosen = queues_named([name.strip() for name in stages.split(",")]) if stages else QUEUES
    except Refused as error:
        raise click.BadParameter(str(error), param_hint="--stages") from None
    # The process keeps its id through exec, so the name is this worker's alone.
    command = worker_command(f"worker-{os.getpid()}", chosen, concurrency)
    _become(command, _environment() | connections(_environment()).environment())


@click.command()
@click.option("--host", help="Address to listen on.  [default: RAGQ_API_HOST, else 127.0.0.1]")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on.  [default: RAGQ_API_PORT, else 8420]")
def api(host: str | None, port: int | None) -> NoReturn:
    """Run the API and its pages in the foreground.

    They use DATABASE_URL and REDIS_URL, or else the running stack. Local access needs no
    token until `ragq token create` has made the first one. Off loopback they do not start without a token.

    \b
    Example:
      ragq api --port 8080
      ragq token create laptop && ragq api --host 0.0.0.0
    """
    warn_of_names()
    environment = _environment()
    options = {"RAGQ_API_HOST": host, "RAGQ_API_PORT": None if port is None else str(port)}
    environment |= {name: value for name, value in options.items() if value is not None}
    settings = ProcessSettings.from_environment(environment)
    if not is_free(settings.ragq_api_port):
        raise StackError(
            f"The API cannot listen on port {settings.ragq_api_port}: {holder(settings.ragq_api_port)} holds it. "
            "Choose another with --port."
        )
    _become(api_command(), _with_servers(environment))


@click.command()
@click.option(
    "--sensitive",
    is_flag=True,
    help="Offer read_stage too, which sends text of transcripts, prompts and replies to the client and its model.",
)
def mcp(sensitive: bool) -> NoReturn:
    """Serve tools of the Model Context Protocol (MCP) on standard input and output.

    A client such as an assistant or an editor starts this command. Its tools search a corpus, ask questions, submit
    and retry runs, and show what happened. No tool deletes. A running API serves the same tools at /mcp.

    \b
    Example:
      ragq mcp
      ragq mcp --sensitive

    \b
    In a client's configuration:
      {"mcpServers": {"ragq": {"command": "ragq", "args": ["mcp"]}}}
    """
    command = [sys.executable, "-m", "api.stdio", *(["--sensitive"] if sensitive else [])]
    _become(command, _with_servers(_environment()))


def ping_workers(redis_url: str, names: Collection[str]) -> set[str]:
    """The workers of this machine, out of `names`, that answer within a second; none without a broker."""
    # Celery would try a broker that is away for several seconds.
    if not broker_answers(redis_url):
        return set()
    nodes = [f"{name}@{socket.gethostname()}" for name in names]
    with make_app(redis_url) as app:
        replies = app.control.ping(nodes, timeout=1.0, limit=len(nodes)) or []
    return {node.partition("@")[0] for reply in replies for node in reply}


def _token_for_owner(home: Home) -> list[str]:
    """A new token of the API, kept in the folder of the stack; none where there is a live one."""
    if with_database(access.any_live):
        return []
    secret, _ = with_database(access.create, OWNERS_TOKEN, access.Scope.WRITE)
    write_private(home.api_token, f"{secret}\n")
    return [secret]


def _pages(url: str, home: Home, made: list[str], others: list[str], *, is_open: bool) -> str:
    if made:
        return (
            f"Pages: {url}{UI}/login#{made[0]}\nThis address logs you in. Other users of this machine need a token "
            f"({', '.join(others[:3])}{' ...' if others[3:] else ''}); yours is in {home.api_token}."
        )
    if is_open:
        return f"Pages: {url}/rag\nOpen to every user of this machine until `ragq token create NAME` makes a token."
    kept = f", such as that in {home.api_token}" if home.api_token.exists() else ""
    return f"Pages: {url}/rag (for tokens{kept})"


def _environment() -> dict[str, str]:
    """The variables of the environment over those of the .env file, as every command reads them."""
    return {**os.environ, **merged(os.environ, ENV_FILE)}


def _with_servers(environment: dict[str, str]) -> dict[str, str]:
    # A model of the running stack is not named: the profile of what is submitted would change with it.
    servers = connections(environment)
    return environment | {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url}


def _become(command: list[str], environment: dict[str, str]) -> NoReturn:
    """Replace this process by a command that takes ragq's packages from where they are installed."""
    os.execvpe(command[0], command, environment | _SAFE_PATH)


def _report(line: str) -> None:
    print_text(line, err=True)


def _show(parts: Sequence[PartStatus]) -> None:
    table = FittingTable("part", "state", "health", "pid", "port", "uptime", "log")
    for one in parts:
        health = "healthy" if one.healthy else "unhealthy"
        uptime = None if one.uptime_s is None else duration(one.uptime_s)
        table.add_row(one.name, one.state, health, one.pid, one.port, uptime, one.log)
    if parts:
        draw(table)


_COLOURS = {Verdict.OK: "green", Verdict.WARN: "yellow", Verdict.FAIL: "red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array: name, verdict, found and remedy of each.")
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Check everything that ragq needs here, with the remedy of what is wrong.

    Versions, settings and the profile of a submission, the embedded stack, Postgres, pgvector and the
    tables, the broker, workers, the language model server and the models that a submission would ask, the embedder,
    pages, Flower and the disk. All are asked at the same time; nothing is changed.

    Exit codes: 0 nothing fails, 1 something does.

    \b
    Example:
      ragq doctor
      ragq doctor --json
    """
    found = examine(_environment())
    if as_json:
        print_json([one._asdict() for one in found])
    else:
        for one in found:
            words = f" {one.name:<15} {one.found}" + (f". {one.remedy}" if one.remedy else "")
            print_text(Text.assemble((f"{one.verdict:<5}", _COLOURS[one.verdict]), words))
    if any(one.verdict is Verdict.FAIL for one in found):
        context.exit(1)


PARTS = (*ORDER, SUPERVISOR, HEARTBEATS)


@click.command()
@click.argument("part", required=False, type=Choice(PARTS), metavar="[PART]")
@click.option(
    "--lines", type=click.IntRange(min=0), default=20, show_default=True, help="Lines of the end of each log."
)
@click.option("--follow", "-f", is_flag=True, help="Print what is added, until Ctrl-C.")
def logs(part: str | None, lines: int, follow: bool) -> NoReturn:
    """Show the end of the logs of the embedded stack: of one part, or of all.

    Parts: postgres, valkey, llm, worker-model, worker-llm, api, flower, supervisor and heartbeats. Logs hold ids and
    counts, no text of a subject. They are kept after `ragq down`.

    \b
    Example:
      ragq logs worker-llm --lines 50
      ragq logs --follow
    """
    home = find_home(_environment())
    found = [str(home.log(name)) for name in ([part] if part else PARTS) if home.log(name).exists()]
    if not found:
        raise StackError(f"There is no log{f' of {part}' if part else ''} in {home.logs}. `ragq up` starts the stack.")
    # -F follows a log over its rotation.
    os.execvp("tail", ["tail", "-n", str(lines), *(["-F"] if follow else []), *found])
