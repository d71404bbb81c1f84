"""Run by Python before anything of the checkout can be: it is first on PYTHONPATH.

`python -m pytest` puts the current folder in front of everything else that is looked through, so
a file pytest.py in it would be the tool. Here the tool is imported first; what is imported stays.
Of unittest, which writes no reports, its runner is made to write one.

It is run by whatever Python the checkout is tested with, old ones too, and for every program of
that Python which starts meanwhile: so it imports next to nothing, and leaves the others alone, but
for its place in PYTHONPATH, by which it reaches a tool that they start.
"""

# It is not part of any package, and knows nothing that came with a newer Python.
# ruff: noqa: INP001, ANN001, ANN002, ANN003, ANN201, ANN202, PLC0415, PTH100, PTH119, PTH120, PTH123, SIM105, UP031
# mypy: ignore-errors

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
REPORT = "DWINDLE_TESTS"
WITH_VALUE = ("-W", "-X", "-c")


def arguments():
    found = getattr(sys, "orig_argv", None)
    if found is None:
        try:
            with open("/proc/self/cmdline", "rb") as file:
                found = file.read().decode("utf-8", "replace").split("\0")[:-1]
        except OSError:
            found = []
    return list(found[1:])


def tool_in(words):
    """The test tool that these words of a command line start, behind `python`; or nothing."""
    while words:
        word = words.pop(0)
        if word == "-m":
            name = words.pop(0) if words else ""
        elif word in WITH_VALUE:
            words = words[1:]
            continue
        elif word.startswith("-"):
            continue
        else:
            name = os.path.basename(word)
        if name == "coverage":
            return tool_in(words[1:]) if words[:1] == ["run"] else ""
        if name == "unittest":
            return name
        return "pytest" if name.startswith(("pytest", "py.test")) else ""
    return ""


def step_aside():
    """Programs that the tests start are not ours to look after."""
    left = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p != HERE]
    if left and left != [""]:
        os.environ["PYTHONPATH"] = os.pathsep.join(left)
    else:
        os.environ.pop("PYTHONPATH", None)
    sys.path[:] = [p for p in sys.path if p != HERE]


def compile_anew():
    """Compare a compiled module with its source, also if it claims that this is not needed."""
    try:
        import _imp

        _imp.check_hash_based_pycs = "always"
    except ImportError:
        pass


def keep_others_out():
    """Programs that the tests start must not write to the memory of the tool that judges them."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    except (ImportError, AttributeError, OSError):
        pass


def load_plugins_from_elsewhere():
    """A module of the checkout with the name of an installed plugin is not that plugin."""
    try:
        from pluggy import PluginManager
    except ImportError:
        return
    inner = PluginManager.load_setuptools_entrypoints
    here = os.path.abspath(os.curdir)
    elsewhere = without_pythonpath()

    def load(self, *given, **more):
        whole = sys.path[:]
        sys.path[:] = [p for p in elsewhere if os.path.abspath(p) != here]
        try:
            return inner(self, *given, **more)
        finally:
            sys.path[:] = whole + [p for p in sys.path if p not in whole and p not in elsewhere]
            xdist = sys.modules.get("xdist.plugin")
            if hasattr(xdist, "_sys_path"):  # what its workers look through, kept when it is loaded
                vars(xdist)["_sys_path"] = sys.path[:]

    PluginManager.load_setuptools_entrypoints = load


def import_pytest():
    try:
        import pytest  # noqa: F401
        from _pytest.config import default_plugins
    except ImportError:
        return
    load_plugins_from_elsewhere()
    for name in default_plugins:
        try:
            __import__("_pytest." + name)
        except ImportError:
            pass


def count_unittest(report):
    import unittest.main
    import unittest.runner

    runner = unittest.runner.TextTestRunner
    inner = runner.run
    depth = [0]
    totals = {"tests": 0, "skipped": 0, "failures": 0, "errors": 0}

    def run(self, test):
        depth[0] += 1
        try:
            result = inner(self, test)
        finally:
            depth[0] -= 1
        if not depth[0]:
            unexpected = getattr(result, "unexpectedSuccesses", ())
            totals["tests"] += result.testsRun
            totals["skipped"] += len(result.skipped)
            totals["failures"] += len(result.failures) + len(unexpected)
            totals["errors"] += len(result.errors)
            with open(report, "w") as file:
                facts = " ".join('%s="%d"' % fact for fact in totals.items())
                file.write("<testsuite " + facts + "/>")
        return result

    runner.run = run


def hand_over():
    """There may be another of this name, which would have been run without us."""
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        if ours is not None:
            sys.modules["sitecustomize"] = ours


def without_pythonpath():
    """What is looked through, but for what PYTHONPATH adds: that may be the checkout."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    added = {os.path.abspath(p) for p in named if "PYTHONPATH" in os.environ}
    return [p for p in sys.path if os.path.abspath(p) not in added]


TOOL = tool_in(arguments())
if TOOL:
    step_aside()
    compile_anew()
    keep_others_out()
    whole = sys.path[:]
    sys.path[:] = without_pythonpath()
    if TOOL == "pytest":
        import_pytest()
    elif os.environ.get(REPORT):
        count_unittest(os.environ.pop(REPORT))
    sys.path[:] = whole
else:
    sys.path[:] = [p for p in sys.path if p != HERE]
hand_over()
