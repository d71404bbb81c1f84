"""Files that are put back have the bytes of before, in whatever form git would write them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.git.in_place_places import at_home, begun, in_step, status, subject
from tests.adapters.git.places import git, story

pytestmark = pytest.mark.slow

LF, CRLF = b"one\ntwo\n", b"one\r\ntwo\r\n"
FORMS = [("eol=crlf", LF), ("eol=crlf", CRLF), ("eol=lf", CRLF), ("eol=lf", LF), ("text", LF)]


@pytest.mark.parametrize(("attribute", "content"), FORMS)
@pytest.mark.parametrize("how", ["set aside", "undone", "restored", "set aside by another runner"])
@story
async def test_the_line_ends_of_before(
    place: Path, attribute: str, content: bytes, how: str
) -> None:
    (place / ".gitattributes").write_text(f"*.txt text {attribute}\n")
    file = place / "a b.txt"
    file.write_bytes(content)
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=a text")
    home, base = await begun(place)
    file.write_bytes(b"something else\n")
    if how == "undone":
        await home.undo(base, ".runner/", "A/1")
    elif how == "restored":
        await home.restore(base, ["a b.txt"])
    elif how == "set aside":
        await home.set_aside(base, "A/1")
    else:
        await home.hand_over(base)
        home.close()
        home = await at_home(place)
        await home.set_aside(base, "A/1")
    assert file.read_bytes() == content
    assert status(place) == ""
    in_step(place, base)
    assert await home.dirt() == ()


@story
async def test_what_an_agent_wrote_in_an_earlier_iteration_keeps_its_form(place: Path) -> None:
    home, base = await begun(place)
    (place / ".gitattributes").write_text("*.txt text eol=crlf\n")
    (place / "new.txt").write_bytes(LF)
    await home.difference(base)
    base = await home.commit(base, subject(1))
    assert await home.dirt() == ()
    (place / "new.txt").unlink()
    await home.set_aside(base, "A/1")
    assert (place / "new.txt").read_bytes() == LF
    in_step(place, base)
