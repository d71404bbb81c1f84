"""From the settings to the sandbox: what programs may see, write, use and print."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from dwindle.text.escape import escape

if TYPE_CHECKING:
    from pathlib import Path

    from dwindle.adapters.checks.mechanical import CheckSettings
    from dwindle.adapters.formats.config.settings import Settings
    from dwindle.adapters.git.common_dir import Filters
    from dwindle.adapters.git.repository import Repository
    from dwindle.adapters.git.worktrees.provision import Setup
    from dwindle.ports.process import Bounds, Containment, Secret
    from dwindle.ports.workspace import WorkspaceFailed
    from dwindle.runner.gate.certificate import Contained


def containment_for(settings: Settings, repository: Repository | None = None) -> Containment:
    """The strongest that works here, under the policy of the settings.

    Of the repository, programs see its history and what is shared. They do not see the sockets by
    which people reach a run: code under test could confirm its own work there.
    """
    from dwindle.adapters.git.worktrees.provision import shared_paths  # noqa: PLC0415
    from dwindle.adapters.sandbox.choice import choose  # noqa: PLC0415
    from dwindle.adapters.sandbox.policy import Sandbox, SandboxPolicy  # noqa: PLC0415
    from dwindle.adapters.sandbox.process_group import ProcessGroup  # noqa: PLC0415
    from dwindle.runner.sockets import SOCKETS  # noqa: PLC0415

    policy = SandboxPolicy(bounds=bounds_of(settings), secrets=known_secrets(settings))
    if repository is not None:
        checkout = repository.checkout
        shared = shared_paths(checkout, settings.workspace.share)
        sockets = (checkout / ".runner" / name for name in SOCKETS.values())
        policy = replace(policy, readable=(repository.common, *shared), hidden=tuple(sockets))
    return Sandbox(choose() if settings.sandbox.enabled else ProcessGroup(), policy)


def filters_of(settings: Settings) -> Filters:
    """Which filters git may run, and which are left out."""
    from dwindle.adapters.git.common_dir import Filters  # noqa: PLC0415

    return Filters(run=settings.git.filters, left_out=settings.git.unfiltered)


def known_secrets(settings: Settings) -> tuple[Secret, ...]:
    """Values that an agent may get or find here, and that no output may show."""
    from dwindle.adapters.agents.claude import program as claude_program  # noqa: PLC0415
    from dwindle.adapters.agents.codex import home as codex_home  # noqa: PLC0415
    from dwindle.text.redact import (  # noqa: PLC0415
        command_line_secrets,
        environment_secrets,
        longest_first,
        named_secrets,
    )

    let_through = {name: os.environ[name] for name in settings.sandbox.env if name in os.environ}
    agents = settings.agents
    commands = [agents.worker, agents.probe, agents.verifier, agents.planner]
    words = (pair for one in commands for pair in command_line_secrets(one.command, "command"))
    notify = settings.notify
    address = notify.webhook or os.environ.get(notify.webhook_env or "", "")
    logins = (*claude_program.stored_logins(os.environ), *codex_home.stored_logins(os.environ))
    return longest_first(
        (
            *environment_secrets(let_through, os.environ),
            *named_secrets((*logins, *words, ("webhook", address))),
        )
    )


def bounds_of(settings: Settings) -> Bounds:
    """How much of the machine one program may take."""
    from dwindle.ports.process import Bounds  # noqa: PLC0415

    limits = settings.limits
    has = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Bounds(
        processes=limits.processes,
        memory_bytes=limits.memory_bytes or has * 4 // 5,
        file_bytes=limits.file_bytes,
        free_bytes=limits.free_disk_bytes,
        free_percent=limits.free_disk_percent,
    )


def contained_by(settings: Settings, containment: Containment) -> Contained:
    """The containment that was in force, for the certificate and for `doctor`."""
    from dwindle.adapters.sandbox.limits import in_force  # noqa: PLC0415
    from dwindle.runner.gate.certificate import Contained  # noqa: PLC0415

    sandbox, bounds = settings.sandbox, in_force(bounds_of(settings), containment.strength)
    return Contained(
        strength=containment.strength,
        mechanism=containment.mechanism,
        network=sandbox.network,
        writable=sandbox.writable,
        env=sandbox.env,
        processes=bounds.processes,
        memory_bytes=bounds.memory_bytes,
        file_bytes=bounds.file_bytes,
    )


def check_settings(settings: Settings) -> CheckSettings:
    from pathlib import Path  # noqa: PLC0415 - `status` does without

    from dwindle.adapters.checks.mechanical import CheckSettings  # noqa: PLC0415

    sandbox = settings.sandbox
    return CheckSettings(
        timeout_seconds=float(settings.limits.check_timeout_seconds),
        network=sandbox.network,
        environment={name: os.environ[name] for name in sandbox.env if name in os.environ},
        output_bytes=settings.limits.output_bytes,
        writable=tuple(Path(path).expanduser() for path in sandbox.writable),
    )


def setup_for(settings: Settings, containment: Containment) -> Setup | None:
    """Makes a fresh tree ready to work in, as `[workspace] setup` says."""
    from dwindle.ports.workspace import WorkspaceFailed  # noqa: PLC0415

    return _step(settings.workspace.setup, "setup", WorkspaceFailed, settings, containment)


def build_for(settings: Settings, containment: Containment) -> Setup | None:
    """Builds what is to be checked, as `[workspace] build` says."""
    from dwindle.ports.workspace import BuildFailed  # noqa: PLC0415

    return _step(settings.workspace.build, "build", BuildFailed, settings, containment)


def _step(
    argv: tuple[str, ...],
    name: str,
    failure: type[WorkspaceFailed],
    settings: Settings,
    containment: Containment,
) -> Setup | None:
    from dwindle.ports.process import Command  # noqa: PLC0415

    if not argv:
        return None
    checks = check_settings(settings)

    async def run(tree: Path) -> None:
        ended = await containment.run(
            Command(
                argv=argv,
                cwd=tree,
                environment=checks.environment,
                writable=(tree, *checks.writable),
                network=checks.network,
            )
        )
        if not ended.is_clean:
            how = ended.error or ("it took too long" if ended.timed_out else "")
            said = how or ended.stderr.text() or ended.stdout.text()
            raise failure(f"[workspace] {name} failed", escape(said))

    return run
