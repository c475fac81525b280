"""Tags: the quality and the speed of finding them."""

import json
import os
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks import tag_quality, tag_speed
from benchmarks.machine import this_machine
from benchmarks.servers import servers
from stages.files.problems import accept
from stages.tags.vocabulary_files import FILES, parse_vocabulary

PACKAGES = ("gensim", "scikit-learn", "numpy", "asyncpg")


@click.command(short_help="Quality and speed of finding tags, compared with character TF-IDF")
@click.option("--seed", default=7, show_default=True, help="Seed of the models and of the held-out aliases.")
@click.option("--held-out", default=0.2, show_default=True, help="Share of aliases that one model never sees.")
@click.option("--speed/--no-speed", default=True, show_default=True, help="Measure the chain over Postgres too.")
@click.option("--requests", default=1000, show_default=True, help="Sets of phrases through the whole chain.")
@click.option("--searches", default=100, show_default=True, help="Searches of the large vocabulary.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def tags(seed: int, held_out: float, speed: bool, requests: int, searches: int, json_file: Path | None) -> None:
    """Find the topics of GitHub by their aliases, with the exact match of aliases switched off.

    The vocabulary is the folder tags_github_topics of RAGQ_DATA_DIR.

    Example:

    \b
        python -m benchmarks tags --json tags.json
    """
    folder = Path(os.environ.get("RAGQ_DATA_DIR", "../shared/data")) / "tags_github_topics"
    if not folder.is_dir():
        raise click.ClickException(f"{folder} is not there; RAGQ_DATA_DIR names the folder of the public data.")
    files = {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}
    vocabulary = accept(parse_vocabulary(files))
    machine = this_machine(PACKAGES)
    found = tag_quality.measure(vocabulary, seed=seed, held_out_share=held_out)
    fast = None
    if speed:
        with servers() as running:
            fast = tag_speed.measure(running.postgres.url, vocabulary, seed=seed, requests=requests, searches=searches)
    _show(machine.sentence(), found, fast)
    if json_file is not None:
        content = {
            "machine": machine._asdict(),
            "quality": [
                {**row._asdict(), "canonical": row.canonical._asdict(), "projected": row.projected._asdict()}
                for row in found
            ],
            "speed": None if fast is None else fast._asdict(),
        }
        json_file.write_text(json.dumps(content, indent=2) + "\n")


def _show(machine: str, found: list[tag_quality.Quality], fast: tag_speed.Speed | None) -> None:
    console = Console(width=118)
    console.print(machine, highlight=False)
    table = Table(title="alias -> tag, exact aliases switched off", title_justify="left")
    for heading in ("aliases", "method", "pairs", "hit@1", "hit@10", "hit@1 projected", "hit@10 projected", "build s"):
        table.add_column(heading, justify="left" if heading in ("aliases", "method") else "right")
    for row in found:
        hits = (f"{share:.3f}" for share in (*row.canonical, *row.projected))
        table.add_row(row.aliases, row.method, str(row.pairs), *hits, f"{row.seconds:.1f}")
    console.print(table)
    if fast is not None:
        console.print(
            f"whole chain: {fast.chains_per_s:.1f} sets of {tag_speed.PHRASES} phrases a second; neighbours of "
            f"{tag_speed.PHRASES} words among {tag_speed.MANY_TAGS} tokens: p50 {fast.retrieve_p50_ms:.0f} ms, "
            f"p95 {fast.retrieve_p95_ms:.0f} ms",
            highlight=False,
        )
