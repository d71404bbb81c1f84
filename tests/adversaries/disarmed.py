"""`dwindle` with one defence taken away: disarmed.py ADVERSARY WORD ...

For each adversary there is one function that is replaced, wherever it is bound, or one adapter that
is not wired in. What it does then shows that nothing else stood in its way.
"""

from __future__ import annotations

import asyncio
import atexit
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dwindle.__main__ import main
from dwindle.adapters.agents.command import CommandAgent
from dwindle.adapters.agents.reports import report
from dwindle.adapters.checks import counting
from dwindle.adapters.checks.mechanical import MechanicalChecks
from dwindle.adapters.formats.tree import changes as tree_changes
from dwindle.adapters.git import command, common_dir, files
from dwindle.adapters.git.common_dir import CommonDir
from dwindle.adapters.git.worktrees.workspace import GitWorkspace
from dwindle.adapters.git.worktrees.worktree import Tree
from dwindle.adapters.process import capture
from dwindle.adapters.sandbox import choice
from dwindle.adapters.sandbox import limits as bounds
from dwindle.adapters.sandbox.process_group import ProcessGroup
from dwindle.adapters.store.disk import DirectoryLock
from dwindle.app import run as running
from dwindle.app import run_tree as tree_running
from dwindle.kernel import base_case, graph, growth
from dwindle.kernel.base_case import Verdict
from dwindle.ports import fixed_files
from dwindle.ports.process import Ended
from dwindle.ports.work import NoReport, Result, WorkerReport
from dwindle.ports.workspace import Lease
from dwindle.runner import session
from dwindle.runner.file_watch import FileWatch
from dwindle.runner.gate import evidence, pins, steering, verification
from dwindle.runner.gate.evidence import Evidence
from dwindle.runner.gate.work_paths import OutsideWorkPaths, Overlay, WorkPaths
from dwindle.runner.modes.tree import clean_guard
from dwindle.runner.modes.tree.guard import Guard
from dwindle.runner.orders import work as orders
from dwindle.toolchains import countable_run, steering_files, tools

LOADED = (running, tree_running)
"""All that a run needs is imported by now, and can be replaced where it is bound."""


