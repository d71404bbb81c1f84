"""The same work as `independent.py`, done by LangGraph with its SQLite checkpointer.

Run by that benchmark with the Python of a virtual environment that has langgraph; never imported.
Two ways, of which the faster counts:

    fan    one step with a task for every atom, of which three run at a time; what each task came to
           is written to the database when it ends
    steps  a step for every three atoms, with a checkpoint after it

    python bench/_langgraph.py fan|steps ATOMS FOLDER REPORT_LINE CHECK_LINE
"""

from __future__ import annotations

import operator
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver  # type: ignore[import-not-found]
from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found]
from langgraph.types import Send  # type: ignore[import-not-found]

WIDTH = 3


class State(TypedDict):
    done: Annotated[int, operator.add]


class Atom(TypedDict):
    number: int


def main(way: str, atoms: int, folder: Path, lines: tuple[str, str]) -> None:
    def work(atom: Atom) -> dict[str, int]:
        report = folder / f"{atom['number']}.json"
        for line in lines:
            subprocess.run(["/bin/sh", "-c", line], env={"DWINDLE_REPORT": str(report)}, check=True)
        return {"done": 1}

    def next_ones(state: State) -> list[Send] | str:
        width = atoms if way == "fan" else WIDTH
        ahead = range(state["done"], min(atoms, state["done"] + width))
        return [Send("work", {"number": number}) for number in ahead] or END

    graph = StateGraph(State)
    graph.add_node("work", work)
    if way == "fan":
        graph.add_conditional_edges(START, next_ones, ["work", END])
        graph.add_edge("work", END)
    else:
        graph.add_node("gather", lambda _: {"done": 0})
        graph.add_conditional_edges(START, next_ones, ["work", END])
        graph.add_edge("work", "gather")
        graph.add_conditional_edges("gather", next_ones, ["work", END])
    connected = sqlite3.connect(folder / "checkpoints.db", check_same_thread=False)
    compiled = graph.compile(checkpointer=SqliteSaver(connected))
    began = time.perf_counter()
    ended = compiled.invoke(
        {"done": 0},
        {"configurable": {"thread_id": "1"}, "max_concurrency": WIDTH, "recursion_limit": 10**6},
        durability="sync",
    )
    seconds = time.perf_counter() - began
    if ended["done"] != atoms:
        raise SystemExit(f"{ended['done']} of {atoms} were done")
    print(seconds)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), (sys.argv[4], sys.argv[5]))
