"""Completion with the Tab key."""

from click.shell_completion import ShellComplete

from cli.main import cli


def test_a_shell_completes_commands_and_options() -> None:
    shell = ShellComplete(cli, {}, "ragq", "_RAGQ_COMPLETE")

    assert [item.value for item in shell.get_completions([], "expo")] == ["export"]
    assert [item.value for item in shell.get_completions(["report", "r1", "--loss"], "abs_")] == ["abs_norm"]
