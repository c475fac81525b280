"""`ragq template new` and `ragq template activate`."""

from pathlib import Path

import click

from cli.output import draw, json_option, print_result
from cli.session import with_database
from cli.settings_options import effective_settings
from cli.template import TAG, template_json
from cli.user_files import read_file
from schemas.errors import Refused
from stages.queries.templates import OF_ANSWERS, TemplateTag
from store.questions import templates


@click.command()
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
    stored = with_database(lambda connection: templates.add(connection, TemplateTag(tag), text, title=title))
    print_result(
        template_json(stored),
        f"Added version {stored.version} of {tag}; `ragq template activate {tag} {stored.version}` uses it.",
        as_json=as_json,
    )


@click.command()
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
    stored = with_database(lambda connection: templates.activate(connection, TemplateTag(tag), version))
    print_result(template_json(stored), f"Version {version} of {tag} is active.", as_json=as_json)
    if TemplateTag(tag) in OF_ANSWERS and tag != used:
        draw(f"Answers are asked for with {used} here; RAGQ_ANSWER_TEMPLATE={tag} uses this one.", err=True)


def _read(file: Path) -> str:
    try:
        return read_file(file).decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{file} is not UTF-8; save it as UTF-8 text.") from None
