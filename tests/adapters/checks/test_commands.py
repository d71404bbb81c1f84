"""Commands as checks: each way of ending, seen through real programs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from tests.adapters.checks.plain_containment import PlainContainment

from dwindle.adapters.checks.mechanical import CheckSettings, MechanicalChecks, digest_of
from dwindle.kernel.base_case import Verdict
from dwindle.kernel.model import Check, CheckType, Criterion
from dwindle.ports.checks import CheckResult
from dwindle.ports.process import Captured, Command

PASSED, FAILED, COULD_NOT_RUN, NOT_JUDGED = Verdict


def yes(value: str, *, control: str | None = None, timeout: int | None = None) -> Check:
    return Check(type=CheckType.COMMAND, value=value, control=control, timeout_seconds=timeout)


def no(value: str, *, control: str | None = None, timeout: int | None = None) -> Check:
    return replace(yes(value, control=control, timeout=timeout), type=CheckType.NOT_COMMAND)


def run(check: Check, tree: Path, settings: CheckSettings | None = None) -> CheckResult:
    checks = MechanicalChecks(PlainContainment(), settings)
    return asyncio.run(checks.run(check, tree))


def seen(result: CheckResult) -> tuple[Verdict, str]:
    return result.verdict, result.evidence


def test_a_command_that_exits_with_0_passes_and_its_output_is_evidence(tmp_path: Path) -> None:
    check = yes("echo all; echo good >&2")

    result = run(check, tmp_path)

    assert replace(result, seconds=0.0) == CheckResult(
        check=check,
        verdict=PASSED,
        evidence="Passed: `echo all; echo good >&2` exited with 0.\nall\ngood",
        exit_code=0,
        digest=sha256(b"all\ngood\n").hexdigest(),
    )
    assert result.seconds > 0


@pytest.mark.parametrize(
    ("line", "as_command", "as_not_command", "sentence"),
    [
        ("true", PASSED, FAILED, "exited with 0"),
        ("false", FAILED, PASSED, "exited with 1"),
        ("exit 3", FAILED, PASSED, "exited with 3"),
        ("exit 255", FAILED, PASSED, "exited with 255"),
        ("exit 128", FAILED, PASSED, "exited with 128"),
        (
            "kill -9 $$",
            COULD_NOT_RUN,
            COULD_NOT_RUN,
            "was ended by SIGKILL",
        ),
        (
            "sh -c 'kill -11 $$'; exit $?",
            COULD_NOT_RUN,
            COULD_NOT_RUN,
            "exited with 139: something in it was ended by SIGSEGV",
        ),
    ],
)
def test_how_a_command_ended_decides(
    line: str, as_command: Verdict, as_not_command: Verdict, sentence: str, tmp_path: Path
) -> None:
    positive, negative = run(yes(line), tmp_path), run(no(line), tmp_path)

    assert (positive.verdict, negative.verdict) == (as_command, as_not_command)
    assert positive.evidence.splitlines()[0].endswith(f"`{line}` {sentence}.")


@pytest.mark.parametrize("check", [yes("no-such-program"), no("no-such-program")])
def test_a_program_that_is_missing_says_neither_yes_nor_no(check: Check, tmp_path: Path) -> None:
    result = run(check, tmp_path)

    assert result.verdict is COULD_NOT_RUN
    assert result.exit_code == 127


@pytest.mark.parametrize("mode", [0o755, 0o644])
def test_a_script_whose_interpreter_is_missing_or_that_may_not_run_says_nothing(
    mode: int, tmp_path: Path
) -> None:
    script = tmp_path / "check"
    script.write_text("#!/nowhere/interpreter\n", encoding="utf-8")
    script.chmod(mode)

    results = [run(check, tmp_path) for check in (yes("./check"), no("./check"))]

    assert [r.verdict for r in results] == [COULD_NOT_RUN, COULD_NOT_RUN]
    assert [r.exit_code for r in results] == ([127, 127] if mode == 0o755 else [126, 126])


def test_without_a_shell_nothing_can_be_said(tmp_path: Path) -> None:
    checks = MechanicalChecks(PlainContainment(path=str(tmp_path)))

    result = asyncio.run(checks.run(yes("true"), tmp_path))

    assert result.verdict is COULD_NOT_RUN
    assert result.evidence.startswith("Could not run: `true` could not be started: ")


@pytest.mark.parametrize("check", [yes("sleep 60"), no("sleep 60")])
def test_what_does_not_end_in_time_says_nothing(check: Check, tmp_path: Path) -> None:
    result = run(check, tmp_path, CheckSettings(timeout_seconds=0.2))

    assert seen(result) == (COULD_NOT_RUN, "Could not run: `sleep 60` did not end within 0.2 s.")


def test_a_check_may_name_its_own_timeout(tmp_path: Path) -> None:
    containment = PlainContainment()
    checks = MechanicalChecks(containment)

    asyncio.run(checks.run(yes("true", timeout=7), tmp_path))
    asyncio.run(checks.run(yes("true"), tmp_path))

    assert [command.timeout_seconds for command in containment.commands] == [7.0, 600.0]


@pytest.mark.parametrize("line", ["if true", "echo 'unclosed", "echo )"])
@pytest.mark.parametrize("make", [yes, no])
def test_a_line_that_the_shell_cannot_read_says_nothing(
    make: Callable[[str], Check], line: str, tmp_path: Path
) -> None:
    result = run(make(line), tmp_path)

    assert result.verdict is COULD_NOT_RUN
    assert result.evidence.startswith(f"Could not run: `{line}` is not understood by the shell.")


def test_a_program_that_complains_of_a_syntax_error_has_said_no(tmp_path: Path) -> None:
    result = run(yes("echo 'syntax error in line 3'; exit 1"), tmp_path)

    assert result.verdict is FAILED


def test_grep_that_cannot_read_has_not_said_that_nothing_is_there(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("print()\n", encoding="utf-8")

    there, gone = (run(no(f"grep -r TODO {name}"), tmp_path) for name in ("src", "missing"))

    assert (there.verdict, there.exit_code) == (PASSED, 1)
    assert (gone.verdict, gone.exit_code) == (COULD_NOT_RUN, 2)


# --- controls ------------------------------------------------------------------------------------


def test_a_control_that_says_yes_lets_the_negative_check_count(tmp_path: Path) -> None:
    (tmp_path / "known").write_text("TODO\n", encoding="utf-8")
    (tmp_path / "code").write_text("done\n", encoding="utf-8")

    result = run(no("grep -q TODO code", control="grep -q TODO known"), tmp_path)

    assert seen(result) == (PASSED, "Passed: `grep -q TODO code` exited with 1.")


@pytest.mark.parametrize(
    ("control", "sentence"),
    [
        ("false", "exited with 1"),
        ("no-such-program", "exited with 127: a command or its interpreter was not found"),
    ],
)
def test_a_control_that_does_not_say_yes_makes_the_check_worthless(
    control: str, sentence: str, tmp_path: Path
) -> None:
    result = run(no("touch ran; false", control=control), tmp_path)

    assert result.verdict is COULD_NOT_RUN
    assert result.evidence.splitlines()[0] == (
        f"Could not run: its control `{control}` {sentence}, so it proves nothing."
    )
    assert not (tmp_path / "ran").exists()


def test_a_control_uses_up_time_of_its_check(tmp_path: Path) -> None:
    containment = PlainContainment()
    checks = MechanicalChecks(containment)

    asyncio.run(checks.run(no("false", control="sleep 0.1", timeout=5), tmp_path))

    first, second = (command.timeout_seconds for command in containment.commands)
    assert first == 5.0
    assert 3.0 < second <= 4.9


# --- what is asked of the containment ------------------------------------------------------------


def test_a_check_is_run_by_sh_in_a_tree_that_it_may_write(tmp_path: Path) -> None:
    containment = PlainContainment()
    settings = CheckSettings(
        network=False, environment={"CI": "1"}, hidden=(Path("/home"),), output_bytes=99
    )

    asyncio.run(MechanicalChecks(containment, settings).run(yes("pwd > here"), tmp_path))

    (command,) = containment.commands
    compiled = command.environment["PYTHONPYCACHEPREFIX"]
    assert not Path(compiled).exists()
    assert containment.commands == [
        Command(
            argv=("sh", "-c", "exec 2>&1\npwd > here"),
            cwd=tmp_path,
            environment={
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPYCACHEPREFIX": compiled,
                "CI": "1",
            },
            timeout_seconds=600.0,
            output_bytes=99,
            writable=(tmp_path,),
            hidden=(Path("/home"),),
            network=False,
            traces=False,
        )
    ]
    assert Path((tmp_path / "here").read_text().strip()) == tmp_path.resolve()


# --- evidence ------------------------------------------------------------------------------------


def test_of_a_long_output_the_end_is_shown_and_it_has_no_digest_unless_somebody_made_one(
    tmp_path: Path,
) -> None:
    settings = CheckSettings(output_bytes=400, evidence_characters=12)

    result = run(yes("seq 1000; false"), tmp_path, settings)

    assert (result.verdict, result.digest) == (FAILED, "")
    assert result.evidence == "Failed: `seq 1000; false` exited with 1.\n[...]\n999\n1000"


def test_colours_and_control_characters_do_not_reach_the_evidence(tmp_path: Path) -> None:
    result = run(yes(r"printf '\033[31mred\033[0m\a\000 \033]0;title\007x\r\n\377\n'"), tmp_path)

    assert result.evidence.splitlines()[1:] == ["red   x", "\ufffd"]


def test_a_digest_made_while_reading_is_taken_over() -> None:
    assert digest_of(Captured(head=b"a", tail=b"z", size=99, digest="cafe")) == "cafe"


# --- what no machine can judge -------------------------------------------------------------------


@pytest.mark.parametrize(
    "check",
    [
        Check(type=CheckType.ASSERTION, value="it is pleasant to use"),
        Check(
            type=CheckType.QUALITY,
            rubric=(Criterion(criterion="Design", weight=1),),
            pass_threshold=3,
        ),
    ],
)
def test_what_needs_judgement_is_not_judged(check: Check, tmp_path: Path) -> None:
    assert run(check, tmp_path) == CheckResult(
        check=check,
        verdict=NOT_JUDGED,
        evidence=f"Not judged: no machine can decide a check of type {check.type}.",
    )


@pytest.mark.parametrize("kind", [CheckType.COMMAND, CheckType.NOT_COMMAND, CheckType.NOT_FILE])
def test_a_check_without_anything_to_check_does_not_pass(kind: CheckType, tmp_path: Path) -> None:
    result = run(Check(type=kind, value=" "), tmp_path)

    assert result.verdict is COULD_NOT_RUN
