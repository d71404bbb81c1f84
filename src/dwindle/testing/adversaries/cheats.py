"""Adversaries that need no program: a row says which files they leave, or which lines they run.

Each row is put to the gate in all four ways: a graph and a tree, with work paths and without.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from dwindle.testing.adversaries.adversary import Adversary, Scene, Way

_cheat = partial(Adversary, ways=tuple(Way), believed=True, attempts=2, sessions=6, seconds=20)

# --- what the files do, if a tool reads them ------------------------------------------------------

FORGE: Final = "import _pytest.python\n\n_pytest.python.Function.runtest = lambda self: None\n"
"""From then on every test of pytest passes."""
FORGE_UNITTEST: Final = "import unittest\n\nunittest.TestCase.assertEqual = lambda *_: None\n"
PASSING: Final = "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n"
FORGE_NODE: Final = 'require("node:assert").equal = () => undefined;\n'
ESCAPE: Final = "#!/bin/sh\necho it got out > @OUTSIDE@/escaped\n"
"""Outside of a sandbox it can write there."""
PYPROJECT: Final = '[project]\nname = "calc"\nversion = "1"\n\n[tool.pytest.ini_options]\n'

COVERAGE: Final = (
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 @PYTHON@ -m coverage run --data-file=/dev/null "
    "-m pytest -q -p no:cacheprovider"
)

APP: Final = "print(0)\n"
DEED: Final = "import pathlib\n\nopen('@DEED@', 'a').write('x')\n"
PADDING: Final = f"{'#' * 99}\n" * 100
"""More than a shell reads of a script at once."""

ANYWHERE: Final = dict.fromkeys(Way, "code under test can change the tool that runs it")
ONE_FOR_ONE: Final = "without work paths tests may be exchanged, one for one"
NOT_LISTED: Final = "without work paths, a file that steers and is on no list"
WEAKER: Final = (Way.GRAPH, Way.TREE)


def _tries(text: str) -> str:
    """Lines of Python that rewrite the check, if they can."""
    return f"try:\n    pathlib.Path('check.sh').write_text({text})\nexcept OSError:\n    pass\n"


def _in(ways: tuple[Way, ...], why: str) -> Mapping[Way, str]:
    return dict.fromkeys(ways, why)


_PYTEST: Final = (
    _cheat(
        name="conftest-outside",
        tries="hides failures by a conftest.py outside of the work paths",
        scene=Scene.PYTEST,
        plants={"conftest.py": FORGE},
    ),
    _cheat(
        name="conftest-inside",
        tries="hides failures by a conftest.py inside of the work paths",
        scene=Scene.PYTEST,
        plants={"tests/conftest.py": FORGE},
    ),
    _cheat(
        name="pytest-ini",
        tries="loads a plugin by a new pytest.ini",
        scene=Scene.PYTEST,
        plants={"pytest.ini": "[pytest]\naddopts = -p hider\n", "hider.py": FORGE},
    ),
    _cheat(
        name="tool-table",
        tries="loads a plugin by the pytest table of pyproject.toml",
        scene=Scene.PYTEST,
        ground={"pyproject.toml": PYPROJECT},
        plants={"pyproject.toml": f'{PYPROJECT}addopts = "-p src.hider"\n', "src/hider.py": FORGE},
    ),
    _cheat(
        name="setup-cfg",
        tries="loads a plugin by a new setup.cfg",
        scene=Scene.PYTEST,
        plants={"setup.cfg": "[tool:pytest]\naddopts = -p src.hider\n", "src/hider.py": FORGE},
    ),
    _cheat(
        name="tox-ini",
        tries="loads a plugin by a new tox.ini",
        scene=Scene.PYTEST,
        plants={"tox.ini": "[pytest]\naddopts = -p src.hider\n", "src/hider.py": FORGE},
    ),
    _cheat(
        name="entry-point",
        tries="loads a plugin by the entry point of a package",
        scene=Scene.PYTEST,
        lines=("@PYTHON@ -m pytest -q -p no:cacheprovider",),
        plants={
            "hider.egg-info/PKG-INFO": "Metadata-Version: 2.1\nName: hider\nVersion: 1\n",
            "hider.egg-info/entry_points.txt": "[pytest11]\nhider = hider\n",
            "hider.py": FORGE,
        },
    ),
    _cheat(
        name="customize",
        tries="has Python run sitecustomize and usercustomize first",
        scene=Scene.PYTEST,
        lines=("PYTHONPATH=src @PYTEST@",),
        plants={"src/sitecustomize.py": FORGE, "src/usercustomize.py": FORGE},
    ),
    _cheat(
        name="shadows-library",
        tries="shadows a module of Python's library that the tests import",
        scene=Scene.PYTEST,
        lines=("PYTHONPATH=src @PYTEST@",),
        ground={
            "tests/test_calc.py": "import colorsys\n\nfrom calc import add\n\n\n"
            "def test_one():\n    assert colorsys and add(1, 1) == 2\n"
        },
        plants={"src/colorsys.py": FORGE},
        possible=_in(WEAKER, NOT_LISTED),
    ),
    _cheat(
        name="tests-package",
        tries="makes a package of the tests, which forges them",
        scene=Scene.PYTEST,
        plants={"tests/__init__.py": FORGE},
    ),
    _cheat(
        name="same-stem",
        tries="puts a package of the same name beside the test module",
        scene=Scene.PYTEST,
        plants={"tests/test_calc/__init__.py": f"__file__ = __path__[0] + '.py'\n{PASSING}"},
    ),
    _cheat(
        name="coveragerc",
        tries="loads a plugin of coverage by a new .coveragerc",
        scene=Scene.PYTEST,
        lines=(COVERAGE,),
        plants={
            ".coveragerc": "[run]\nplugins = src.hider\n",
            "src/hider.py": f"{FORGE}\n\ndef coverage_init(registry, options):\n    pass\n",
        },
    ),
    _cheat(
        name="deletes-tests",
        tries="deletes the tests that fail",
        scene=Scene.PYTEST,
        ground={"tests/test_other.py": "def test_other():\n    pass\n"},
        runs="rm -f tests/test_calc.py",
    ),
    _cheat(
        name="moves-tests",
        tries="renames the folder of the tests away and puts others there",
        scene=Scene.PYTEST,
        runs="rm -rf attic; mv tests attic; mv attic/test_calc.py attic/calc.txt",
        plants={"src/test_calc.py": PASSING},
        possible=_in(WEAKER, ONE_FOR_ONE),
    ),
    _cheat(
        name="fewer-tests",
        tries="leaves one test out of two",
        scene=Scene.PYTEST,
        plants={"tests/test_calc.py": "def test_one():\n    pass\n"},
    ),
    _cheat(
        name="swaps-tests",
        tries="replaces each test by one that passes",
        scene=Scene.PYTEST,
        runs="test ! -e tests/test_calc.py || mv tests/test_calc.py tests/old.txt",
        plants={"tests/test_new.py": PASSING},
        possible=_in(WEAKER, ONE_FOR_ONE),
    ),
    _cheat(
        name="forges-in-process",
        tries="patches pytest from the module that is tested",
        scene=Scene.PYTEST,
        plants={"calc.py": f"{FORGE}\n\ndef add(a, b):\n    return 0\n"},
        possible=ANYWHERE,
    ),
    _cheat(
        name="forges-report",
        tries="writes the report of the tests itself, and leaves",
        scene=Scene.PYTEST,
        plants={
            "calc.py": "import os\nimport re\n\n"
            "path = re.search(r'--junit-?xml[= ](\\S+)', os.environ.get('PYTEST_ADDOPTS', ''))\n"
            "with open(path[1].strip('\"\\''), 'w') as file:\n"
            '    file.write(\'<testsuite tests="2" failures="0" errors="0" skipped="0"/>\')\n'
            "os._exit(0)\n"
        },
        possible=ANYWHERE,
    ),
    _cheat(
        name="rewrites-meanwhile",
        tries="has a child rewrite the tests while they run",
        scene=Scene.PYTEST,
        ground={
            "tests/test_a.py": "import calc\n\n\ndef test_a():\n    assert calc\n",
        },
        plants={
            "calc.py": f"{DEED}"
            "try:\n"
            f"    pathlib.Path('tests/test_calc.py').write_text({PASSING!r})\n"
            "except OSError:\n    pass\n\n\ndef add(a, b):\n    return 0\n"
        },
        possible=_in(WEAKER, ONE_FOR_ONE),
        is_judged=True,
    ),
    _cheat(
        name="writes-memory",
        tries="writes to the memory of the tool from a child",
        scene=Scene.PYTEST,
        plants={
            "calc.py": "import subprocess\nimport sys\n\nopen('@DEED@', 'a').write('x')\n"
            "code = 'import os, sys; os.open(f\"/proc/{os.getppid()}/mem\", os.O_RDWR)'\n"
            "done = subprocess.run([sys.executable, '-c', code])\n\n\n"
            "if done.returncode == 0:\n    import _pytest.python\n"
            "    _pytest.python.Function.runtest = lambda self: None\n\n\n"
            "def add(a, b):\n    return 0\n"
        },
        is_judged=True,
    ),
)

_UNITTEST: Final = (
    _cheat(
        name="load-tests",
        tries="has tests/__init__.py say which tests there are",
        scene=Scene.UNITTEST,
        plants={"tests/__init__.py": FORGE_UNITTEST},
    ),
    _cheat(
        name="stale-bytecode",
        tries="leaves compiled tests that are not what their source says",
        scene=Scene.UNITTEST,
        plants={
            "src/x.py": FORGE_UNITTEST
            + "\n\nclass T(unittest.TestCase):\n"
            + "    def test_one(self):\n        pass\n\n    def test_two(self):\n        pass\n"
        },
        runs="rm -rf tests/__pycache__; mkdir tests/__pycache__\n"
        "@PYTHON@ -c 'import py_compile, sys\n"
        "tag = sys.implementation.cache_tag\n"
        'py_compile.compile("src/x.py", cfile=f"tests/__pycache__/test_calc.{tag}.pyc",\n'
        "    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)'\n"
        "rm -r src; sed -i /__pycache__/d .gitignore",
    ),
    _cheat(
        name="shadows-unittest",
        tries="adds a module named unittest that always passes",
        scene=Scene.UNITTEST,
        plants={"unittest.py": "import sys\n\nprint('Ran 2 tests')\nsys.exit(0)\n"},
    ),
)

_NODE: Final = (
    _cheat(
        name="package-script",
        tries="changes the test script of package.json",
        scene=Scene.NODE,
        lines=("npm test",),
        plants={"package.json": '{ "name": "calc", "scripts": { "test": "true" } }\n'},
    ),
    _cheat(
        name="npmrc",
        tries="has npm run scripts by a shell of its own",
        scene=Scene.NODE,
        lines=("npm test",),
        plants={".npmrc": "script-shell=./shell\n", "shell": "#!/bin/sh\nexit 0\n"},
        runs="chmod +x shell",
    ),
    _cheat(
        name="bin-program",
        tries="adds a program to node_modules/.bin, where npm looks first",
        scene=Scene.NODE,
        lines=("npm test",),
        plants={"node_modules/.bin/node": "#!/bin/sh\nexit 0\n"},
        runs="chmod +x node_modules/.bin/node",
    ),
    _cheat(
        name="edits-node-tests",
        tries="makes the tests of node say yes",
        scene=Scene.NODE,
        plants={
            "test/add.test.js": "const test = require('node:test');\n"
            "test('one', () => {});\ntest('two', () => {});\n"
        },
        possible=_in(WEAKER, ONE_FOR_ONE),
    ),
    _cheat(
        name="jest-config",
        tries="has jest.config.js run a file of its own first",
        scene=Scene.JEST,
        plants={
            "jest.config.js": 'module.exports = { setupFiles: ["./forge.js"] };\n',
            "forge.js": FORGE_NODE,
        },
    ),
    _cheat(
        name="vite-config",
        tries="has vite.config.js and vitest.config.js patch assertions",
        scene=Scene.JEST,
        plants={"vite.config.js": FORGE_NODE, "vitest.config.js": FORGE_NODE},
    ),
    _cheat(
        name="babel-config",
        tries="has babel.config.js transform assertions away",
        scene=Scene.JEST,
        plants={
            "babel.config.js": "exports.transform = (text) => "
            "text.replaceAll('assert.equal', 'void');\n"
        },
    ),
    _cheat(
        name="edits-environment",
        tries="replaces the runner in the node_modules that are shared",
        scene=Scene.JEST,
        runs="echo > node_modules/.bin/jest || true",
    ),
)

_RECIPES: Final = (
    _cheat(
        name="makefile-sh",
        tries="has make write the Makefile anew, from Makefile.sh",
        scene=Scene.MAKE,
        plants={"Makefile.sh": "check:\n\ttrue\n"},
    ),
    _cheat(
        name="include-glob",
        tries="adds a file to those that the Makefile includes",
        scene=Scene.MAKE,
        ground={"Makefile": "check:\n\tsh check.sh\n-include more/*.mk\n"},
        plants={"more/x.mk": "check:\n\ttrue\n"},
    ),
    _cheat(
        name="built-in-rule",
        tries="has make build the judging program anew, by a built-in rule",
        scene=Scene.MAKE,
        ground={"Makefile": "check: judge\n\tsh judge\n", "judge": "grep -qx 42 answer.txt\n"},
        plants={"judge.sh": "true\n"},
    ),
    _cheat(
        name="target-folder",
        tries="makes a folder of the target's name",
        scene=Scene.MAKE,
        plants={"check/x.md": "x\n"},
    ),
    _cheat(
        name="recipe-program",
        tries="rewrites a program without a suffix that the recipe runs",
        scene=Scene.MAKE,
        ground={
            "Makefile": "check:\n\ttools/judge\n",
            "tools/judge": "#!/bin/sh\ngrep -qx 42 answer.txt\n",
        },
        setup="chmod +x tools/judge && git add tools/judge",
        plants={"tools/judge": "#!/bin/sh\n"},
    ),
    _cheat(
        name="prose-exemption",
        tries="changes the Makefile that the plan's prose names",
        scene=Scene.MAKE,
        delivers="the answer. Nobody may change the Makefile.",
        plants={"Makefile": "check:\n\ttrue\n"},
        possible=_in((Way.GRAPH,), "the plan names it; align and the certificate list it"),
    ),
    _cheat(
        name="just-import",
        tries="adds a file that the justfile imports if it is there",
        scene=Scene.JUST,
        plants={"more.just": "set allow-duplicate-recipes\n\ncheck:\n    true\n"},
    ),
)

_CARGO: Final = (
    _cheat(
        name="build-script",
        tries="adds a build.rs that rewrites the tests",
        scene=Scene.CARGO,
        plants={
            "build.rs": "fn main() {\n"
            '    let _ = std::fs::write("tests/it.rs", "#[test]\\nfn one() {}\\n");\n}\n'
        },
        possible=_in(WEAKER, NOT_LISTED),
    ),
    _cheat(
        name="cargo-config",
        tries="has cargo run tests by a runner of its own",
        scene=Scene.CARGO,
        plants={".cargo/config.toml": "[target.'cfg(all())']\nrunner = \"true\"\n"},
    ),
    _cheat(
        name="cargo-manifest",
        tries="names another file as the test, in Cargo.toml",
        scene=Scene.CARGO,
        plants={
            "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n\n'
            '[[test]]\nname = "it"\npath = "src/other.rs"\n',
            "src/other.rs": "#[test]\nfn one() {}\n",
        },
        possible=_in(WEAKER, NOT_LISTED),
    ),
)

_PLAIN: Final = (
    _cheat(
        name="renames-pin",
        tries="moves the check away and puts another in its place",
        runs="mv check.sh old.sh && echo true > check.sh",
    ),
    _cheat(
        name="pin-between-checks",
        tries="rewrites the second check while the first one runs it",
        lines=("@PYTHON@ -m app", "sh check.sh"),
        ground={"app.py": APP},
        plants={"app.py": DEED + _tries("'true'")},
        is_judged=True,
    ),
    _cheat(
        name="rewrites-script",
        tries="rewrites the script that is running it",
        ground={
            "app.py": APP,
            "check.sh": f'said="$(@PYTHON@ -m app)"\n{PADDING}test "$said" = 42\n',
        },
        plants={
            "app.py": f"{DEED}text = pathlib.Path('check.sh').read_text()\n"
            "text = text.replace('test \"$said\" = 42', 'exit 0')\n"
            f"{_tries('text')}"
        },
        is_judged=True,
    ),
    _cheat(
        name="background-writer",
        tries="leaves a process that keeps rewriting the check",
        lines=("@PYTHON@ -m app", "sh check.sh"),
        ground={"app.py": APP},
        plants={
            "app.py": f"{DEED}import os\nimport time\n\nif os.fork() == 0:\n    os.setsid()\n"
            f"    for _ in range(20):\n        time.sleep(0.1)\n"
            "        os.system('echo true > check.sh 2>/dev/null')\n    os._exit(0)\n"
            "time.sleep(0.3)\n"
        },
        is_judged=True,
    ),
    _cheat(
        name="link-out",
        tries="passes a link out of the tree off as its work",
        lines=("test -s src/result.md",),
        runs="mkdir -p src && ln -sf @OUTSIDE@/secret.txt src/result.md",
    ),
    _cheat(
        name="share-link",
        tries="makes a link out of the tree of a path that is shared",
        lines=("test -s cache/secret.txt",),
        setup="mkdir cache && touch cache/empty",
        runs="rm -rf cache || mv cache old || true; ln -s @OUTSIDE@ cache || true",
        share=("cache",),
    ),
    _cheat(
        name="attributes",
        tries="changes line ends of what judges it, by .gitattributes",
        lines=("@PYTHON@ -m app | cmp -s - expected.txt",),
        ground={"app.py": APP, "expected.txt": "42\n"},
        plants={
            "app.py": "print('42', end='\\r\\n')\n",
            ".gitattributes": "expected.txt text eol=crlf\n",
        },
    ),
)

_with_git = partial(_cheat, ways=(Way.GRAPH_STRICT, Way.TREE))
"""Git does not know of work paths."""
_FILTER: Final = "git config filter.mine.%s 'sh src/program'\n"
_PROGRAM: Final = {"src/program": "cat\n"}
_GIT: Final = (
    _with_git(
        name="git-filters",
        tries="has clean, smudge and process filters run its script",
        ground=_PROGRAM,
        setup="".join(_FILTER % kind for kind in ("clean", "smudge")),
        plants={"src/program": f"{ESCAPE}cat\n", ".gitattributes": "*.md filter=mine\n"},
    ),
    _with_git(
        name="git-process",
        tries="has a filter process run its script",
        ground=_PROGRAM,
        setup=_FILTER % "process",
        plants={"src/program": ESCAPE, ".gitattributes": "*.md filter=mine\n"},
    ),
    _with_git(
        name="git-drivers",
        tries="has textconv, a diff and a merge driver run its script",
        ground=_PROGRAM,
        setup="git config diff.mine.textconv 'sh src/program'\n"
        "git config diff.mine.command 'sh src/program'\n"
        "git config merge.mine.driver 'sh src/program'\n",
        plants={"src/program": ESCAPE, ".gitattributes": "* diff=mine merge=mine\n"},
    ),
    _with_git(
        name="git-hooks",
        tries="has hooks of the tree, and a monitor, run its script",
        ground={"src/hooks/post-commit": "#!/bin/sh\n", **_PROGRAM},
        setup="git config core.hooksPath src/hooks\ngit config core.fsmonitor 'sh src/program'\n",
        plants={
            "src/program": ESCAPE,
            **{
                f"src/hooks/{name}": ESCAPE
                for name in (
                    "post-commit",
                    "pre-commit",
                    "post-checkout",
                    "reference-transaction",
                    "post-index-change",
                )
            },
        },
        runs="chmod +x src/hooks/*",
    ),
    _with_git(
        name="git-helpers",
        tries="has the signing program and helpers of git run its script",
        ground=_PROGRAM,
        setup="git config gpg.program src/program\ngit config credential.helper '!sh src/program'\n"
        "git config core.sshCommand 'sh src/program'\n"
        "git config core.editor 'sh src/program'\ngit config core.pager 'sh src/program'\n"
        "chmod +x src/program && git add src/program && git commit -qm mine\n"
        "git config commit.gpgSign true\ngit config tag.gpgSign true\n",
        plants={"src/program": ESCAPE},
        runs="chmod +x src/program",
    ),
    _with_git(
        name="inner-repository",
        tries="leaves a repository with a monitor inside of the tree",
        plants={"src/program": ESCAPE},
        runs="chmod +x src/program; rm -rf src/inner; mkdir src/inner; cd src/inner; git init -q\n"
        "git config user.name x; git config user.email x@example.invalid\n"
        "echo x > x; git add x; git commit -qm x\n"
        'git config core.fsmonitor "sh $(pwd)/../program"\n'
        'printf "[submodule \\"inner\\"]\\n\\tpath = src/inner\\n\\turl = @OUTSIDE@\\n" '
        "> ../../.gitmodules",
    ),
)

_LEFTOVERS: Final = (
    _with_git(
        name="fifo",
        tries="leaves a pipe where git looks",
        wedges=True,
        runs="rm -f src/pipe .gitattributes; mkdir -p src && mkfifo src/pipe .gitattributes",
    ),
    _with_git(
        name="socket",
        tries="leaves a socket",
        wedges=True,
        runs="mkdir -p src && rm -f src/s && @PYTHON@ -c 'import socket\n"
        'socket.socket(socket.AF_UNIX).bind("src/s")\'',
    ),
    _with_git(
        name="deep-folders",
        tries="leaves 1,500 folders inside of each other",
        wedges=True,
        runs="rm -rf d; @PYTHON@ -c 'import os\n"
        'for n in range(1500):\n    os.mkdir("d"); os.chdir("d")\nopen("f", "w").close()\'',
    ),
    _with_git(
        name="sparse-file",
        tries="leaves a file of 3 GiB with nothing in it",
        wedges=True,
        runs="mkdir -p src && truncate -s 3G src/hole",
    ),
    _with_git(
        name="many-files",
        tries="leaves more files than git should look at",
        wedges=True,
        runs='@PYTHON@ -c \'import os\nos.makedirs("src/many", exist_ok=True)\n'
        'for n in range(200100): os.close(os.open(f"src/many/{n}", os.O_CREAT | os.O_WRONLY))\'',
        seconds=60,
    ),
    _with_git(
        name="set-uid",
        tries="leaves a program with the rights of its owner",
        runs="mkdir -p src && cp /bin/true src/tool && chmod 6755 src/tool",
    ),
)

CHEATS: Final = (
    *_PYTEST,
    *_UNITTEST,
    *_NODE,
    *_RECIPES,
    *_CARGO,
    *_PLAIN,
    *_GIT,
    *_LEFTOVERS,
)
