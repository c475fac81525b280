"""`ragq export`, `verify` and `import-run`: a run as a file, checked without a database, and in another one."""

from dataclasses import asdict
from pathlib import Path

import click

from cli.drawing import Text
from cli.ids import RUN
from cli.output import draw, json_option, print_json, print_result
from cli.session import with_database
from stages.reports.numbers_in_words import counted

_BUNDLE = click.argument("bundle", type=click.Path(exists=True, dir_okay=False, path_type=Path))


@click.command(name="export")
@click.argument("run_id", metavar="RUN", type=RUN)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write.  [default: rN.ragq.zip]",
)
@click.option("--with-text", is_flag=True, help="With transcripts, quotes, prompts, replies, questions and vectors.")
@click.option("--parquet/--no-parquet", default=True, help="Write the rows as Parquet too, which takes pyarrow.")
@click.option(
    "--sign",
    "key",
    metavar="KEY",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Sign by this SSH key: FILE.sig is written beside FILE.",
)
@click.option("--force", is_flag=True, help="Replace FILE.")
@json_option
def export_command(
    run_id: int, output: Path | None, with_text: bool, parquet: bool, key: Path | None, force: bool, as_json: bool
) -> None:
    """Write a finished run to one file: rows, settings, versions, hashes, and what its reports are computed from.

    Without --with-text no word of a transcript, question, prompt or reply is in it: numbers, names, labels and hashes
    are. The run is audited first.

    \b
    Example:
        ragq export r12
        ragq export r12 --output ours.ragq.zip --sign ~/.ssh/id_ed25519
    """
    from services.bundles import signatures
    from services.bundles.export import export_run

    path = output or Path(f"r{run_id}.ragq.zip")
    if path.exists() and not force:
        raise click.UsageError(f"{path} exists; --force replaces it.")
    if not path.absolute().parent.is_dir():
        raise click.UsageError(f"{path.parent} is no folder.")
    exported = with_database(
        lambda connection: export_run(connection, run_id, path, with_text=with_text, with_parquet=parquet)
    )
    signature = None if key is None else signatures.sign(path, key)
    if as_json:
        print_json({**asdict(exported), "signature": None if signature is None else str(signature)})
        return
    click.echo(f"{path}")
    rows = ", ".join(f"{count} {table}" for table, count in exported.rows.items() if count)
    draw(f"r{run_id}: {rows}; {exported.bytes} bytes.", err=True)
    draw(f"bundle {exported.bundle}", err=True)
    if signature is not None:
        draw(f"signature {signature}", err=True)
    if not with_text:
        draw(f"{counted(exported.withheld, 'text')} withheld; --with-text includes them.", err=True)


@click.command()
@_BUNDLE
@click.option(
    "--allowed-signers",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Keys by name, as ssh-keygen reads them; the signature has to be by --signer.",
)
@click.option("--signer", metavar="NAME", help="Who has to have signed it, by the name in --allowed-signers.")
@json_option
def verify(bundle: Path, allowed_signers: Path | None, signer: str | None, as_json: bool) -> None:
    """Check a bundle without a database: every byte, every hash, the chain of attempts. Exit code 1 when one differs.

    Without text the hashes of outputs cannot be recomputed; the result states of how many.

    \b
    Example:
        ragq verify r12.ragq.zip
        ragq verify r12.ragq.zip --allowed-signers signers --signer lab@example.org
    """
    from services.bundles import signatures
    from services.bundles.verify import verify_bundle

    if (allowed_signers is None) is not (signer is None):
        raise click.UsageError("--allowed-signers and --signer go together.")
    found = verify_bundle(bundle)
    signature = signatures.check(bundle, allowed_signers=allowed_signers, signer=signer)
    problems = [*found.problems, *([signature.words] if signature and not signature.is_valid else [])]
    if as_json:
        print_json(
            {
                **asdict(found),
                "problems": problems,
                "signature": None if signature is None else signature._asdict(),
                "proves": None if problems else found.proves,
            }
        )
    else:
        for problem in problems:
            click.echo(problem)
        click.echo(
            f"{counted(found.members, 'member')}, {counted(found.attempts, 'attempt')}: {found.links} links and "
            f"{found.outputs} outputs recomputed, {found.withheld} outputs without text; "
            f"{counted(len(problems), 'problem')}."
        )
        if found.bundle is not None:
            click.echo(f"bundle {found.bundle}")
        if signature is not None and signature.is_valid:
            click.echo(signature.words)
        if not problems:
            draw(Text(found.proves, "dim"), err=True)
    if problems:
        raise SystemExit(1)


@click.command()
@_BUNDLE
@json_option
def import_run(bundle: Path, as_json: bool) -> None:
    """Store the run of a bundle, to report it and to compare it with runs of this database.

    The bundle is verified first. The run is marked as imported wherever it is shown, and nothing computes on it: it
    cannot be retried, and no run is given its replies. Importing the same bundle again stores nothing.

    \b
    Example:
        ragq import-run r12.ragq.zip
        ragq diff r40 r12
    """
    from services.bundles.import_run import import_bundle

    found = with_database(lambda connection: import_bundle(connection, bundle))
    words = f"r{found.run_id}: {found.of} of {bundle.name}, {counted(found.jobs, 'job')}" + (
        "" if found.is_new else "; it was imported before, and nothing new was stored"
    )
    print_result({**asdict(found), "run_id": f"r{found.run_id}"}, words, as_json=as_json)
