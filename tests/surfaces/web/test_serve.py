"""`dwindle serve` as a command, and what the page asks for, carried out on real repositories."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.command import PLAIN, Ended, dwindle
from tests.surfaces.small_runs import (
    ASSERTED,
    NARROW,
    RUN,
    asked_git,
    completed,
    plan_of,
    project,
    ran,
)
from tests.surfaces.web.served_runs import served

from dwindle.kernel.model import CorrectionType

pytestmark = pytest.mark.slow

LIMIT = {"kind": "SetLimit", "name": "max_iterations", "value": 77}


def test_it_says_how_to_install_what_is_missing(tmp_path: Path) -> None:
    without = (
        "import sys; sys.modules['uvicorn'] = None; sys.modules.pop('uvicorn')\n"
        "import importlib.util as util; find = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'uvicorn' else find(name, *more)\n"
        "from dwindle.__main__ import main; sys.argv[1:] = ['serve']; sys.exit(main())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", without], cwd=tmp_path, env=PLAIN, capture_output=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr.decode()) == (
        2,
        b"",
        "dwindle: the page needs packages that are not installed\n  pip install 'dwindle[web]'\n",
    )


def test_no_other_command_imports_anything_of_the_page(tmp_path: Path) -> None:
    tell = (
        "import sys; from dwindle.__main__ import main\n"
        "try: main()\n"
        "finally: print([m for m in sys.modules if m.split('.')[0] in ('starlette', 'uvicorn')"
        " or m.startswith('dwindle.surfaces.web')], file=sys.stderr)\n"
    )
    command = ["dwindle.surfaces.web", "dwindle.surfaces.web.command"]
    for words in (["--help"], ["graph"], ["serve", "--help"]):
        ended = subprocess.run(
            [sys.executable, "-c", tell, *words],
            cwd=tmp_path,
            env=PLAIN,
            capture_output=True,
            check=False,
        )
        allowed = [] if words == ["graph"] else command
        assert ended.stderr.decode().splitlines()[-1] in ("[]", str(allowed))


def test_a_port_that_is_taken_is_said_with_a_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = dwindle(tmp_path, "serve", "--port", str(port))
    assert said == Ended(
        code=2,
        err=f"dwindle: 127.0.0.1:{port}: cannot listen: Address already in use\n"
        "  --port 0 takes any that is free\n",
    )


def test_a_folder_without_a_plan_has_a_page_that_says_so(tmp_path: Path) -> None:
    with served(tmp_path) as page:
        assert page.ask("/api/runs")[2] == {
            "runs": [],
            "current": None,
            "folder": tmp_path.name,
        }
        assert page.ask("/api/runs/current/layout")[0] == 404


def test_an_address_that_others_reach_needs_the_token_for_everything(tmp_path: Path) -> None:
    with served(tmp_path, "--host", "0.0.0.0") as page:  # noqa: S104 - that is what is tested
        assert "?token=" in page.link
        assert [page.ask(path)[0] for path in ("/", "/static/main.js", "/api/runs")] == [401] * 3
        assert page.ask(f"/?token={page.token}")[0] == 200
        assert page.ask("/api/runs", authorization=f"Bearer {page.token}")[0] == 200


def test_a_plan_at_rest_is_redirected_once_its_effect_was_seen(tmp_path: Path) -> None:
    folder = project(tmp_path / "resting", draft=NARROW)
    assert dwindle(folder, "step").code == 0
    with served(folder) as page:
        wish = {"edits": [LIMIT], "why": "more time"}
        status, shown = page.do(f"/api/runs/{RUN}/preview", wish)
        assert (status, shown["said"][0]) == (200, "constraint_change: the Trail is kept")
        # What was shown is not what it would do now: it is shown again, and not done.
        stale = {**wish, "effect": ["something else"]}
        status, said = page.do(f"/api/runs/{RUN}/redirect", stale)
        assert (status, said["said"]) == (409, shown["said"])
        assert plan_of(folder).corrections == ()
        status, said = page.do(f"/api/runs/{RUN}/redirect", {**wish, "effect": shown["said"]})
        assert (status, said["said"][-1]) == (200, "redirected; `dwindle run` continues from here")
        status, said = page.do(f"/api/runs/{RUN}/stop", {})
        assert (status, said["error"]) == (400, "no run is listening here")
    plan = plan_of(folder)
    assert plan.limits.max_iterations == 77
    assert [(c.type, c.description) for c in plan.corrections] == [
        (CorrectionType.CONSTRAINT_CHANGE, "more time")
    ]


def test_a_run_is_landed_only_once_its_effect_was_seen(tmp_path: Path) -> None:
    folder = completed(tmp_path / "landed")
    before = asked_git(folder, "rev-parse", "main")
    with served(folder) as page:
        land = f"/api/runs/{RUN}/land"
        assert page.ask(land, {"style": "keep"})[0] == 401
        status, said = page.do(land, {"style": "rebase"})
        assert (status, said["error"]) == (400, "the style has to be one of keep, merge, squash")
        status, said = page.do(land, {"style": "merge", "onto": "nowhere", "preview": True})
        assert (status, "nowhere" in said["error"]) == (400, True)
        status, shown = page.do(land, {"style": "merge", "preview": True})
        assert (status, shown["said"]) == (
            200,
            [f"1 commit of runner/{RUN} on main: merge", f"files in {folder} are written"],
        )
        # Neither without an effect nor with another one.
        for effect in (None, ["something else"]):
            status, said = page.do(land, {"style": "merge", "effect": effect})
            assert (status, said["said"]) == (409, shown["said"])
        assert asked_git(folder, "rev-parse", "main") == before
        status, said = page.do(land, {"style": "merge", "effect": shown["said"]})
        assert (status, said["said"][0].partition(": ")[0]) == (
            200,
            f"landed 1 commit of runner/{RUN} on main",
        )
    assert asked_git(folder, "rev-parse", "main^1") == before
    assert (folder / "done").exists()


def test_a_word_is_given_only_where_it_was_asked_for(tmp_path: Path) -> None:
    folder = project(tmp_path / "asked", draft=ASSERTED)
    ran(folder, 11)
    with served(folder) as page:
        for body, error in (
            ({"answer": "maybe"}, "the answer has to be yes or no"),
            ({"item": "It is blue", "answer": "yes"}, "there is no question 'It is blue'"),
        ):
            status, said = page.do(f"/api/runs/{RUN}/confirm", body)
            assert (status, said["error"]) == (400, error) or error in said["error"]
        status, said = page.do(f"/api/runs/{RUN}/confirm", {"answer": "no", "words": "too long"})
        assert (status, said["said"][0]) == (200, "no: It reads well")
    assert plan_of(folder).verification.questions[0].words == "too long"
