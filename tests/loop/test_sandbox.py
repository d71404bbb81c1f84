"""What `[sandbox]` lets agents and checks have, and what the certificate says of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.loop.story import RUN, Story, did, ran

from dwindle.kernel.base_case import Verdict
from dwindle.runner.gate.certificate import Certificate

pytestmark = pytest.mark.slow


@pytest.fixture
def outside() -> Iterator[Path]:
    """Not under /tmp, which is private anyway."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


def certificate(story: Story) -> Certificate:
    path = story.folder / ".runner/iterations" / RUN / "certificate.json"
    return Certificate.from_json(path.read_bytes())


def test_no_agent_writes_outside_of_its_tree(tmp_path: Path, outside: Path) -> None:
    work = did({"a.txt": "a\n"}, ran(f"touch {outside}/worker || true"))
    check = f"test -f a.txt && ! touch {outside}/check"

    assert Story(tmp_path).atom("A1", work).done_when(check).run().code == 0
    assert list(outside.iterdir()) == []


def test_what_a_person_opens_is_open_and_certified(
    tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_WORD", "hello")
    work = did({"a.txt": "a\n"}, ran(f"touch {outside}/worker"))
    check = f"touch {outside}/check && test $(tail -n +3 /proc/net/dev | grep -vc ' lo:') = 0"
    lines = f'writable = ["{outside}"]\nenv = ["MY_WORD"]\nnetwork = false'
    story = Story(tmp_path).atom("A1", work).done_when(f"test -f a.txt && {check}")
    story.settings("sandbox", lines).settings("limits", "processes = 500")

    ended = story.aligned("--already-green-ok").called("run")

    assert ended.code == 0, ended
    assert sorted(path.name for path in outside.iterdir()) == ["check", "worker"]
    found = certificate(story)
    assert found.verdict is Verdict.PASSED
    contained = found.containment
    assert (contained.network, contained.writable, contained.env, contained.processes) == (
        False,
        (str(outside),),
        ("MY_WORD",),
        500,
    )


def test_no_sandbox_works_says_so_loudly_and_is_on_record(tmp_path: Path, outside: Path) -> None:
    work = did({"a.txt": "a\n"}, ran(f"touch {outside}/worker"))
    story = Story(tmp_path).atom("A1", work).done_when("test -f a.txt").aligned()

    ended = story.called("run", "--no-sandbox")

    assert (ended.code, [path.name for path in outside.iterdir()]) == (0, ["worker"])
    assert "dwindle: NO SANDBOX: agents and checks can do everything that you can do" in ended.err
    found = certificate(story).containment
    assert (found.strength, found.mechanism) == (
        "weak",
        "none (process group only; files not restricted)",
    )


def test_a_full_disk_ends_the_run_before_an_attempt_is_spent(tmp_path: Path) -> None:
    story = Story(tmp_path).atom("A1", did({"a.txt": "a\n"})).done_when("test -f a.txt").aligned()
    config = story.folder / ".runner/config.toml"
    config.write_text(config.read_text() + "\n[limits]\nfree_disk_percent = 100\n")

    ended = story.called("run")

    assert (ended.code, story.plan.control.stop_code) == (43, "io_error")
    assert "it was not started: the disk of " in (story.plan.control.stop_reason or "")
    assert [atom.attempts for atom in story.plan.atoms.values()] == [0]
