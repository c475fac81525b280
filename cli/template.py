"""`ragq template`: the texts of prompts, by version."""

from pathlib import Path

import click

from cli.config import with_database
from cli.files import read_file
from cli.options import Choice, effective_settings, group
from cli.output import Text, draw, json_option, plain_table, print_data, print_json, print_result
from schemas.errors import Refused
from stages.queries.templates import OF_ANSWERS, TemplateTag
from store.database import Connection
from store.questions import templates
from store.questions.templates import StoredTemplate

TAG = Choice([tag.value for tag in TemplateTag])


@group()
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
        print_json(found)
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
        print_json(stored.model_dump(by_alias=True) | {"variables": variables})
    else:
        print_data(stored.text if stored.text.endswith("\n") else f"{stored.text}\n")


@template.command()
@click.argument("tag", type=TAG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--title", required=True, help="What is new about it, in a few words.")
@json_option
def new(tag: str, file: Path, title: str, as_json: bool) -> None:
    """Add the text of a file as the next version, which is used once it is activated.

    A placeholder is a name in braces, {query}; a brace that is meant as such is doubled. Unknown placeholders, and
    needed ones that are missing, are refused.

    \b
    Example:
        ragq template new query_expansion mine.txt --title "More angles"
    """
    text = _read(file)
    stored = with_database(templates.add, TemplateTag(tag), text, title=title)
    print_result(
        stored,
        f"Added version {stored.version} of {tag}; `ragq template activate {tag} {stored.version}` uses it.",
        as_json=as_json,
    )


@template.command()
@click.argument("tag", type=TAG)
@click.argument("version", type=click.IntRange(min=1))
@json_option
def activate(tag: str, version: int, as_json: bool) -> None:
    """Make a version the active one of its template. Stored prompts do not change.

    \b
    Example:
        ragq template activate query_expansion 1
    """
    used = effective_settings(None, ()).run.ragq.answer_template
    stored = with_database(templates.activate, TemplateTag(tag), version)
    print_result(stored, f"Version {version} of {tag} is active.", as_json=as_json)
    if TemplateTag(tag) in OF_ANSWERS and tag != used:
        draw(f"Answers are asked for with {used} here; RAGQ_ANSWER_TEMPLATE={tag} uses this one.", err=True)


def _read(file: Path) -> str:
    try:
        return read_file(file).decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{file} is not UTF-8; save it as UTF-8 text.") from None
