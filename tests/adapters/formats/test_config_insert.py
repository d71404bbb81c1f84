"""Setting keys of a table in a settings file that a user has written."""

from __future__ import annotations

import pytest

from dwindle.adapters.formats.config.insert import with_values
from dwindle.app.init.scaffold import SETTINGS

SHARE = {"share": (".venv",)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[workspace]\nshare = [".venv"]\n'),
        ("[agents]\n# mine", '[agents]\n# mine\n\n[workspace]\nshare = [".venv"]\n'),
        (
            '[workspace] # mine\nsetup = "x"\nshare = ["a"]\n[git]\n',
            '[workspace] # mine\nshare = [".venv"]\nsetup = "x"\n[git]\n',
        ),
        (
            "#[workspace]\n# why\n#share = []\n#[git]\n",
            '[workspace]\nshare = [".venv"]\n# why\n#share = []\n#[git]\n',
        ),
        (
            "[a]\n#[workspace]\nb = 1\n",
            '[a]\n#[workspace]\nb = 1\n\n[workspace]\nshare = [".venv"]\n',
        ),
    ],
)
def test_one_table_is_changed_and_nothing_else(before: str, after: str) -> None:
    assert with_values(before, "workspace", SHARE) == after


@pytest.mark.parametrize(
    "before", ["no toml", 'workspace = {setup = "x"}\n', '[workspace]\nshare = [\n "a",\n]\n']
)
def test_what_is_too_unusual_is_left_to_the_user(before: str) -> None:
    assert with_values(before, "workspace", SHARE) is None


def test_in_the_file_that_init_writes() -> None:
    found = with_values(SETTINGS, "workspace", {"setup": "npm ci", "share": ("node_modules",)})
    assert found is not None
    assert '\n[workspace]\nsetup = "npm ci"\nshare = ["node_modules"]\n' in found
