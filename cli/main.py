"""`ragq`: the commands, imported when they are called, so that help and enqueueing are quick."""

import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import click
from click.exceptions import NoSuchCommand
from click.shell_completion import CompletionItem

from schemas.errors import RagqError

#: Section of the help -> command name -> where it is defined, and its line in the help, in whose order they are. It is
#: written here so that help is quick.
_SECTIONS = {
    "Stack": {
        "up": ("cli.stack", "up", "Start the stack and wait until every part is healthy."),
        "down": ("cli.stack", "down", "Stop what `ragq up` started."),
        "status": ("cli.stack", "status_command", "Show the parts of the stack, and what is wrong now."),
        "logs": ("cli.stack", "logs", "Show the logs of the embedded stack."),
        "doctor": ("cli.stack", "doctor", "Check everything that ragq needs, with remedies."),
        "worker": ("cli.stack", "worker", "Run a worker in the foreground."),
        "api": ("cli.stack", "api", "Run the API and its pages in the foreground."),
        "mcp": ("cli.stack", "mcp", "Serve tools for language models on standard input and output."),
        "token": ("cli.db", "token", "Create, list and revoke access tokens of the API."),
        "db": ("cli.db", "db", "Make the tables, and write or read a backup."),
    },
    "Data": {
        "demo-data": ("cli.participants", "demo_data", "Write synthetic interviews, works or a vocabulary."),
        "import": ("cli.participants", "import_group", "Import data sets; bad files are refused."),
        "splits": ("cli.participants", "splits_group", "Make, list and check the splits of participants."),
        "index": ("cli.index", "index", "Build, import, score and list indexes."),
        "corpus": ("cli.documents", "corpus_group", "List, show and delete corpora."),
        "work": ("cli.documents", "work", "Show works, their headings and chunks."),
        "vocabulary": ("cli.tags", "vocabulary", "List and delete vocabularies: closed sets of tags."),
    },
    "Work": {
        "submit": ("cli.submit", "submit", "Submit participants, questions or phrases as a run."),
        "ask": ("cli.ask", "ask", "Ask a corpus a question, and print the answer with its sources."),
        "search": ("cli.ask", "search", "Print the passages of a corpus that a question finds."),
        "query": ("cli.query", "query", "Show questions, edit them and run their stages."),
        "retry": ("cli.fork", "retry", "Continue failed jobs with the stage that failed."),
        "fork": ("cli.fork", "fork_command", "Compute a run again from a stage on, with other settings."),
        "pause": ("cli.fork", "pause", "Pause unfinished jobs."),
        "resume": ("cli.fork", "resume", "Continue paused jobs."),
        "cancel": ("cli.fork", "cancel", "End unfinished and paused jobs; stored work is kept."),
        "set": ("cli.fork", "set_command", "Change name, note and priority of a run."),
    },
    "Results": {
        "runs": ("cli.runs", "runs", "List the newest runs with the states of their jobs."),
        "show": ("cli.runs", "show", "Show the jobs of a run and the states of their stages."),
        "watch": ("cli.watch", "watch", "Follow runs until they finish."),
        "failures": ("cli.failures", "failures", "List the failures of a run."),
        "inspect": ("cli.failures", "inspect", "Show the attempts of a job, or one of its stages."),
        "report": ("cli.results", "report", "Show the results of a run, with 95 % intervals."),
        "tags": ("cli.tags", "tags", "Show the candidate tags of phrases."),
        "diff": ("cli.results", "diff", "Compare the results of two runs and more."),
        "evaluate": ("cli.results", "evaluate_command", "Judge the answers of a run by a language model."),
        "export": ("cli.export", "export_command", "Write a finished run to one file."),
        "verify": ("cli.export", "verify", "Check the file of a run without a database."),
        "audit": ("cli.export", "audit", "Recompute every hash of a run."),
        "purge": ("cli.export", "purge_command", "Delete old runs, or all but their results."),
    },
    "Configuration": {
        "config": ("cli.config", "config", "Show the settings and where each value comes from."),
        "preset": ("cli.presets", "preset", "Manage presets: named values for query runs."),
        "template": ("cli.presets", "template", "Manage the prompt templates of query runs."),
    },
}

COMMANDS = {name: entry for section in _SECTIONS.values() for name, entry in section.items()}

#: Exit codes: a refused request; some jobs of a run that did not get through; and what a shell reports for SIGINT, so
#: that `&& next` does not continue after Ctrl-C.
REFUSED, SOME_FAILED, INTERRUPTED = 1, 3, 130

#: Their matrix products are many and small: threads of OpenBLAS would take more processor time than they save.
_ONE_THREAD = ("report", "diff")


class AllCommands(click.Group):
    """A group that imports the module of a command when that command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None when there is none."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in _ONE_THREAD:
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names."""
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand as error:
            raise NoSuchCommand(error.command_name, possibilities=self.list_commands(ctx), ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        width = max(map(len, COMMANDS))
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), words) for name, (_, _, words) in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of commands without importing them."""
        commands = {name: words for name, (_, _, words) in COMMANDS.items() if name.startswith(incomplete)}
        names = [CompletionItem(name, help=words) for name, words in commands.items()]
        return names + click.Command.shell_complete(self, ctx, incomplete)


@click.group(cls=AllCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ragq")
def cli() -> None:
    """A job queue for RAG pipelines that records every step.

    Exit codes: 0 done, 1 refused, 2 wrong usage, 3 some jobs failed, 130 Ctrl-C.

    \b
    Example:
        ragq up
        ragq submit --split paper-test --few-shot-only --limit 3 --wait
    """


def carry_out(name: str, **values: Any) -> None:
    """Carry out another command within one, by the names of its parameters; its module is imported now."""
    context = click.get_current_context()
    command = cli.get_command(context, name)
    assert command is not None
    context.invoke(command, **values)


def main() -> None:
    """The entry of the `ragq` script."""
    try:
        cli.main(prog_name="ragq")
    except RagqError as error:
        _refuse(str(error), slug=error.slug)
    except OSError as error:
        _refuse(_of_system(error), slug=RagqError.slug)


def _refuse(why: str, *, slug: str) -> NoReturn:
    """Say why on stderr, and with --json on stdout too, as the problem that the API replies with."""
    from cli.output import print_json, print_text

    print_text(f"ragq: {why}", err=True)
    if "--json" in sys.argv[1:]:
        print_json({"type": f"urn:ragq:problem:{slug}", "detail": why})
    sys.exit(REFUSED)


def _of_system(error: OSError) -> str:
    """What a file, a disk or a connection refused, without a traceback."""
    if error.errno is None or error.filename is None:
        return f"{type(error).__name__}: {error}"
    return f"{os.fsdecode(error.filename)} cannot be used: {os.strerror(error.errno)}."
