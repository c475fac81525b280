"""A mistyped name is refused with the name that was probably meant."""

from tests.cli.conftest import Ragq


def test_commands_options_choices_and_ids_are_suggested(ragq: Ragq) -> None:
    for typed, meant in [
        ("sumbit", "Did you mean 'submit'?"),
        ("show r1 --jsno", "Did you mean '--json'?"),
        ("query lsit", "Did you mean 'list'?"),
        ("import wroks", "Did you mean 'works'?"),
        ("report r1 --loss ab_nrom", "Did you mean 'abs_norm'?"),
        ("template show query_expansoin", "Did you mean 'query_expansion'?"),
        ("diff r1 r2 --mode zeroshot", "Did you mean 'zero_shot'?"),
        ("show j12", "'j12' is a job; `ragq inspect j12` shows it."),
        ("fork r12 --from scroe", "Did you mean 'score'?"),
        ("corpus remove shelf tea", "'tea' is not the number of a work; `ragq corpus show CORPUS` has the numbers."),
        ("inspect r12", "'r12' is a run; `ragq show r12` lists its jobs."),
    ]:
        done = ragq(*typed.split())

        assert (done.exit_code, meant in done.stderr) == (2, True), done.stderr
