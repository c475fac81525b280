"""`ragq index chunk-scores`: a score for every chunk of a reference index."""

from pathlib import Path

import click

from cli.estimate import print_estimate
from cli.output import print_text
from cli.prices import refuse_prices
from cli.run_options import run_options
from cli.session import with_open_database
from cli.settings_options import effective_settings, settings_options
from cli.submit import print_submitted, report_submitted
from cli.watch import follow
from services.chunk_scores import plan_chunk_scores, score_chunks
from store.database import Connection
from store.runs.runs import NewRun


@click.command("chunk-scores")
@click.argument("name", required=False)
@click.option("--scorer-model", required=True, metavar="MODEL", help="Language model that scores, at temperature 0.")
@click.option(
    "--allow-same-model",
    is_flag=True,
    help="Let MODEL_QUANTITATIVE_MODEL score: it is shown its own labels as examples then, and every run records it.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), help="Only the first N chunks, as a trial: their scores stay invisible."
)
@settings_options
@click.option("--new", "always_new", is_flag=True, help="Store a new run even if the same chunks were scored before.")
@run_options("run")
def chunk_scores_command(
    name: str | None,
    scorer_model: str,
    allow_same_model: bool,
    limit: int | None,
    profile: str | None,
    assignments: tuple[tuple[str, str], ...],
    always_new: bool,
    dry_run: bool,
    price_file: Path | None,
    wait: bool,
    as_json: bool,
) -> None:
    """Score every chunk of an index by itself with a language model, as a run of one job per chunk.

    NAME is the index that runs of these settings search unless it is given; NAME@IDENTITY is one of several of a
    name. EMBEDDING_REFERENCE_SCORE_SOURCE=chunk shows these scores with
    the references. They become visible in one step when every chunk has been scored; a reply that cannot be used
    fails the job of its chunk. The same command again, or `ragq retry`, continues with the missing chunks, and
    no answer is paid for twice.

    \b
    Example:
        ragq index chunk-scores --scorer-model gemma3:12b --wait
        ragq index chunk-scores huggingface_qwen3_8b_paper_train --scorer-model gemma3:12b --limit 20 --wait
    """
    settings = effective_settings(profile, assignments)
    if dry_run:

        async def plan_scores(connection: Connection) -> NewRun:
            run, _, _ = await plan_chunk_scores(
                connection,
                name,
                settings,
                scorer_model=scorer_model,
                allow_same_model=allow_same_model,
                limit=limit,
            )
            return run

        print_estimate(plan_scores, settings, price_file=price_file, as_json=as_json)
        return
    refuse_prices(price_file)
    scoring = with_open_database(
        lambda database: score_chunks(
            database,
            name,
            settings,
            scorer_model=scorer_model,
            allow_same_model=allow_same_model,
            limit=limit,
            always_new=always_new,
        )
    )
    submitted = scoring.submitted
    report_submitted([submitted], settings, kind="index", briefly=wait and not as_json)
    if scoring.is_trial:
        print_text(f"A trial of {submitted.jobs} of {scoring.chunks} chunks: no run will use these scores.", err=True)
    if wait:
        follow(submitted.run_id, as_json=as_json)
    else:
        print_submitted([submitted], settings, as_json=as_json)
