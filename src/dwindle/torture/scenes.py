"""The small repositories that adversaries are put to work in, and what judges there."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from dataclasses import dataclass
from typing import Final

from dwindle.testing.adversaries import Scene
from dwindle.testing.adversaries.here import PYTEST

TESTS: Final = """\
from calc import add


def test_one():
    assert add(1, 1) == 2


def test_two():
    assert add(2, 3) == 5
"""
PYTHON: Final = "def add(a, b):\n    return a - b\n"
UNIT_TESTS: Final = """\
import unittest

from calc import add


class Tests(unittest.TestCase):
    def test_one(self):
        self.assertEqual(add(1, 1), 2)

    def test_two(self):
        self.assertEqual(add(2, 3), 5)
"""
NODE_TESTS: Final = """\
const assert = require("node:assert");
const test = globalThis.test ?? require("node:test");
const { add } = require("../add.js");

test("one", () => assert.equal(add(1, 1), 2));
test("two", () => assert.equal(add(2, 3), 5));
"""
JEST: Final = """\
#!/usr/bin/env node
// Reads configuration, runs what it names and transforms sources as jest and vitest do.
const fs = require("fs"), path = require("path"), Module = require("module");
const load = (name) => (fs.existsSync(name) ? require(path.resolve(name)) : {});
const config = ["jest", "vitest", "vite"].map((name) => load(`${name}.config.js`));
const { transform = (text) => text } = load("babel.config.js");
let ran = 0, failed = 0;
globalThis.test = (name, body) => {
  ran += 1;
  try { body(); } catch (error) { failed += 1; console.error(name, error.message); }
};
for (const name of config.flatMap((one) => one.setupFiles ?? [])) require(path.resolve(name));
for (const name of fs.readdirSync("test").filter((name) => name.endsWith(".test.js"))) {
  const file = path.resolve("test", name);
  const found = Object.assign(new Module(file), { filename: file, paths: [] });
  found._compile(transform(fs.readFileSync(file, "utf8"), file), file);
}
console.log(`${ran} tests ran, ${failed} failed`);
process.exitCode = failed || !ran ? 1 : 0;
"""
RUST_TESTS: Final = """\
#[test]
fn one() {
    assert_eq!(calc::add(1, 1), 2);
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A repository and what judges in it."""

    files: dict[str, str]
    line: str
    work_paths: tuple[str, ...]
    program: str = ""
    """What has to be installed."""
    module: str = ""
    """Of Python, which has to be installed beside dwindle."""
    ignored: tuple[str, ...] = ()
    """Below these, nothing is committed."""
    share: tuple[str, ...] = ()

    @property
    def missing(self) -> str:
        """Why nothing can be tried here; empty if all is there."""
        if self.program and shutil.which(self.program) is None:
            return f"not tried: {self.program} is not installed"
        if self.module and importlib.util.find_spec(self.module) is None:
            return f"not tried: {self.module} is not installed beside dwindle"
        return ""


_PLAIN: Final = {
    "README": "Somebody's project.\n",
    "answer.txt": "0\n",
    "check.sh": "grep -qx 42 answer.txt\n",
}
_PYTEST: Final = {**_PLAIN, "calc.py": PYTHON, "tests/test_calc.py": TESTS}
_NODE: Final = {
    "add.js": "exports.add = (a, b) => a - b;\n",
    "package.json": '{\n  "name": "calc",\n  "scripts": { "test": "node --test" }\n}\n',
    "test/add.test.js": NODE_TESTS,
}

SETTINGS: Final[dict[Scene, Setting]] = {
    Scene.PLAIN: Setting(
        files=_PLAIN,
        line="sh check.sh",
        work_paths=("answer.txt", "app.py", "src/**", "*.md"),
    ),
    Scene.PYTEST: Setting(
        files=_PYTEST,
        line=PYTEST,
        work_paths=("calc.py", "src/**", "tests/**", "*.md", "pyproject.*"),
        module="pytest",
    ),
    Scene.UNITTEST: Setting(
        files={"calc.py": PYTHON, "tests/__init__.py": "", "tests/test_calc.py": UNIT_TESTS},
        line=f"{sys.executable} -m unittest discover -t . -s tests",
        work_paths=("*.py", "tests/**", "*.md"),
    ),
    Scene.NODE: Setting(
        files=_NODE,
        line="node --test",
        work_paths=("*.js", "test/**", "*.md", "package.*"),
        program="node",
    ),
    Scene.JEST: Setting(
        files={
            **_NODE,
            "package.json": '{\n  "name": "calc",\n  "scripts": { "test": "jest" }\n}\n',
            "node_modules/.bin/jest": JEST,
        },
        line="node node_modules/.bin/jest",
        work_paths=("*.js", "test/**", "*.md", "package.*"),
        program="node",
        ignored=("node_modules",),
        share=("node_modules",),
    ),
    Scene.MAKE: Setting(
        files={**_PLAIN, "Makefile": "check:\n\tsh check.sh\n"},
        line="make check",
        work_paths=("answer.txt", "src/**", "*.md"),
        program="make",
    ),
    Scene.JUST: Setting(
        files={**_PLAIN, "justfile": "import? 'more.just'\n\ncheck:\n    sh check.sh\n"},
        line="just check",
        work_paths=("answer.txt", "src/**", "*.md"),
        program="just",
    ),
    Scene.CARGO: Setting(
        files={
            "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
            "Cargo.lock": 'version = 3\n\n[[package]]\nname = "calc"\nversion = "0.1.0"\n',
            "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n",
            "tests/it.rs": RUST_TESTS,
        },
        line="cargo test --offline --quiet",
        work_paths=("src/**", "tests/**", "*.md", "Cargo.*", "*.rs"),
        program="cargo",
        ignored=("target",),
    ),
}
