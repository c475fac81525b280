"""`ragq tags` and `ragq vocabulary`: what phrases led to, and the closed sets of tags that they are mapped to."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cli.config import with_database, with_open_database
from cli.files import read_file, tell_unread
from cli.ids import TARGET
from cli.new_runs import conclude, wait_option
from cli.options import group, wanted_options, with_settings
from cli.output import Text, coloured, confirm, draw, json_option, print_json, print_result, print_text
from cli.sheets import print_listing, rows_drawing
from cli.submit import report_submitted
from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from schemas.values.base import Listed
from schemas.values.requests import TagsWanted
from schemas.values.runs import Target
from services.listings import TAGS, VOCABULARIES, candidates_table, phrase_table
from services.tags import build_vocabulary, delete_vocabulary, read_vocabulary, vocabulary_of_name
from stages.reports.words import counted
from stages.tags.vocabulary_files import FILES
from store import vocabularies
from store.vocabularies import TagsResult


@group()
def tags() -> None:
    """Show the candidate tags of phrases.

    \b
    Example:
        ragq tags show r12
    """


@tags.command("show")
@click.argument("target", metavar="RUN|JOB", type=TARGET)
@click.option("--verbose", is_flag=True, help="Show for each phrase every tag that was found for it, before the cut.")
@click.option("--phrase-ranks", is_flag=True, help="Show the best rank that each candidate has for a phrase.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: of a run one object, of a job its result alone.")
def show_command(target: Target, verbose: bool, phrase_ranks: bool, as_json: bool) -> None:
    """Show the candidate tags of a run or a job, best first.

    In JSON a result is the list of candidates; with --verbose or --phrase-ranks an array of that list, then the
    reports by phrase, then the ranks, as far as they were asked for. A job that did not succeed has none.

    The output contains sensitive text: the phrases that were asked.

    \b
    Example:
        ragq tags show r12
        ragq tags show j345 --verbose --phrase-ranks --json
    """
    found = found_tags(target)
    if not as_json:
        for one in found:
            print_set(one, verbose=verbose, phrase_ranks=phrase_ranks)
    elif target.run_id is not None:
        print_json(sets_json(target.run_id, found, verbose=verbose, phrase_ranks=phrase_ranks))
    else:
        print_json(found[0].shown(verbose=verbose, phrase_ranks=phrase_ranks)["result"])
        if found[0].note is not None:
            print_text(found[0].note, err=True)


def found_tags(target: Target) -> list[TagsResult]:
    """What the phrases of a run or a job led to. Raises Refused for one without phrases."""
    found = with_database(vocabularies.results, run_id=target.run_id, job_id=target.job_id)
    if not found:
        raise Refused(f"{target} has no phrases: `ragq runs` lists the runs, and tags runs are of kind 'tags'.")
    return found


def sets_json(
    run_id: int, found: Sequence[TagsResult], *, verbose: bool = False, phrase_ranks: bool = False
) -> dict[str, Any]:
    """What the phrases of a run led to, as JSON shows it."""
    shown = (one.shown(verbose=verbose, phrase_ranks=phrase_ranks) | {"job": f"j{one.job_id}"} for one in found)
    return {"run": f"r{run_id}", "sets": [*shown]}


def print_set(result: TagsResult, *, verbose: bool = False, phrase_ranks: bool = False) -> None:
    """Print what a set of phrases led to."""
    draw(Text.assemble((f"{result.id}  j{result.job_id}  ", "bold"), coloured(result.status)))
    if result.validated is None:
        return
    ranks = result.validated.phrase_rank_by_tag if phrase_ranks else None
    draw(rows_drawing(candidates_table(result.validated.candidates, ranks)))
    if result.note is not None:
        draw(result.note)
    if verbose:
        for report in result.phrase_reports:
            in_model = "in" if report.tfidf_vocab else "not in"
            draw(f"{report.normalized} ({in_model} the context model)", rows_drawing(phrase_table(report)))


@group()
def vocabulary() -> None:
    """List and delete vocabularies: closed sets of tags that phrases are mapped to.

    \b
    Example:
        ragq import tags topics/
        ragq vocabulary tags topics
    """


@vocabulary.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the vocabularies, with the models that they have.

    \b
    Example:
        ragq vocabulary list
    """
    print_listing(VOCABULARIES, Listed.whole(with_database(vocabularies.current)), as_json=as_json)


