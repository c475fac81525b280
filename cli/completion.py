"""`ragq completion`: the Tab key completes commands, options, and names that are stored."""

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from cli.choices import Choice
from cli.completed_names import VARIABLE
from cli.output import json_option, print_result

SHELLS: Final = ("bash", "zsh", "fish")

#: zsh defines `compdef` with its completion system, which not every .zshrc starts.
_ZSH_START = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"

_SHELL = click.option("--shell", type=Choice(SHELLS), help="Shell to complete in.  [default: the one that SHELL names]")


@click.group("completion", context_settings={"help_option_names": ["-h", "--help"]})
def completion_group() -> None:
    """Let the Tab key of bash, zsh or fish complete commands, options, runs, presets, corpora and other names.

    \b
    Example:
        ragq completion install
    """


@completion_group.command()
@_SHELL
@json_option
@click.pass_context
def install(context: click.Context, shell: str | None, as_json: bool) -> None:
    """Install completion for the present user; new shells have it.

    Writes a script for the shell, and for bash and zsh a line into .bashrc or .zshrc, which loads it. Installing again
    brings the script up to date and adds no second line.

    \b
    Example:
        ragq completion install
        ragq completion install --shell zsh
    """
    chosen = _chosen(shell)
    script = _script_path(chosen)
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_script(context, chosen), encoding="utf-8")
    start = _start_file(chosen)
    if start is not None:
        _load_once(script, start)
    files = [str(path) for path in (script, start) if path is not None]
    words = f"Completion for {chosen} is installed ({', '.join(files)}); open a new terminal to use it."
    print_result({"shell": chosen, "files": files}, words, as_json=as_json)


@completion_group.command()
@_SHELL
@click.pass_context
def show(context: click.Context, shell: str | None) -> None:
    """Print the script that `ragq completion install` writes, for shells that are set up otherwise.

    \b
    Example:
        ragq completion show --shell fish > ~/.config/fish/completions/ragq.fish
    """
    click.echo(_script(context, _chosen(shell)))


def _chosen(shell: str | None) -> str:
    found = shell or Path(os.environ.get("SHELL", "")).name
    if found not in SHELLS:
        raise click.UsageError(f"SHELL names {found or 'no shell'}; choose one with --shell: {', '.join(SHELLS)}.")
    return found


def _script(context: click.Context, shell: str) -> str:
    completion = get_completion_class(shell)
    assert completion is not None
    source = completion(context.find_root().command, {}, "ragq", VARIABLE).source()
    return f"{_ZSH_START}{source}" if shell == "zsh" else source


def _script_path(shell: str) -> Path:
    """fish loads a file of its folder of completions by itself."""
    if shell == "fish":
        return _folder("XDG_CONFIG_HOME", ".config") / "fish/completions/ragq.fish"
    return _folder("XDG_DATA_HOME", ".local/share") / f"ragq/completion.{shell}"


def _start_file(shell: str) -> Path | None:
    """The file that a new shell reads, where the script has to be named in it."""
    match shell:
        case "bash":
            return Path.home() / ".bashrc"
        case "zsh":
            return _folder("ZDOTDIR", "") / ".zshrc"
    return None


def _folder(variable: str, below_home: str) -> Path:
    named = os.environ.get(variable)
    return Path(named) if named else Path.home() / below_home


def _load_once(script: Path, start: Path) -> None:
    line = f'[ ! -f "{script}" ] || . "{script}"  # completion of ragq'
    present = start.read_text(encoding="utf-8") if start.exists() else ""
    if line not in present.splitlines():
        separator = "" if not present or present.endswith("\n") else "\n"
        with start.open("a", encoding="utf-8") as file:
            file.write(f"{separator}{line}\n")
