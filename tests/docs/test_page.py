"""The player of pages: a page that lies is found out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.page import Typed, Written, matches, played, steps

PAGE = """\
# A page

```console
$ mkdir notes
```

In `notes/a.txt`:

```text
one
two
```

This one is only shown:

```sh
rm -r everything
```

```console
$ cd notes
$ cat a.txt
one
...
```
"""


def test_files_and_commands_are_taken_in_the_order_of_the_page() -> None:
    assert list(steps(PAGE)) == [
        Typed(command="mkdir notes", shown=""),
        Written(path="notes/a.txt", content="one\ntwo\n"),
        Typed(command="cd notes", shown=""),
        Typed(command="cat a.txt", shown="one\n...\n"),
    ]


def test_a_page_that_tells_the_truth(tmp_path: Path) -> None:
    assert [(it.printed, it.code, it.as_shown) for it in played(PAGE, tmp_path)] == [
        ("", 0, True),
        ("", 0, True),
        ("one\ntwo\n", 0, True),
    ]


def test_a_page_that_forgets_to_make_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(played(PAGE.replace("$ mkdir notes", "$ true"), tmp_path))


@pytest.mark.parametrize(
    "typed",
    [
        "$ echo three\nfour\n",
        "$ echo three\n",
        "$ true\nthree\n",
        "$ echo three; exit 3\nthree\n",
        "$ dwindle no-such-command\n...\n",
    ],
)
def test_a_page_that_does_not(typed: str, tmp_path: Path) -> None:
    page = f"```console\n{typed}```\n"
    assert [it.as_shown for it in played(page, tmp_path)] == [False]


def test_an_exit_code_can_be_shown(tmp_path: Path) -> None:
    page = '```console\n$ (exit 3); echo "exit code $?"\nexit code 3\n```\n'
    assert [it.as_shown for it in played(page, tmp_path)] == [True]


def test_what_a_command_exports_is_there_for_the_next(tmp_path: Path) -> None:
    page = "```console\n$ export NAME=$WHO; OTHER=Bob\n$ echo $NAME$OTHER\nAda\n```\n"
    assert [it.as_shown for it in played(page, tmp_path, {"WHO": "Ada"})] == [True, True]


def test_a_block_that_does_not_begin_with_a_command_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="begins with a command"):
        list(steps("```console\nhello\n```\n"))


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a\n...\nd\n", "a\nb\nc\nd\n"),
        ("a\n...\nd\n", "a\nd\n"),
        ("a ... c\n", "a b c\n"),
        ("15:30:21 it ends\n", "09:00:59 it ends\n"),
        ("run 01M7FXDD6E8C2Y2VT771XV31JP\n", "run 01J00000000000000000000000\n"),
        ("commit 702d633\n", "commit 0123456789abcdef0123456789abcdef01234567\n"),
        ("it took 2 s\n", "it took 0.35 s\n"),
        ("trailing  \n", "trailing\n"),
    ],
)
def test_what_varies_may_vary(shown: str, printed: str) -> None:
    assert matches(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a\n...\nd\n", "a\nb\n"),
        ("a ... c\n", "a b\nc\n"),
        ("2 open\n", "3 open\n"),
        ("a.c\n", "abc\n"),
        ("15:30:21 it ends\n", "it ends\n"),
    ],
)
def test_what_does_not_may_not(shown: str, printed: str) -> None:
    assert not matches(shown, printed)
