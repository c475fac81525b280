"""`ragq index tags`: the models of a vocabulary."""

from hashlib import file_digest
from pathlib import Path

import click

from cli.choices import Choice
from cli.completed_names import VOCABULARY
from cli.estimate import dry_run_option, print_found
from cli.output import json_option, print_json, print_text
from cli.session import with_open_database
from cli.settings_options import effective_settings, settings_options
from cli.submit import print_submitted, report_submitted
from cli.watch import follow
from schemas.values.tags import VectorLayout
from services.estimates import estimate_vocabulary
from services.vocabularies import SEED, GivenVectors, build_vocabulary


@click.command("tags")
@click.argument("vocabulary", type=VOCABULARY)
@click.option(
    "--seed", type=click.IntRange(min=0), default=SEED, show_default=True, help="The same gives the same bytes."
)
@click.option(
    "--vectors",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True, path_type=Path),
    help="Place tokens by the vectors in this file, which workers must find under the same path; train none.",
)
@click.option("--layout", type=Choice([one.value for one in VectorLayout]), help="How --vectors is written.")
@settings_options
@dry_run_option
@click.option("--no-wait", is_flag=True, help="Return as soon as the run is stored.")
@json_option
def tags_command(
    vocabulary: str,
    seed: int,
    vectors: Path | None,
    layout: str | None,
    profile: str | None,
    assignments: tuple[tuple[str, str], ...],
    dry_run: bool,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Build the models of a vocabulary, as a run of one job: how tokens lie together, and what tags occur with.

    It takes about a minute for ten thousand tags. The models become visible in one step. A vocabulary
    is given models once, so that what a run found can be found again: to build others, import it again.

    \b
    Example:
        ragq index tags topics
        ragq index tags topics --vectors words.bin --layout fasttext
    """
    if (vectors is None) is not (layout is None):
        raise click.UsageError("--vectors and --layout go together.")
    given = None if vectors is None or layout is None else _given(vectors, VectorLayout(layout))
    settings = effective_settings(profile, assignments)
    if dry_run:
        found = with_open_database(
            lambda database: estimate_vocabulary(database, vocabulary, settings, seed=seed, vectors=given)
        )
        print_found([found], as_json=as_json)
        return
    run_id, submitted = with_open_database(
        lambda database: build_vocabulary(database, vocabulary, settings, seed=seed, vectors=given)
    )
    if submitted is None:
        print_text(f"The models of '{vocabulary}' are built already (r{run_id}).", err=True)
        if as_json:
            print_json({"run": f"r{run_id}", "jobs": 0})
        return
    report_submitted([submitted], settings, kind="tags", briefly=not no_wait and not as_json)
    if not no_wait:
        follow(submitted.run_id, as_json=as_json)
    else:
        print_submitted([submitted], settings, as_json=as_json)


def _given(path: Path, layout: VectorLayout) -> GivenVectors:
    with path.open("rb") as file:
        return GivenVectors(path, layout, file_digest(file, "sha256").hexdigest())
