"""Why a command does not do what was asked: what is wrong, where, and what to do next."""

from __future__ import annotations

IO_ERROR = 43
"""As the kernel has it, which a hook does without."""

MAKE_ROOM = "make room on the disk, then repeat the command"
LOOK_AROUND = "`dwindle doctor` looks at what a run needs here"


class Refused(Exception):
    """Nothing was done and nothing was changed; the exit code is 2, unless said otherwise."""

    def __init__(self, what: str, *, where: str = "", hint: str = "", code: int = 2) -> None:
        super().__init__(what, where, hint)
        self.what = what
        self.where = where
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"\n  {self.hint}" if self.hint else ""
        return f"dwindle: {place}{self.what}{advice}"


def refused_by(trouble: Exception) -> Refused:
    """What went wrong with git, in its own words; where these do not say what to do, we do."""
    said = str(trouble)
    if getattr(trouble, "is_disk_full", False):
        return Refused(said, hint=MAKE_ROOM, code=IO_ERROR)
    return Refused(said, hint="" if "`" in said or "; " in said else LOOK_AROUND)
