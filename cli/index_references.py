"""`ragq index references`: the reference index of a split."""

import click

from cli.completed_names import SPLIT
from cli.estimate import dry_run_option, print_estimate
from cli.index import print_indexes
from cli.output import json_option, print_result, print_text
from cli.session import with_database, with_open_database
from cli.settings_options import effective_settings, settings_options
from cli.submit import report_submitted
from cli.watch import follow_to_rest
from services.references import build_references, plan_references
from store.database import Connection
from store.references import index_runs
from store.runs.runs import NewRun

#: The exit codes of the generators that few-shot studies used, so that scripts around them keep working.
NOT_PUBLISHED = 1
PUBLISHED_IN_PART = 2


@click.command("references")
@click.option("--split", type=SPLIT, default="paper-train", show_default=True, help="Whose chunks.")
@settings_options
@click.option(
    "--allow-partial",
    is_flag=True,
    help="Publish without the participants whose jobs fail, and record it in the index; exit code 2 then.",
)
@click.option(
    "--write-item-tags/--no-write-item-tags",
    default=True,
    show_default=True,
    help="Tag each chunk with the items it speaks of; EMBEDDING_ENABLE_ITEM_TAG_FILTER needs the tags.",
)
@click.option("--new", "always_new", is_flag=True, help="Build again even if the same index was built before.")
@dry_run_option
@click.option("--no-wait", is_flag=True, help="Return as soon as the run is stored.")
@json_option
def references_command(
    split: str,
    allow_partial: bool,
    write_item_tags: bool,
    profile: str | None,
    assignments: tuple[tuple[str, str], ...],
    always_new: bool,
    dry_run: bool,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Chunk and embed the transcripts of a training split, as a run of one job per participant.

    The split is paper-train, avec-train or one of your own; whoever is scored may not be in it. The name is
    EMBEDDING_EMBEDDINGS_FILE with the split (such as paper_train) and, unless the transcripts are raw, with their
    variant; an index of another split, model or chunking stays beside it. It becomes visible in one
    step when every job has succeeded; until then, and when one fails, an older index of the same name and identity
    stays. `ragq retry` finishes a run that failed. With --allow-partial the index lacks the participants that failed,
    until a retry publishes a fuller one.

    Exit codes: 0 published whole, 1 refused or not published, 2 published in part (and wrong usage, after which
    nothing is stored).

    \b
    Example:
        ragq index references --split paper-train
        ragq index references --split paper-train --dry-run
        ragq index references --set EMBEDDING_CHUNK_SIZE=6 --set EMBEDDING_EMBEDDINGS_FILE=short_windows
    """
    settings = effective_settings(profile, assignments)
    if dry_run:

        async def plan_index(connection: Connection) -> NewRun:
            return (await plan_references(connection, split, settings, allow_partial, write_item_tags)).run

        print_estimate(plan_index, settings, price_file=None, as_json=as_json)
        return
    submitted, published = with_open_database(
        lambda database: build_references(
            database,
            split,
            settings,
            allow_partial=allow_partial,
            write_item_tags=write_item_tags,
            always_new=always_new,
        )
    )
    if published is not None:
        print_text(f"Index '{published.name}' is built already (r{submitted.run_id}); --new builds it again.", err=True)
        print_indexes([published], as_json)
        return
    report_submitted([submitted], settings, kind="index", briefly=not no_wait and not as_json)
    if not no_wait:
        follow_to_rest(submitted.run_id, as_json=as_json)
        _exit_by_what_was_published(submitted.run_id)
    else:
        run = f"r{submitted.run_id}"
        print_result({"run": run, "jobs": submitted.jobs}, run, as_json=as_json)


def _exit_by_what_was_published(run_id: int) -> None:
    index = with_database(lambda connection: index_runs.by_run(connection, run_id))
    if index is None or index.published_at is None:
        print_text(
            f"Nothing was published: every participant has to succeed. `ragq retry r{run_id}` continues; "
            "--allow-partial publishes without those that fail.",
            err=True,
        )
        raise SystemExit(NOT_PUBLISHED)
    if index.partial is not None:
        left_out = ", ".join(map(str, index.partial["skipped_participants"]))
        print_text(
            f"Index '{index.name}' was published without participant {left_out}; `ragq retry r{run_id}` continues "
            "what failed and publishes a fuller one.",
            err=True,
        )
        raise SystemExit(PUBLISHED_IN_PART)
