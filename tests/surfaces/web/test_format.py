"""The page writes amounts as every other surface does."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import dwindle.surfaces.web
from dwindle.text import amounts

FORMAT = Path(dwindle.surfaces.web.__file__).parent / "static" / "format.js"
SECONDS = (-1, 0, 0.352, 7.94, 59.9, 60, 3599, 3605, 86_400)
DOLLARS = (0, 0.0042, 0.05, 0.1, 1.5, 1234.5)
COUNTS = (0, 1, 1234)
SCRIPT = """
import(process.argv[1]).then(({ duration, money, plural, cost }) => {
  const [seconds, dollars, counts] = JSON.parse(process.argv[2]);
  console.log(JSON.stringify([
    seconds.map(duration),
    dollars.map((usd) => money(usd, true)),
    counts.map((number) => plural(number, "token")),
    cost(1200, 0.5, { estimated: true, unpriced: 20 }),
  ]));
});
"""


def test_the_page_follows_the_same_rules(
    require_tool: Callable[[str], Path], tmp_path: Path
) -> None:
    module = tmp_path / "format.mjs"
    module.write_bytes(FORMAT.read_bytes())
    given = json.dumps([SECONDS, DOLLARS, COUNTS])
    node = str(require_tool("node"))
    said = subprocess.run(
        [node, "-e", SCRIPT, str(module), given], capture_output=True, text=True, check=True
    )
    assert json.loads(said.stdout) == [
        [amounts.duration(seconds) for seconds in SECONDS],
        [amounts.money(usd, estimated=True) for usd in DOLLARS],
        [amounts.count(number, "token") for number in COUNTS],
        amounts.cost(1200, 0.5, estimated=True, unpriced=20),
    ]
