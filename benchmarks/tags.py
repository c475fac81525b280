"""Tags: the quality and the speed of finding them."""

import json
import os
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from adapters.sentence_transformer_encoder import SentenceTransformerEncoder
from adapters.weights import PACKAGED_EMBEDDER
from benchmarks import tag_quality, tag_speed
from benchmarks.machine import this_machine
from benchmarks.servers import servers
from benchmarks.tag_quality import Half, Measured, Share
from schemas.values.tags import Vocabulary
from stages.files.records import accept
from stages.tags.vocabulary_files import FILES, parse_vocabulary

PACKAGES = ("gensim", "scikit-learn", "sentence-transformers", "numpy", "asyncpg")

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command(short_help="Quality and speed of finding tags, source by source and fused")
@click.option("--data", "data", type=FOLDER, multiple=True, metavar="DIR", help="A vocabulary's folder; several too.")
@click.argument("more", metavar="[DIR]...", nargs=-1, type=FOLDER)
@click.option("--seed", default=7, show_default=True, help="Seed of models, held-out aliases and misspelt names.")
@click.option("--held-out", default=0.2, show_default=True, help="Share of aliases that one model never sees.")
@click.option(
    "--half",
    type=click.Choice(["dev", "test"]),
    help="Only lookups of the tags on which weights were chosen, or others.",
)
@click.option("--quality/--no-quality", default=True, show_default=True, help="Measure quality.")
@click.option("--speed/--no-speed", default=True, show_default=True, help="Measure the chain over Postgres too.")
@click.option("--requests", default=1000, show_default=True, help="Sets of phrases through the whole chain.")
@click.option("--searches", default=100, show_default=True, help="Searches of the large vocabulary.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def tags(
    data: tuple[Path, ...],
    more: tuple[Path, ...],
    seed: int,
    held_out: float,
    half: Half | None,
    quality: bool,
    speed: bool,
    requests: int,
    searches: int,
    json_file: Path | None,
) -> None:
    """Find the tags of vocabularies by their aliases, by misspelt names and by inverted headings.

    A vocabulary is a folder that `ragq import tags` takes; without any it is tags_github_topics of RAGQ_DATA_DIR.
    Exact matches of aliases are switched off.

    Example:

    \b
        python -m benchmarks tags --json tags.json
        python -m benchmarks tags --data topics/ --data headings/ --no-speed
    """
    folders = (*data, *more) or (_topics(),)
    vocabularies = {str(folder): _read(folder) for folder in folders}
    machine = this_machine(PACKAGES)
    console = Console(width=132)
    console.print(machine.sentence(), highlight=False)
    encoder = SentenceTransformerEncoder(PACKAGED_EMBEDDER, threads=1)
    measured: dict[str, Measured] = {}
    for name, vocabulary in vocabularies.items() if quality else ():
        measured[name] = tag_quality.measure(vocabulary, encoder.encode, seed=seed, held_out_share=held_out, half=half)
        _show(console, name, measured[name])
    fast = None
    if speed:
        with servers() as running:
            first = next(iter(vocabularies.values()))
            fast = tag_speed.measure(running.postgres.url, first, seed=seed, requests=requests, searches=searches)
        console.print(fast.sentence(), highlight=False)
    if json_file is not None:
        content = {
            "machine": machine._asdict(),
            "quality": {name: _plain(one) for name, one in measured.items()},
            "speed": None if fast is None else fast._asdict(),
        }
        json_file.write_text(json.dumps(content, indent=2) + "\n")


def _topics() -> Path:
    folder = Path(os.environ.get("RAGQ_DATA_DIR", "../shared/data")) / "tags_github_topics"
    if not folder.is_dir():
        raise click.ClickException(f"{folder} is not there; RAGQ_DATA_DIR names the folder of the public data.")
    return folder


def _read(folder: Path) -> Vocabulary:
    return accept(parse_vocabulary({name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}))


def _plain(measured: Measured) -> dict[str, Any]:
    rows = [
        {key: value._asdict() if isinstance(value, Share) else value for key, value in row._asdict().items()}
        for row in measured.rows
    ]
    return {**measured._asdict(), "rows": rows}


def _show(console: Console, name: str, measured: Measured) -> None:
    table = Table(title=f"{name}: the tag of a lookup, 95 % intervals", title_justify="left")
    for heading in ("lookups", "method", "pairs", "hit@1", "hit@10", "fused has more @1", "@10"):
        table.add_column(heading, justify="left" if heading in ("lookups", "method") else "right")
    for row in measured.rows:
        shares = (row.hit_1, row.hit_10, row.less_1, row.less_10)
        table.add_row(row.lookups, row.method, str(row.pairs), *map(_words, shares))
    console.print(table)
    console.print(
        f"models of {measured.tokens} names, processor time: FastText and context {measured.fasttext_s:.0f} s, "
        f"sentences {measured.sentences_s:.0f} s, characters and packing {measured.similarity_s:.0f} s",
        highlight=False,
    )


def _words(share: Share | None) -> str:
    return "" if share is None else f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"
