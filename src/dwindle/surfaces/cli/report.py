"""dwindle report: what a run did, and its result, in one file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dwindle.app.console import as_json, say
from dwindle.app.plans.plan_files import root_of_here
from dwindle.app.refusal import Refused
from dwindle.kernel.model import PlanKind
from dwindle.views.read_model.runs import known_run
from dwindle.views.report.report import Report, report_of

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
        run: The id of a run; the run of the plan, if left out.
        output: The file to write; stdout, if left out.
        format: As the name of the file says, if left out; else html.
        plan: Which plan, where there are two.
    """
    wanted = format or SUFFIXES.get(output.suffix.lower() if output else "", "html")
    root = root_of_here()
    made = _text_of(report_of(root, known_run(root, run, plan)), wanted)
    if output is None:
        return say(made.removesuffix("\n"))
    try:
        _write(output, made.encode("utf-8", "replace"))
    except OSError as error:
        what = f"the report cannot be written: {error.strerror}"
        raise Refused(what, where=str(output), hint="name another file with -o") from None
    return say(f"{output}")


def _text_of(of: Report, wanted: Format) -> str:
    if wanted == "json":
        return as_json(of.as_json()) + "\n"
    if wanted == "md":
        from dwindle.views.report.markdown import markdown  # noqa: PLC0415 - only then

        return markdown(of)
    from dwindle.views.report.html import html  # noqa: PLC0415 - only then

    return html(of)


def _write(path: Path, content: bytes) -> None:
    """Write the file as a whole or not at all."""
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
