"""Taking fields out of a decoded object, one by one, and noting all that is wrong with them.

A model that gets all faults at once can fix all of them at once. So a fault is noted and reading
goes on with a harmless value; the caller asks at the end whether there was any.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final

from dwindle.adapters.agents.reports.strict_json import Object, kind_of
from dwindle.text.escape import is_plain

MAX_FAULTS: Final = 20
MARK: Final = " [...]"
MAX_PATH: Final = 4096
MAX_NUMBER: Final = 10**15
"""Nothing that is counted or weighed here comes near it."""
MISSPELT: Final = 0.82
"""As alike are `succes` and `success`; `cost` and `scores` are not."""


class Faults:
    """What is wrong with a report, in the order in which it was found."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.ignored: list[str] = []
        """Keys that mean nothing to us."""

    def add(self, what: str) -> None:
        self.found.append(what)

    def __bool__(self) -> bool:
        return bool(self.found)

    def __str__(self) -> str:
        shown = self.found[:MAX_FAULTS]
        more = len(self.found) - len(shown)
        return "; ".join([*shown, f"and {more} more"] if more else shown)


class Fields:
    """One object of a report. A key that is null counts as left out."""

    def __init__(
        self,
        found: object,
        where: str,
        faults: Faults,
        known: tuple[str, ...],
        meaningful: tuple[str, ...] | None = None,
    ) -> None:
        """An unknown key is a fault, unless it is neither misspelt nor one of the `meaningful`."""
        self.where = where
        self.faults = faults
        self.values: Object = {}
        if not isinstance(found, dict):
            faults.add(f"{where or 'the report'} is {kind_of(found)}, not an object")
            return
        self.values = {name: value for name, value in found.items() if value is not None}
        for name in found:
            if name not in known:
                is_misspelt = difflib.get_close_matches(name[:60], known, cutoff=MISSPELT)
                if meaningful is not None and not is_misspelt and name not in meaningful:
                    faults.ignored.append(shown(name))
                    continue
                near = difflib.get_close_matches(name[:60], known, n=1)
                hint = f" (did you mean {near[0]}?)" if near else ""
                plain = name.isascii() and name.isidentifier() and len(name) <= 60
                faults.add(f"{self.at(name if plain else shown(name))} is not a key of it{hint}")

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def at(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def raw(self, name: str) -> Any:
        return self.values.get(name)

    def flag(self, name: str, *, default: bool | None = None) -> bool:
        value = self.values.get(name, default)
        if isinstance(value, bool):
            return value
        self._unfit(name, value, "true or false")
        return False

    def text(self, name: str, most: int, *, needed: bool = False) -> str:
        """A text, cut where it is too long: no work is lost for many words."""
        value = self.values.get(name, None if needed else "")
        if not isinstance(value, str):
            self._unfit(name, value, "a text")
            return ""
        if needed and not value.strip():
            self.faults.add(f"{self.at(name)} is blank")
        return value if len(value) <= most else value[: most - len(MARK)] + MARK

    def whole(self, name: str) -> int | None:
        value = self.number(name)
        if isinstance(value, float):
            self.faults.add(f"{self.at(name)} is {value}, not a whole number")
            return None
        return value

    def number(self, name: str) -> int | float | None:
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            self._unfit(name, value, "a number")
            return None
        if abs(value) > MAX_NUMBER:
            self.faults.add(f"{self.at(name)} is a number out of all bounds")
            return None
        return value

    def items(self, name: str, most: int) -> list[Any]:
        value = self.values.get(name, [])
        if not isinstance(value, list):
            self._unfit(name, value, "a list")
            return []
        if len(value) > most:
            self.faults.add(f"{self.at(name)} has {len(value)} entries, at most {most} are taken")
            return []
        return value

    def texts(self, name: str, most: int, length: int) -> Iterator[str]:
        for index, value in enumerate(self.items(name, most)):
            if isinstance(value, str):
                yield value if len(value) <= length else value[: length - len(MARK)] + MARK
            else:
                self.faults.add(f"{self.at(name)}[{index}] is {kind_of(value)}, not a text")

    def paths(self, name: str, most: int, *, absolute: bool = False) -> tuple[str, ...]:
        """Relative paths that stay inside of the workspace, as git would spell them.

        `absolute` ones may be given too: the caller that knows the workspace looks at them.
        """
        found: dict[str, None] = {}
        for text in self.texts(name, most, MAX_PATH + 1):
            wrong = _wrong_path(text[1:] if absolute and text.startswith("/") else text)
            if wrong:
                self.faults.add(f"{self.at(name)} has {shown(text)}, which {wrong}")
            else:
                found[PurePosixPath(text).as_posix()] = None
        return tuple(found)

    def _unfit(self, name: str, value: object, wanted: str) -> None:
        if name not in self.values:
            self.faults.add(f"{self.at(name)} is missing")
        else:
            self.faults.add(f"{self.at(name)} is {kind_of(value)}, not {wanted}")


def shown(text: str, most: int = 60) -> str:
    """Quoted, in one line, and cut."""
    return ascii(text) if len(text) <= most else f"{text[:most]!a}..."


def _wrong_path(text: str) -> str:
    parts = PurePosixPath(text).parts
    if not text.strip() or not parts:
        return "names no file"
    if len(text) > MAX_PATH:
        return f"is longer than {MAX_PATH} characters"
    if text.startswith(("/", "~")):
        return "is not relative to the workspace"
    if ".." in parts:
        return "leads out of the workspace"
    if not is_plain(text) or "\n" in text or "\t" in text:
        return "has a control character in it"
    return ""
