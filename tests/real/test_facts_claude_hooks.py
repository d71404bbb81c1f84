"""When the hooks of the real claude fire, and when they do not. For each version.

Nothing of ours relies on a hook to tell that a session has ended: these are the reasons.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.real.claude_session import agent_call, outcome
from tests.real.model import Failure, Lane, ModelServer, Step, ToolCall
from tests.real.programs import Program
from tests.real.stage import Stage

pytestmark = pytest.mark.slow

OK = Lane(steps=(Step("fine"),))


def with_hook(event: str, witness: Path) -> str:
    hook = {"type": "command", "command": f"touch {witness}"}
    return json.dumps({"hooks": {event: [{"hooks": [hook]}]}})


@pytest.mark.parametrize(
    ("options", "ran_it"),
    [
        pytest.param((), True, id="as it is"),
        pytest.param(("--setting-sources", ""), False, id="without sources"),
    ],
)
def test_hooks_of_the_workspace_run_unasked_unless_no_sources_are_allowed(
    stage: Stage, claude: Program, options: tuple[str, ...], ran_it: bool
) -> None:
    witness = stage.home / "witness"
    planted = stage.work / ".claude" / "settings.json"
    planted.parent.mkdir()
    planted.write_text(with_hook("UserPromptSubmit", witness))
    with ModelServer(OK) as model:
        ran = stage.run(stage.claude(claude, model, *options))
    assert outcome(ran) == (0, "success", False)
    assert witness.exists() is ran_it


USES_A_TOOL = Step(tools=(ToolCall("Bash", {"command": "ls"}),))


@pytest.mark.parametrize(
    ("limit", "last", "expected"),
    [
        pytest.param("9", Step("done"), (0, "success", False), id="a session that ends"),
        pytest.param("1", Step("done"), (1, "error_max_turns", True), id="a limit"),
        pytest.param("9", Step(failure=Failure(status=403)), (1, "success", True), id="a failure"),
    ],
)
def test_the_stop_hook_fires_only_where_a_session_ends_by_itself(
    stage: Stage, claude: Program, limit: str, last: Step, expected: tuple[int, str, bool]
) -> None:
    witness = stage.home / "witness"
    with ModelServer(Lane(steps=(USES_A_TOOL, last))) as model:
        ran = stage.run(
            stage.claude(
                claude, model, "--settings", with_hook("Stop", witness), "--max-turns", limit
            )
        )
    assert outcome(ran) == expected
    assert witness.exists() is (not expected[2])


@pytest.mark.parametrize(("turns", "fired"), [(5, True), (1, False)])
def test_the_hook_of_a_subagent_does_not_fire_at_its_limit_of_turns(
    stage: Stage, claude: Program, turns: int, fired: bool
) -> None:
    witness = stage.home / "witness"
    agent = {"description": "d", "prompt": "You are the SUB.", "tools": ["Bash"], "maxTurns": turns}
    sub = Lane(name="sub", system="You are the SUB", steps=(USES_A_TOOL, Step("sub done")))
    main = Lane(name="main", steps=(Step(tools=(agent_call("sub"),)), Step("main done")))
    with ModelServer(sub, main) as model:
        ran = stage.run(
            stage.claude(
                claude,
                model,
                *("--agents", json.dumps({"sub": agent})),
                *("--settings", with_hook("SubagentStop", witness)),
            )
        )
    assert outcome(ran) == (0, "success", False)
    lanes = [request.lane for request in model.requests]
    assert lanes == ["main", *["sub"] * (2 if fired else 1), "main"]
    assert witness.exists() is fired


def test_nor_where_the_service_fails_a_subagent(stage: Stage, claude: Program) -> None:
    witness = stage.home / "witness"
    agent = {"description": "d", "prompt": "You are the SUB.", "tools": ["Bash"]}
    refused = Step(failure=Failure(status=403))
    sub = Lane(name="sub", system="You are the SUB", steps=(USES_A_TOOL, refused))
    main = Lane(name="main", steps=(Step(tools=(agent_call("sub"),)), Step("main done")))
    with ModelServer(sub, main) as model:
        ran = stage.run(
            stage.claude(
                claude,
                model,
                *("--agents", json.dumps({"sub": agent})),
                *("--settings", with_hook("SubagentStop", witness)),
            )
        )
    assert outcome(ran) == (0, "success", False)
    assert [request.lane for request in model.requests] == ["main", "sub", "sub", "main"]
    assert not witness.exists()


MOST_BLOCKS = 8


def test_a_hook_that_never_lets_it_stop_is_overruled_and_takes_the_answer_along(
    stage: Stage, claude: Program
) -> None:
    said = json.dumps({"decision": "block", "reason": "not yet"})
    tally = stage.home / "tally"
    hook = {"type": "command", "command": f"echo >> {tally}; echo '{said}'"}
    settings = json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}})
    with ModelServer(Lane(steps=(Step("done"),), repeats=True)) as model:
        ran = stage.run(stage.claude(claude, model, "--settings", settings))
    assert outcome(ran) == (0, "success", False)
    assert ran.one("result")["result"] == ""
    asked = len(tally.read_text().splitlines())
    assert (asked, len(model.requests)) == (MOST_BLOCKS + 1, MOST_BLOCKS + 1)
