"""`ragq preset` and `ragq template`: named values for query runs, and the texts of prompts by version."""

from pathlib import Path

import click

from cli.config import with_database
from cli.options import Choice, assignment, effective_settings, group
from cli.output import FittingTable, draw, json_option, print_data, print_json, print_list, print_result, print_text
from cli.sheets import rows_drawing
from cli.submissions import read_text
from schemas.settings.preset import differing_values
from services.listings import values_table
from stages.queries.templates import OF_ANSWERS, TemplateTag
from stages.reports.tables import Moment
from store.questions import presets

_VALUES = assignment("retrieval.dense_limit=25")


@group()
def preset() -> None:
    """Manage presets: named values for query runs (search, ranking, validation, prompt).

    \b
    Example:
        ragq preset create small --from Balanced augmentation.top_n_contexts=3
    """


@preset.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the presets, the default first.

    \b
    Example:
        ragq preset list
    """
    found = with_database(presets.list_all)
    table = FittingTable("", "preset", "differs in", "description", "changed")
    for line in found:
        mark, differing = "*" if line.is_default else "", len(differing_values(line.preset.values()))
        table.add_row(mark, line.name, differing, line.description, Moment(line.updated_at))
    none = "No preset is stored. `ragq preset create NAME` makes one."
    print_list(found, table, none=none, as_json=as_json)


@preset.command("show")
@click.argument("name", required=False)
@json_option
def show_command(name: str | None, as_json: bool) -> None:
    """Show every value of a preset and what it accepts; without NAME those of the default preset.

    Values other than those of `Balanced`, as ragq comes with it, are marked with *.

    \b
    Example:
        ragq preset show
        ragq preset show small --json
    """
    stored = with_database(presets.get, name)
    if as_json:
        print_json(stored)
        return
    mark = " (default)" if stored.is_default else ""
    words = f": {stored.description}" if stored.description else ""
    print_text(f"Preset '{stored.name}'{mark}{words}\n")
    draw(rows_drawing(values_table(stored.preset)))


@preset.command("create")
@click.argument("name")
@click.argument("values", type=_VALUES, nargs=-1, metavar="[GROUP.KEY=VALUE]...")
@click.option("--from", "origin", metavar="PRESET", help="Preset to copy; without it the default preset.")
@click.option("--description", help="Its purpose, in a few words.")
@json_option
def create_command(
    name: str, values: tuple[tuple[str, str], ...], origin: str | None, description: str | None, as_json: bool
) -> None:
    """Create a preset: a copy of another one with some values changed.

    A name has 1 to 100 letters from A to Z, digits, spaces, '-' and '_'; names that differ only in the case of
    letters are the same.

    \b
    Example:
        ragq preset create small augmentation.top_n_contexts=3
        ragq preset create "small and judged" --from small validation.enabled=true
    """
    created = with_database(presets.create, name, dict(values), of=origin, description=description)
    print_result(created, f"Created preset '{created.name}'.", as_json=as_json)


@preset.command("set")
@click.argument("name")
@click.argument("values", type=_VALUES, nargs=-1, metavar="[GROUP.KEY=VALUE]...")
@click.option("--description", help="Its purpose, in a few words.")
@click.option("--default", "is_default", is_flag=True, help="Make it that of query runs submitted without --preset.")
@json_option
def set_command(
    name: str, values: tuple[tuple[str, str], ...], description: str | None, is_default: bool, as_json: bool
) -> None:
    """Change values of a preset, all of them or none. Runs that were submitted keep the values they had.

    \b
    Example:
        ragq preset set Balanced retrieval.dense_limit=25 retrieval.fusion=rrf
        ragq preset set small --default
    """
    if not values and description is None and not is_default:
        raise click.UsageError("Say what to change: GROUP.KEY=VALUE, --description or --default.")

    changed = with_database(presets.change, name, dict(values), description=description, is_default=is_default)
    print_result(changed, f"Changed preset '{changed.name}'.", as_json=as_json)


@preset.command("delete")
@click.argument("name")
@json_option
def delete_command(name: str, as_json: bool) -> None:
    """Delete a preset. The default preset cannot be deleted.

    \b
    Example:
        ragq preset delete small
    """
    stored = with_database(presets.delete, name)
    print_result({"deleted": stored}, f"Deleted preset '{stored}'.", as_json=as_json)


TAG = click.argument("tag", type=Choice(TemplateTag))


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
@json_option
def template_list_command(as_json: bool) -> None:
    """List every version of every template; the active ones are marked with *.

    \b
    Example:
        ragq template list
    """
    found = with_database(presets.all_templates)
    table = FittingTable("", "template", "version", "title", "characters", "added")
    for one in found:
        mark, added = "*" if one.is_active else "", Moment(one.created_at)
        table.add_row(mark, one.function_tag, one.version, one.title, len(one.template_content), added)
    print_list(found, table, none="No template is stored. `ragq db migrate` stores the first ones.", as_json=as_json)


@template.command()
@TAG
@click.argument("version", type=click.IntRange(min=1), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the meaning of each placeholder.")
def show(tag: TemplateTag, version: int | None, as_json: bool) -> None:
    """Print the text of a template as it is; without VERSION that of the active one.

    \b
    Example:
        ragq template show query_expansion
        ragq template show query_expansion 1 --json
    """
    stored = with_database(presets.template, tag, version)
    if as_json:
        print_json(stored)
    else:
        text = stored.template_content
        print_data(text if text.endswith("\n") else f"{text}\n")


@template.command()
@TAG
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--title", required=True, help="What is new about it, in a few words.")
@json_option
def new(tag: TemplateTag, file: Path, title: str, as_json: bool) -> None:
    """Add the text of a file as the next version, which is used once it is activated.

    A placeholder is a name in braces, {query}; a brace that is meant as such is doubled. Unknown placeholders, and
    needed ones that are missing, are refused.

    \b
    Example:
        ragq template new query_expansion mine.txt --title "More angles"
    """
    stored = with_database(presets.add_template, tag, read_text(file), title=title)
    words = f"Added version {stored.version} of {tag}; `ragq template activate {tag} {stored.version}` uses it."
    print_result(stored, words, as_json=as_json)


@template.command()
@TAG
@click.argument("version", type=click.IntRange(min=1))
@json_option
def activate(tag: TemplateTag, version: int, as_json: bool) -> None:
    """Make a version the active one of its template. Stored prompts do not change.

    \b
    Example:
        ragq template activate query_expansion 1
    """
    used = effective_settings(None, {}).run.ragq.answer_template
    stored = with_database(presets.activate_template, tag, version)
    print_result(stored, f"Version {version} of {tag} is active.", as_json=as_json)
    if tag in OF_ANSWERS and tag.value != used:
        draw(f"Answers are asked for with {used} here; RAGQ_ANSWER_TEMPLATE={tag} uses this one.", err=True)
