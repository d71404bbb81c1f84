"""dwindle report: what a run did and came to, in one file for people who were not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dwindle.kernel.model import PlanKind
from dwindle.surfaces.cli.output import say
from dwindle.surfaces.cli.text import as_json
from dwindle.surfaces.history import root_of_here
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.views.report import Report, report_of
from dwindle.surfaces.views.runs import known_run

Format = Literal["html", "md", "json"]
SUFFIXES: dict[str, Format] = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}


def report(
    run: str | None = None,
    /,
    *,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    format: Format | None = None,  # noqa: A002 - the option's name
    plan: PlanKind | None = None,
) -> int:
    """Write the report of a run.

    Args:
        run: The id of the run; that of the plan, if left out.
        output: Where to; stdout, if left out.
        format: html, if neither this nor the name of the file says otherwise.
        plan: Of which plan, where there are two.
    """
    wanted = format or SUFFIXES.get(output.suffix.lower() if output else "", "html")
    root = root_of_here()
    made = _made(report_of(root, known_run(root, run, plan)), wanted)
    if output is None:
        return say(made.removesuffix("\n"))
    try:
        _write(output, made.encode("utf-8", "replace"))
    except OSError as error:
        what = f"the report cannot be written: {error.strerror}"
        raise Refused(what, where=str(output), hint="name another file with -o") from None
    return say(f"{output}")


def _made(of: Report, wanted: Format) -> str:
    if wanted == "json":
        return as_json(of.as_json()) + "\n"
    if wanted == "md":
        from dwindle.surfaces.views.report_md import markdown  # noqa: PLC0415 - only then

        return markdown(of)
    from dwindle.surfaces.views.report_html import html  # noqa: PLC0415 - only then

    return html(of)


def _write(path: Path, content: bytes) -> None:
    """All of it or none: an earlier report is not left half overwritten."""
    if path.exists() and not path.is_file():  # a pipe, or /dev/stdout
        path.write_bytes(content)
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
