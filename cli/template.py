"""`ragq template`: the texts of prompts, by version."""

import click

from cli.choices import Choice
from cli.drawing import Text, plain_table
from cli.lazy_group import LazyGroup
from cli.output import draw, print_data, print_json
from cli.session import with_database
from stages.queries.templates import TemplateTag
from store.database import Connection
from store.questions import templates
from store.questions.templates import StoredTemplate

TAG = Choice([tag.value for tag in TemplateTag])

_COMMANDS = {name: f"cli.template_changes:{name}" for name in ("new", "activate")}


@click.group(cls=LazyGroup, elsewhere=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def template() -> None:
    """Manage the prompt templates of query runs: versions are added and never changed; one version of each is active.

    \b
    Example:
        ragq template show rag_augmentation > mine.txt
        ragq template new rag_augmentation mine.txt --title "Shorter answers"
        ragq template activate rag_augmentation 2
    """


@template.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(as_json: bool) -> None:
    """List every version of every template; the active ones are marked with *.

    \b
    Example:
        ragq template list
    """
    found = with_database(templates.list_all)
    if as_json:
        print_json([template_json(stored) for stored in found])
        return
    table = plain_table("", "template", "version", "title", "characters", "added")
    for stored in found:
        table.add_row(
            "*" if stored.is_active else "",
            stored.tag,
            str(stored.version),
            Text(stored.title),
            str(len(stored.text)),
            f"{stored.created_at:%Y-%m-%d %H:%M}",
        )
    draw(table)


@template.command()
@click.argument("tag", type=TAG)
@click.argument("version", type=click.IntRange(min=1), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the meaning of each placeholder.")
def show(tag: str, version: int | None, as_json: bool) -> None:
    """Print the text of a template as it is; without VERSION that of the active one.

    \b
    Example:
        ragq template show query_expansion
        ragq template show query_expansion 1 --json
    """

    async def read(connection: Connection) -> tuple[StoredTemplate, dict[str, str]]:
        stored = await templates.get(connection, TemplateTag(tag), version)
        return stored, await templates.variables(connection, TemplateTag(tag))

    stored, variables = with_database(read)
    if as_json:
        print_json({**template_json(stored), "text": stored.text, "variables": variables})
    else:
        print_data(stored.text if stored.text.endswith("\n") else f"{stored.text}\n")


def template_json(stored: StoredTemplate) -> dict[str, object]:
    """A version as JSON shows it, without its text."""
    return {
        "tag": stored.tag,
        "version": stored.version,
        "title": stored.title,
        "is_active": stored.is_active,
        "characters": len(stored.text),
        "created_at": stored.created_at,
    }
