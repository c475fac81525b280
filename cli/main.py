"""`ragq`: the commands, imported when they are called, so that help and enqueueing are quick."""

import sys
from importlib import import_module

import click

from schemas.errors import RagqError

#: Command name -> the module and the click command in it, in the order of the help.
COMMANDS = {
    "up": ("cli.stack", "up"),
    "down": ("cli.stack", "down"),
    "ps": ("cli.stack", "ps"),
    "migrate": ("cli.migrate", "migrate"),
    "demo-data": ("cli.demo_data", "demo_data"),
    "import": ("cli.imports", "import_group"),
    "splits": ("cli.splits", "splits_group"),
    "import-results": ("cli.import_results", "import_results_command"),
    "index": ("cli.index", "index"),
    "references": ("cli.references", "references_group"),
    "corpus": ("cli.corpus", "corpus_group"),
    "preset": ("cli.preset", "preset"),
    "template": ("cli.template", "template"),
    "vocabulary": ("cli.vocabulary", "vocabulary"),
    "submit": ("cli.submit", "submit"),
    "query": ("cli.query", "query"),
    "tags": ("cli.tags", "tags"),
    "runs": ("cli.runs", "runs"),
    "show": ("cli.runs", "show"),
    "watch": ("cli.watch", "watch"),
    "inspect": ("cli.inspect", "inspect"),
    "report": ("cli.report", "report"),
    "diff": ("cli.diff", "diff"),
    "failures": ("cli.failures", "failures"),
    "retry": ("cli.control", "retry"),
    "pause": ("cli.control", "pause"),
    "resume": ("cli.control", "resume"),
    "cancel": ("cli.control", "cancel"),
    "run": ("cli.run", "run_group"),
    "audit": ("cli.audit", "audit"),
    "config": ("cli.config", "config"),
    "worker": ("cli.stack", "worker"),
    "api": ("cli.stack", "api"),
    "flower": ("cli.stack", "flower"),
    "token": ("cli.token", "token"),
}

REFUSED = 1


class LazyGroup(click.Group):
    """A group that imports the module of a command when that command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None when there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name]
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ragq")
def cli() -> None:
    """A job queue for RAG pipelines that records every step.

    Exit codes: 0 done, 1 refused, 2 wrong usage, 3 some jobs failed.

    \b
    Example:
        ragq up
        ragq submit --split paper-test --few-shot-only --limit 3 --wait
    """


def main() -> None:
    """The entry of the `ragq` script."""
    try:
        cli.main(standalone_mode=True)
    except RagqError as error:
        click.echo(f"ragq: {error}", err=True)
        sys.exit(REFUSED)
