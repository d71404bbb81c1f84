"""Lists of tools: what they may hold, and what the runner does with an invalid one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dwindle.kernel.model import Problem
from dwindle.runner.modes.tree.node_tools import (
    HINT,
    MOST_BYTES,
    NodeTools,
    decode_tools,
    path_of,
    tool_lists_in,
    tools_of,
)

PATH = ".runner/nodes/a/tools.json"


def refused(*whats: str) -> NodeTools:
    return NodeTools(problems=tuple(Problem(where=(PATH,), what=w, hint=HINT) for w in whats))


@pytest.mark.parametrize(
    "text", [b'{"allow": ["Read", "Edit"]}', b'["Read", "Edit"]', b' [ "Read",\n"Edit"]\n']
)
def test_the_names_of_tools(text: bytes) -> None:
    assert decode_tools(text, PATH) == NodeTools(names=("Read", "Edit"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"", "it is no JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"Read", "it is no JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"{}", "it should have one field, allow"),
        (b'{"allow": ["Read"], "allow": ["Bash"]}', "it should have one field, allow"),
        (b'{"allow": ["Read"], "deny": []}', "it should have one field, allow"),
        (b'{"allow": "Read"}', "it should be a list of names"),
        (b'"Read"', "it should be a list of names"),
        (b"null", "it should be a list of names"),
        (b"[]", "it allows no tool, and a session without tools can do nothing"),
        (b"[" + b"1," * 300 + b"1]", "it has more than 200 names"),
        (b" " * (MOST_BYTES + 1), f"it has more than {MOST_BYTES} bytes"),
    ],
)
def test_rubbish_is_refused_with_what_is_wrong(text: bytes, what: str) -> None:
    assert decode_tools(text, PATH) == refused(what)


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = b'["Read", 7, "Bash(ls *)", "Read", "", ["Edit"], "a,b"]'
    no = "is no name of a tool"
    assert decode_tools(text, PATH) == refused(
        f"entry 2 {no}",
        f"entry 3 {no}",
        "Read is named twice",
        f"entry 5 {no}",
        f"entry 6 {no}",
        f"entry 7 {no}",
    )


def test_deep_nesting_and_bad_bytes_are_no_crash() -> None:
    assert decode_tools(b"[" * 60_000, PATH).problems
    assert decode_tools(b'["\xff"]', PATH).problems


def test_no_list_allows_everything_and_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert path_of("a") == PATH
    assert tools_of(tmp_path, "a") == NodeTools()
    file = tmp_path / PATH
    file.parent.mkdir(parents=True)
    assert tools_of(tmp_path, "a") == NodeTools()
    file.write_text('["Read"]')
    assert tools_of(tmp_path, "a") == NodeTools(names=("Read",))
    file.unlink()
    os.mkfifo(file)
    no_file = refused("it is not a readable file")
    assert tools_of(tmp_path, "a") == no_file
    file.unlink()
    file.mkdir()
    assert tools_of(tmp_path, "a") == no_file
    file.rmdir()
    file.symlink_to("nowhere")
    assert tools_of(tmp_path, "a") == no_file


def test_which_paths_are_lists() -> None:
    paths = [
        *(".runner/nodes/a/tools.json", ".runner/nodes/a/tools.json/x", ".runner/nodes/a/b.json"),
        *(".runner/nodes/tools.json", ".runner/nodes/a/b/tools.json", "tools.json"),
    ]
    assert tool_lists_in(paths) == (".runner/nodes/a/tools.json",)