def everywhere(function: Any, other: Any) -> None:
    for module in tuple(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("dwindle"):
            for name, bound in tuple(vars(module).items()):
                if bound is function:
                    setattr(module, name, other)


def no_containment() -> None:
    everywhere(choice.choose, ProcessGroup)


def late_reports_find_the_next_session() -> None:
    """Two defences: processes end with their session, and no outbox is used twice."""
    no_containment()
    everywhere(session.outbox_name, lambda _: "outbox")


def exit_codes_are_believed() -> None:
    conclude = CommandAgent.conclude

    def believes(self: CommandAgent, order: Any, place: Any, ended: Ended) -> Result:
        result = conclude(self, order, place, ended)
        if isinstance(result.report, NoReport) and ended.is_clean:
            return replace(result, report=WorkerReport(success=True, summary="it says so"))
        return result

    CommandAgent.conclude = believes  # type: ignore[method-assign]


def claims_are_believed() -> None:
    async def believes(_atom: Any, said: WorkerReport, *_: Any) -> Evidence:
        return Evidence(holds=said.success, reason="it says so")

    everywhere(evidence.judge_work, believes)


def nothing_is_pinned() -> None:
    everywhere(pins.protected_changes, lambda *_: ())


def no_tool_is_known_to_steer() -> None:
    everywhere(tools.tools_in, lambda _: ())


def tests_are_not_counted() -> None:
    everywhere(countable_run.countable_run, lambda *_: None)


def nobody_looks_into_recipes() -> None:
    async def blind(*_: Any) -> steering_files.Reach:
        return steering_files.Reach(tools=(), files=frozenset())

    everywhere(steering_files.reach_of, blind)


def nothing_steers_a_guard() -> None:
    """Two defences: what steers is put back, and a clean checkout has nothing that git ignores."""
    everywhere(steering.steering_of_guard, lambda *_: steering.NOTHING_STEERS)
    everywhere(clean_guard.completed, lambda *_: None)


def tests_may_become_fewer() -> None:
    Guard.wants_a_count = False  # type: ignore[assignment, method-assign]


def the_plan_file_is_not_watched() -> None:
    def blind(self: FileWatch) -> tuple[()]:
        del self
        return ()

    FileWatch.look = blind  # type: ignore[method-assign]


def the_tree_may_be_changed_at_will() -> None:
    everywhere(tree_changes.changes_refused, lambda *_, **__: ())


def nobody_locks() -> None:
    def let_in(self: DirectoryLock) -> None:
        """Everybody."""

    DirectoryLock._take = let_in  # type: ignore[method-assign]


def reports_count_for_anybody() -> None:
    everywhere(report._refuse_another_session, lambda *_: None)


def files_may_grow() -> None:
    everywhere(bounds._lower, lambda *_: None)


def all_output_is_kept() -> None:
    init = capture.Log.__init__

    def unlimited(self: capture.Log, path: Path, limit: int, loop: Any) -> None:
        init(self, path, limit << 10, loop)

    capture.Log.__init__ = unlimited  # type: ignore[method-assign]


def sessions_have_all_the_time() -> None:
    order_for = orders.order_for

    def patient(*words: Any, **named: Any) -> Any:
        return replace(order_for(*words, **named), timeout_seconds=600.0)

    everywhere(order_for, patient)


def trees_are_not_cleaned() -> None:
    lease = GitWorkspace.lease

    async def dirty(*_: Any, **__: Any) -> None:
        """As the last session left it."""

    async def patient(self: GitWorkspace, session: int) -> Lease:
        """A tree is given back beside the next session, which on a slow day gets another one."""
        while session > 1 and not self._idle:  # noqa: ASYNC110 - nobody tells it
            await asyncio.sleep(0.01)
        return await lease(self, session)

    Tree.clean = dirty  # type: ignore[method-assign]
    GitWorkspace.lease = patient  # type: ignore[method-assign]


def links_are_followed() -> None:
    everywhere(evidence._locate, lambda _, artifacts: (tuple(artifacts), []))
    everywhere(evidence.links_out, lambda *_: ())


def growth_is_free() -> None:
    everywhere(growth.growth_problems, lambda *_, **__: ())


def attempts_are_not_counted() -> None:
    everywhere(graph.max_attempts, lambda *_: 1000)


def one_check_is_enough() -> None:
    def lenient(verdicts: Any) -> Verdict:
        return Verdict.PASSED if Verdict.PASSED in verdicts else Verdict.FAILED

    everywhere(base_case.all_of, lenient)


# --- of the rows of the table --------------------------------------------------------------------


def everything_is_work() -> None:
    """Work paths cover all files, and every file decides at once."""
    WorkPaths.covers = lambda *_: True  # type: ignore[method-assign]
    WorkPaths.is_merged = lambda *_: False  # type: ignore[method-assign]
    WorkPaths.overlay = lambda *_: Overlay()  # type: ignore[method-assign]
    WorkPaths.fixed = ()  # type: ignore[assignment,method-assign]
    OutsideWorkPaths.steers = lambda *_, **__: False  # type: ignore[method-assign]


def the_tool_is_not_imported_first() -> None:
    """Two defences: the work paths, and our gate in front of the tool; and who counts needs it."""
    everything_is_work()
    tests_are_not_counted()


def compiled_files_are_believed() -> None:
    """Two defences: they do not reach the branch, and Python does not look for them there."""
    the_tool_is_not_imported_first()
    shell = MechanicalChecks._shell

    async def trusting(self: MechanicalChecks, *given: Any) -> Ended:
        environment = {**self._settings.environment, "PYTHONPYCACHEPREFIX": ""}
        self._settings = replace(self._settings, environment=environment)
        return await shell(self, *given)

    MechanicalChecks._shell = trusting  # type: ignore[method-assign,assignment]


def checks_may_change_what_decides() -> None:
    """Two defences: it is mounted read-only, and a check that changed it has failed."""

    async def trusting(check: Any, tree: Any, runner: Any, *_: Any) -> Any:
        return await runner.run(check, tree.path)

    everywhere(verification.checked, trusting)
    everywhere(fixed_files.fixed_in, lambda *_: fixed_files.FixedFiles())


def all_of_it_may_be_changed() -> None:
    everything_is_work()
    checks_may_change_what_decides()


def memory_is_open() -> None:
    """A gate without the one call that closes it."""
    text = (counting.GATE / "sitecustomize.py").read_text("utf-8")
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    atexit.register(shutil.rmtree, folder)
    (folder / "sitecustomize.py").write_text(text.replace("    keep_others_out()\n", ""), "utf-8")
    everywhere(counting.GATE, folder)


def links_out_are_work() -> None:
    everywhere(evidence.links_out, lambda *_: frozenset())


def attributes_are_obeyed() -> None:
    """Two defences: they do not reach the branch, and checkouts are written raw."""
    everything_is_work()
    everywhere(common_dir.RAW, "")
    everywhere(common_dir.RAW_UNFILTERED, "")


def git_obeys_the_repository() -> None:
    everything_is_work()
    CommonDir.variables = lambda *_, **__: {}  # type: ignore[method-assign]
    everywhere(command._SETTINGS, ())


def git_sees_all_files() -> None:
    async def blind(*_: Any) -> files.OddFiles:
        return files.OddFiles()

    everywhere(files.tidy, blind)


DISARMED: dict[str, Callable[[], None]] = {
    "says-done": exit_codes_are_believed,
    "echoes-prompt": exit_codes_are_believed,
    "claims-no-change": claims_are_believed,
    "edits-tests": nothing_is_pinned,
    "hides-failures": no_tool_is_known_to_steer,
    "shadows-pytest": no_tool_is_known_to_steer,
    "exits-in-module": tests_are_not_counted,
    "skips-tests": tests_are_not_counted,
    "rewrites-recipe": nobody_looks_into_recipes,
    "names-target": nobody_looks_into_recipes,
    "rewrites-guard": nothing_steers_a_guard,
    "steers-guard": nothing_steers_a_guard,
    "drops-tests": tests_may_become_fewer,
    "edits-plan": the_plan_file_is_not_watched,
    "sets-passes": the_tree_may_be_changed_at_will,
    "rolls-back": no_containment,
    "truncates-journal": no_containment,
    "removes-lock": nobody_locks,
    "reports-late": late_reports_find_the_next_session,
    "reports-for-another": reports_count_for_anybody,
    "forks-daemons": no_containment,
    "fills-disk": files_may_grow,
    "floods-output": all_output_is_kept,
    "hangs": sessions_have_all_the_time,
    "rewrites-history": no_containment,
    "plants-git-hooks": no_containment,
    "plants-claude-hooks": trees_are_not_cleaned,
    "plants-symlinks": links_are_followed,
    "kills-runner": no_containment,
    "decomposes-forever": growth_is_free,
    "alternates": attempts_are_not_counted,
    "fails-last-check": one_check_is_enough,
}

ROWS: dict[Callable[[], None], tuple[str, ...]] = {
    everything_is_work: (
        *("conftest-outside", "conftest-inside", "pytest-ini", "tool-table", "setup-cfg"),
        *("tox-ini", "customize", "shadows-library", "tests-package", "same-stem"),
        *("moves-tests", "swaps-tests", "load-tests"),
        *("edits-node-tests", "jest-config", "vite-config", "babel-config", "makefile-sh"),
        *("include-glob", "built-in-rule", "target-folder", "recipe-program", "prose-exemption"),
        *("just-import", "cargo-manifest"),
    ),
    the_tool_is_not_imported_first: (
        *("entry-point", "shadows-unittest", "deletes-tests", "fewer-tests"),
    ),
    compiled_files_are_believed: ("stale-bytecode",),
    checks_may_change_what_decides: (
        *("rewrites-meanwhile", "pin-between-checks", "rewrites-script", "background-writer"),
    ),
    all_of_it_may_be_changed: ("build-script",),
    memory_is_open: ("writes-memory",),
    links_out_are_work: ("link-out",),
    attributes_are_obeyed: ("attributes",),
    git_obeys_the_repository: (*("git-filters", "git-process", "git-hooks"),),
    git_sees_all_files: (
        *("fifo", "socket", "deep-folders", "sparse-file", "many-files", "set-uid"),
    ),
    no_containment: ("edits-environment",),
}
NO_TWIN = (
    *("coveragerc", "renames-pin", "share-link", "git-drivers", "git-helpers"),
    *("inner-repository", "package-script", "npmrc", "bin-program", "cargo-config"),
)
"""More than one defence stands in their way, and nobody has found out yet which have to go."""
DISARMED |= {name: disarm for disarm, names in ROWS.items() for name in names}


if __name__ == "__main__":
    name, *words = sys.argv[1:]
    DISARMED[name]()
    sys.argv[1:] = words
    sys.exit(main())
