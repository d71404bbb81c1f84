"""The draft of a dialogue, in a file from the first answer on: what a user typed is not lost.

`align --from` reads the file. What the planner asked and the user answered stands in comments below
the draft, so that line numbers are those of the draft. The file is removed when the plan is
written, unless the user names it with `--from`; a draft of an earlier dialogue that the user does
not go on with gets another name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dwindle.adapters.git.repository import Repository
from dwindle.adapters.store.disk import DurableFile, RealDisk, make_directory
from dwindle.app.console import complain
from dwindle.ports.work import Said, Speaker

DRAFT_FILE: Final = ".runner/draft.yaml"
EXCLUDED: Final = "/.runner/draft*.yaml"
MARKS: Final = {Speaker.PLANNER: "# The planner asked: ", Speaker.PERSON: "# You said: "}
_LINE: Final = re.compile(
    rf"^({'|'.join(map(re.escape, MARKS.values()))})(\".*\")\n?", re.MULTILINE
)
_END: Final = re.compile(r"^---\n(?:.*\n)*?(?=---\n)")
"""Of the front matter, where a draft has one."""


class KeptDraft:
    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._disk = RealDisk()
        self._file = DurableFile(self._disk, repository.checkout / DRAFT_FILE)
        self._text = ""
        self.transcript: tuple[Said, ...] = ()
        self.is_ours = False
        """Whether this dialogue has written the file, or goes on with it."""
        self._stays = False

    @property
    def path(self) -> Path:
        return self._file.path

    def exists(self) -> bool:
        return self._file.exists()

    def take_up(self, *, stays: bool = False) -> str:
        """Go on with the draft of an earlier dialogue; `stays`: the file is the user's."""
        self.is_ours = True
        self._stays = stays
        text = self._file.read().decode(errors="replace")
        speakers = {mark: speaker for speaker, mark in MARKS.items()}
        self.transcript = tuple(
            Said(by=speakers[mark], text=_unquoted(words)) for mark, words in _LINE.findall(text)
        )
        self._text = without_transcript(text)
        return self._text

    def keep(self, text: str) -> None:
        """Raises StoreFailed or WorkspaceFailed if it cannot."""
        self._text = text
        if not self.is_ours:
            make_directory(self._disk, self.path.parent)
            self._repository.exclude((EXCLUDED,))
            self._set_aside()
            self.is_ours = True
        self._file.replace(_with_transcript(text, self.transcript).encode(errors="surrogateescape"))

    def record(self, transcript: Sequence[Said]) -> None:
        """What planner and user have said up to now."""
        self.transcript = tuple(transcript)
        self.keep(self._text)

    def remove(self) -> None:
        """The plan is written."""
        if self.is_ours and not self._stays:
            self.path.unlink(missing_ok=True)

    def _set_aside(self) -> None:
        if not self._file.exists():
            return
        number = 1
        while (other := self.path.with_name(f"draft-{number}.yaml")).exists():
            number += 1
        self.path.rename(other)
        complain(f"The draft of before is now {Path(DRAFT_FILE).with_name(other.name)}.")


def without_transcript(text: str) -> str:
    return _LINE.sub("", text)


def _with_transcript(text: str, transcript: Sequence[Said]) -> str:
    lines = "".join(
        f"{MARKS[said.by]}{json.dumps(said.text, ensure_ascii=False)}\n" for said in transcript
    )
    front = _END.match(text)
    end = len(text) if front is None else front.end()
    return text[:end] + lines + text[end:]


def _unquoted(words: str) -> str:
    try:
        return str(json.loads(words))
    except ValueError:  # edited by hand
        return words
