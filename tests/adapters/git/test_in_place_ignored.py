"""What was ignored when an iteration began is the person's, and in no commit of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.git.in_place_places import KEPT, at_home, begun, in_step, status, subject
from tests.adapters.git.places import FILES, files_at, git, story, write

from dwindle.adapters.git.in_place.ignored import Ignored, note

pytestmark = pytest.mark.slow

SECRETS = {"keys.log": "secret\n", "build/key": "secret\n", "src/own.log": "secret\n"}
OTHER_RULES = {
    "fewer rules": {".gitignore": "node_modules/\n"},
    "no rules": {".gitignore": ""},
    "a rule that says otherwise": {".gitignore": FILES[".gitignore"] + "!keys.log\n!build/\n"},
    "a new file with rules": {".gitignore": FILES[".gitignore"], "src/.gitignore": "!own.log\n"},
}


@pytest.mark.parametrize("rules", OTHER_RULES)
@story
async def test_nothing_that_was_ignored_is_committed(place: Path, rules: str) -> None:
    write(place, SECRETS)
    home, base = await begun(place)
    write(place, OTHER_RULES[rules] | {"work.txt": "work\n"})

    found = await home.difference(base)

    more = {".gitignore"} if rules == "a rule that says otherwise" else set()
    assert set(found.paths) == {"work.txt", *more}
    assert len(found.notes) == 1
    assert found.notes[0].startswith(
        "ignored by git when the iteration began, and therefore not committed: "
    )
    assert found.notes[0].endswith("ignore hold again")
    commit = await home.commit(base, subject(1))
    in_step(place, commit)
    held = files_at(place, commit)
    assert held.pop(".gitignore").endswith(FILES[".gitignore"])
    assert held == {name: FILES[name] for name in FILES if name != ".gitignore"} | {
        "work.txt": "work\n"
    }
    assert {name: (place / name).read_text() for name in SECRETS} == SECRETS
    assert await home.dirt() == ()


@story
async def test_rules_that_an_agent_added_still_hold(place: Path) -> None:
    """Else what it meant to be ignored, an installation say, would be committed."""
    write(place, SECRETS)
    home, base = await begun(place)
    write(place, {".gitignore": "!keys.log\nvenv/\n\n*.log\n", "venv/lib/big": "x\n"})

    found = await home.difference(base)

    assert found.paths == (".gitignore",)
    commit = await home.commit(base, subject(1))
    in_step(place, commit)
    rules = f"!keys.log\nvenv/\n{FILES['.gitignore']}"
    assert files_at(place, commit) == FILES | {".gitignore": rules}
    assert await home.dirt() == ()


@story
async def test_what_an_agent_added_by_force_is_left_out(place: Path) -> None:
    write(place, SECRETS)
    home, base = await begun(place)
    write(place, {"work.txt": "work\n"})
    git(place, "add", "--force", "keys.log", "build/key", "work.txt")
    git(place, "commit", "--quiet", "--message=all of it")

    found = await home.difference(base)

    assert (found.paths, found.trouble) == (("work.txt",), "")
    assert found.notes == (note(["build/key", "keys.log"], ()),)
    commit = await home.commit(base, subject(1))
    in_step(place, commit)
    assert files_at(place, commit) == FILES | {"work.txt": "work\n"}


@story
async def test_what_was_brought_to_light_after_the_difference_is_left_out_too(place: Path) -> None:
    """By the guard, say."""
    write(place, SECRETS)
    home, base = await begun(place)
    write(place, {"work.txt": "work\n"})
    assert (await home.difference(base)).paths == ("work.txt",)
    write(place, {".gitignore": ""})
    commit = await home.commit(base, subject(1))
    in_step(place, commit)
    assert files_at(place, commit) == FILES | {"work.txt": "work\n"}
    assert await home.dirt() == ()


@story
async def test_rules_may_change_where_they_bring_nothing_to_light(place: Path) -> None:
    write(place, {"keys.log": "secret\n"})
    home, base = await begun(place)
    rules = "*.log\nmore/\n"  # build/ is not ignored any more, and was not there
    write(place, {".gitignore": rules, "build/made": "by the agent\n"})
    found = await home.difference(base)
    assert (found.paths, found.notes) == ((".gitignore", "build/made"), ())
    commit = await home.commit(base, subject(1))
    in_step(place, commit)
    assert files_at(place, commit) == FILES | {".gitignore": rules, "build/made": "by the agent\n"}


@story
async def test_an_attempt_of_a_killed_runner_has_nothing_of_it_either(place: Path) -> None:
    write(place, SECRETS)
    home, base = await begun(place)
    await home.hand_over(base)
    home.close()
    write(place, {".gitignore": "\n", "work.txt": "work\n"})
    again = await at_home(place)
    assert await again.set_aside(base, "unfinished") == f"{KEPT}/unfinished"
    kept = files_at(place, f"{KEPT}/unfinished")
    assert kept == FILES | {".gitignore": "\n", "work.txt": "work\n"}
    assert status(place) == ""
    assert {name: (place / name).read_text() for name in SECRETS} == SECRETS


def test_a_folder_that_is_ignored_holds_all_that_is_below_it() -> None:
    seen = Ignored.of(["?? new", "!! .env", "!! a/cache/", "!! b/x.log"])
    paths = [".env", "a/cache/deep/x", "a/cache", "b/x.log", "b/y.log", "new", "x/.env"]
    assert seen.among(paths) == [".env", "a/cache/deep/x", "b/x.log"]
    assert Ignored().among(paths) == []


def test_a_long_list_is_cut() -> None:
    assert note([str(n) for n in range(7)], [".gitignore"]) == (
        "ignored by git when the iteration began, and therefore not committed: "
        "0, 1, 2, 3, 4 and 2 more; the old rules in .gitignore hold again"
    )
