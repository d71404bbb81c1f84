"""Write the `then` of cases anew, from what happens now.

    python -m tests.kernel.rewrite_cases [NAME...]

For a new story, or for one whose words changed. What it writes is what the kernel does, right or
wrong: read the difference line by line before you keep it. `given` and `news` stay as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from tests.kernel.cases import FOLDER, all_cases, load, steps
from tests.kernel.plan_data import picture


class Paragraph(dict[str, Any]):
    """A mapping that is written one entry a line."""


class Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)


Dumper.add_representer(
    Paragraph,
    lambda dumper, lines: dumper.represent_mapping(
        "tag:yaml.org,2002:map", lines, flow_style=False
    ),
)


def rewrite(path: Path) -> None:
    case = load(path)
    plan, refused = case.start, None
    for step in steps(case):
        plan, refused = step.after, step.refused
    told, _, _ = path.read_text(encoding="utf-8").partition("\nthen:")
    path.write_text(f"{told}\n{dumped(picture(case.start, plan, refused))}", encoding="utf-8")


def dumped(then: Mapping[str, Any]) -> str:
    laid_out = {
        name: Paragraph(part) if name in ("waiting", "stop") else part
        for name, part in then.items()
    }
    text = yaml.dump(
        {"then": laid_out},
        Dumper=Dumper,
        sort_keys=False,
        default_flow_style=None,
        width=96,
        allow_unicode=True,
    )
    return text.replace("? ''\n    : ", "'': ")  # how the verification's session is named


if __name__ == "__main__":
    for which in [FOLDER / f"{name}.yaml" for name in sys.argv[1:]] or all_cases():
        rewrite(which)