@vocabulary.command("tags")
@click.argument("name")
@wanted_options(TagsWanted, limit=20)
@json_option
def tags_command(name: str, wanted: TagsWanted, as_json: bool) -> None:
    """List the tags of a vocabulary, the most used first.

    \b
    Example:
        ragq vocabulary tags topics --search coat
    """
    vocabulary_id = with_database(vocabulary_of_name, name).id
    listed = with_database(vocabularies.tags, vocabulary_id, wanted)
    none = f"Vocabulary '{name}' has no such tag. `ragq vocabulary tags {name}` lists all."
    print_listing(TAGS, listed, none=none, as_json=as_json)


@vocabulary.command("delete")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def delete_command(name: str, yes: bool, as_json: bool) -> None:
    """Delete a vocabulary with its models. Results of runs stay, but cannot be computed again.

    \b
    Example:
        ragq vocabulary delete topics
    """
    found = with_database(vocabulary_of_name, name)
    confirm(f"Delete vocabulary '{name}' with {counted(found.tags, 'tag')}?", yes=yes)
    with_database(delete_vocabulary, name)
    print_result({"deleted": name, "tags": found.tags}, f"Deleted vocabulary '{name}'.", as_json=as_json)


@click.command("tags")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--name", help="What the vocabulary is called; the name of its folder unless given.")
@json_option
def import_command(directory: Path, name: str | None, as_json: bool) -> None:
    """Import a vocabulary of tags: tags.csv, and what there is of cooccurrence.tsv, tag_lists.txt and ratings.csv.

    Ratings are probabilities of not being safe for work; tags of 0.95 or more are found with --allow-nsfw alone. It
    takes the place of an older one of its name; jobs that were submitted with that one keep it. `ragq index tags`
    builds the models that phrases are found by.

    \b
    Example:
        ragq import tags topics/
        ragq index tags topics --wait
    """
    called = directory.resolve().name if name is None else name
    files = {file: read_file(directory / file) for file in FILES if (directory / file).exists()}
    tell_unread(directory, FILES)
    vocabulary = read_vocabulary(called, files)
    kept = with_database(vocabularies.keep, called, vocabulary)
    rated = sum(tag.nsfw_probability is not None for tag in vocabulary.tags)
    counts = {"tags": kept.tags, "aliases": kept.aliases, "documents": kept.documents, "rated": rated}
    words = ", ".join(f"{number} {what}" for what, number in counts.items())
    shown = {"vocabulary": called, "id": kept.id, **counts, "unknown_ratings": vocabulary.unknown_ratings}
    print_result(shown, f"Imported vocabulary '{called}': {words}.", as_json=as_json)
    if vocabulary.unknown_ratings:
        left_out = counted(vocabulary.unknown_ratings, "rating")
        print_text(f"Warning: {left_out} left out: the vocabulary does not have the tag.", err=True)
    if not as_json:
        print_text(f"`ragq index tags {called} --wait` builds its models.", err=True)


@click.command("tags")
@click.argument("vocabulary")
@with_settings
@wait_option
@json_option
def index_command(vocabulary: str, settings: EffectiveSettings, wait: bool, as_json: bool) -> None:
    """Build the models of a vocabulary, as a run of one job: how tokens lie together, and what tags occur with.

    It takes about a minute for ten thousand tags. The models become visible in one step. A vocabulary
    is given models once, so that what a run found can be found again: to build others, import it again.

    \b
    Example:
        ragq index tags topics --wait
    """
    submitted = with_open_database(build_vocabulary, vocabulary, settings)
    if submitted.is_new or submitted.resumed:
        report_submitted([submitted], settings, kind="tags", briefly=wait and not as_json)
    else:
        print_text(f"The models of '{vocabulary}' are built by r{submitted.run_id}.", err=True)
    conclude([submitted], wait=wait, as_json=as_json, changed_settings=settings.changed)
