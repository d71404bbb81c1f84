"""The graph plan file, read and written: nothing lost, one spelling, the body untouched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dwindle.adapters.formats.graph.plan import Decoded, GraphWriter, decode
from dwindle.adapters.formats.graph.wire import State
from dwindle.kernel.model import (
    ROOT,
    Aligned,
    Answer,
    Atom,
    AtomId,
    BaseCase,
    Binding,
    Check,
    ChecklistItem,
    CheckType,
    Control,
    Counted,
    Criterion,
    Decomposition,
    Dispatch,
    GroupId,
    Limits,
    Objective,
    OrGroup,
    Pace,
    Plan,
    Question,
    Role,
    RunStatus,
    Session,
    Spent,
    Status,
    StopCode,
    TrailEntry,
    TrailType,
    Verification,
)
from dwindle.kernel.problems import validate

DATA = Path(__file__).parent / "data" / "graph"
FILES = sorted(DATA.glob("*.md"))


def plan_of(data: bytes) -> Plan:
    decoded = decode(data)
    assert decoded.problems == ()
    assert decoded.plan is not None
    return decoded.plan


def read(name: str) -> bytes:
    return (DATA / name).read_bytes()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_sample_comes_to_rest_after_one_writing(path: Path) -> None:
    decoded = decode(path.read_bytes())
    assert decoded.problems == ()
    assert decoded.plan is not None
    assert [problem for problem in validate(decoded.plan) if not problem.warning] == []
    written = GraphWriter(decoded.body).encode(decoded.plan)
    assert decode(written) == decoded
    assert GraphWriter(decoded.body).encode(plan_of(written)) == written


def test_a_run_in_the_middle_is_read_in_every_field() -> None:
    command = CheckType.COMMAND
    decoded = decode(read("whole_run.md"))
    assert decoded.body == b"\n# Original Prompt\n\nPlease let our customers pay by invoice.\n"
    assert decoded.plan == Plan(
        objective=Objective(
            goal="Let customers pay by invoice",
            base_case=BaseCase(
                checklist=(
                    ChecklistItem(
                        item="It works",
                        group=(
                            ChecklistItem(
                                item="Invoice tests pass",
                                check=Check(type=command, value="pytest -q tests/invoices"),
                            ),
                            ChecklistItem(
                                item="The endpoint answers",
                                check=Check(
                                    type=command, value="curl -f http://localhost:8080/invoices/1"
                                ),
                            ),
                        ),
                    ),
                    ChecklistItem(
                        item="It is tidy",
                        group=(
                            ChecklistItem(
                                item="Nothing to lint",
                                check=Check(type=command, value="ruff check ."),
                            ),
                            ChecklistItem(
                                item="No known holes",
                                check=Check(
                                    type=CheckType.NOT_COMMAND,
                                    value="pip-audit --fix --dry-run | grep -q vulnerable",
                                ),
                            ),
                        ),
                    ),
                    ChecklistItem(
                        item="It reads well",
                        check=Check(
                            type=CheckType.QUALITY,
                            rubric=(
                                Criterion(
                                    criterion="Names",
                                    weight=0.5,
                                    levels=(
                                        (1, "One has to guess"),
                                        (3, "Mostly telling"),
                                        (5, "One never has to look twice"),
                                    ),
                                ),
                                Criterion(
                                    criterion="Structure",
                                    weight=0.5,
                                    levels=(
                                        (1, "Everything knows everything"),
                                        (3, "Some seams"),
                                        (5, "Each part can be read alone"),
                                    ),
                                ),
                            ),
                            pass_threshold=3.5,
                        ),
                    ),
                )
            ),
            background_intent="Companies do not pay by card",
            deliverables="An invoice API with numbered PDFs",
            definition_of_done="All invoice tests pass",
        ),
        limits=Limits(max_atoms=55),
        spent=Spent(created=5),
        control=Control(status=RunStatus.RUNNING, iteration=5, prev_pending_count=3),
        atoms={
            AtomId("A1"): Atom(
                id=AtomId("A1"), description="Model of an invoice", status=Status.RESOLVED
            ),
            AtomId("A2"): Atom(id=AtomId("A2"), description="Issue an invoice", depends_on=("A1",)),
            AtomId("A3"): Atom(
                id=AtomId("A3"),
                description="Number invoices without gaps",
                status=Status.RESOLVED,
                depends_on=("A1",),
            ),
            AtomId("A4"): Atom(
                id=AtomId("A4"),
                description="Render the PDF from HTML",
                status=Status.IN_PROGRESS,
                depends_on=("A1",),
                or_group=GroupId("pdf_method"),
            ),
            AtomId("A5"): Atom(
                id=AtomId("A5"), description="Download endpoint", depends_on=("A3", "A4")
            ),
        },
        decompositions=(
            Decomposition(
                parent=AtomId("A2"),
                children=(AtomId("A3"), AtomId("A4")),
                reason="Numbering and rendering are separate worries",
            ),
        ),
        groups={
            GroupId("pdf_method"): OrGroup(
                id=GroupId("pdf_method"),
                choices=(AtomId("A4"), AtomId("A4_alt")),
                selected=AtomId("A4"),
            )
        },
        bindings={
            AtomId("A1"): Binding(
                summary="Invoice model with lines and totals", artifacts=("src/invoices/model.py",)
            ),
            AtomId("A3"): Binding(
                summary="Numbers come from a locked counter row",
                artifacts=("src/invoices/numbers.py",),
            ),
        },
        trail=(
            TrailEntry(
                or_group=GroupId("pdf_method"),
                selected=AtomId("A4"),
                reason="HTML templates exist already",
                timestamp="2025-01-15T10:00:00Z",
            ),
        ),
    )


def test_a_file_without_our_fields_stays_without_them() -> None:
    plan = plan_of(read("legacy_start.md"))
    assert GraphWriter(b"\n# Original Prompt\n").encode(plan).decode() == (
        "---\n"
        "objective:\n"
        '  goal: "..."\n'
        "  base_case:\n"
        "    type: command\n"
        '    value: "make check"\n'
        '  background_intent: "..."\n'
        '  deliverables: "..."\n'
        '  definition_of_done: "..."\n'
        "  constraints:\n"
        "    max_iterations: 20\n"
        "    max_parallel_agents: 3\n"
        "    max_stall_count: 3\n"
        "\n"
        "control:\n"
        "  status: pending\n"
        "  iteration: 0\n"
        "  stall_count: 0\n"
        "  prev_pending_count: -1\n"
        "  stop_requested: false\n"
        "  stop_reason: null\n"
        "  redirect_requested: false\n"
        "\n"
        "atoms:\n"
        "  - id: A1\n"
        '    description: "First step"\n'
        "    status: pending\n"
        "    depends_on: []\n"
        "\n"
        "decompositions: []\n"
        "\n"
        "or_groups: {}\n"
        "\n"
        "bindings: {}\n"
        "\n"
        "trail: []\n"
        "\n"
        "corrections: []\n"
        "---\n"
        "\n"
        "# Original Prompt\n"
    )


def test_a_file_with_all_our_fields_is_already_canonical() -> None:
    data = read("everything.md")
    decoded = decode(data)
    assert decoded.plan is not None
    assert GraphWriter(decoded.body).encode(decoded.plan) == data
    plan = decoded.plan
    assert plan.limits == Limits(
        max_iterations=7,
        max_parallel_agents=2,
        max_stall_count=4,
        max_atoms=60,
        max_attempts=2,
        max_probes=0,
        max_verifications=1,
        max_redirects=2,
        max_forgiven=3,
        max_backjumps=1,
        max_winds=4,
        max_wall_seconds=3600,
        max_tokens=1_000_000,
        max_cost_usd=2.5,
        session_timeout_seconds=600,
        dispatch=Dispatch.REFILL,
        early_verify=True,
        fewer_tests=2,
        stated=tuple(name for name in Limits.__dataclass_fields__ if name not in UNSTATED),
    )
    assert plan.spent == Spent(
        sessions=9,
        created=5,
        backjumps=1,
        forgiven=2,
        redirects=1,
        verifications=1,
        seconds=12.5,
        tokens=4000,
        usd=0.25,
    )
    assert plan.control == Control(
        status=RunStatus.STOPPED,
        iteration=3,
        stall_count=1,
        prev_pending_count=2,
        stop_requested=True,
        stop_reason='someone said "stop"',
        redirect_requested=True,
        run_id="01JABCDEFGHJKMNPQRSTVWXYZ0",
        revision=41,
        stop_code=StopCode.STOPPED_BY_USER,
        aligned=Aligned(
            commit="0123456789abcdef0123456789abcdef01234567",
            pins=("Makefile", "tests/test_page.py"),
            tests=(Counted(command="pytest -q", ran=12),),
            branch="release/2",
        ),
    )
    assert plan.sessions == {
        AtomId("A3"): Session(nonce=40, number=9, role=Role.WORKER),
        ROOT: Session(nonce=41, number=10, role=Role.VERIFIER),
    }
    assert plan.pace == Pace(
        filling=False,
        started=1,
        generation=(40, 41),
        advanced=True,
        charged=True,
        branch_changed=True,
    )
    assert plan.verification == Verification(
        passed=True,
        rounds_without_gaps=2,
        questions=(
            Question(item="the page feels quick"),
            Question(item="nothing flickers", answer=Answer.NO, words="it does, on the phone"),
        ),
    )
    assert plan.atoms[AtomId("A1")] == Atom(
        id=AtomId("A1"),
        description="Has a check of its own",
        check=Check(type=CheckType.COMMAND, value="pytest tests/a1", timeout_seconds=30),
        attempts=1,
        max_attempts=5,
        allowed=10,
        infeasible="the service is gone",
        probe=True,
        probes=1,
        touches=("src/a1/", "docs"),
    )
    assert plan.groups[GroupId("way")] == OrGroup(
        id=GroupId("way"),
        choices=(AtomId("A2"), AtomId("A3"), AtomId("5th")),
        selected=AtomId("A3"),
        failed=(AtomId("A2"),),
        speculative=True,
    )
    assert [entry.type for entry in plan.trail] == [
        TrailType.CHOICE,
        TrailType.FAILURE,
        TrailType.BACKTRACK,
        TrailType.USER_CORRECTION,
        TrailType.WIND,
    ]
    assert plan.objective.definition_of_done == "A bell \a, a separator \u2028 and DEL \x7f survive"
    assert plan.objective.protected_paths == ("tests/", "!tests/tmp")


UNSTATED = ("max_iterations", "max_parallel_agents", "max_stall_count", "stated")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n",
        b"no newline",
        b"a\r\nb\r\n",
        b"\n---\n---\nx\n---\n",
        "\ufeff\x00\u2028".encode(),
    ],
)
def test_the_body_belongs_to_people(body: bytes) -> None:
    plan = plan_of(read("whole_run.md"))
    decoded = decode(GraphWriter(body).encode(plan))
    assert decoded == Decoded(plan=plan, body=body)


def test_a_file_may_end_with_its_front_matter() -> None:
    data = read("legacy_start.md").partition(b"\n---\n")[0] + b"\n---"
    assert decode(data) == Decoded(plan=plan_of(read("legacy_start.md")), body=b"")


def test_a_plan_without_a_base_case_can_be_written_but_is_not_aligned() -> None:
    plan = plan_of(read("legacy_start.md"))
    blank = replace(plan, objective=replace(plan.objective, base_case=BaseCase()))
    (problem,) = decode(GraphWriter().encode(blank)).problems
    assert (problem.where, problem.unaligned) == (("objective", "base_case"), True)


def test_the_wire_types_name_the_sections_in_the_order_they_are_written() -> None:
    written = GraphWriter().encode(plan_of(read("everything.md"))).decode()
    titles = [line.partition(":")[0] for line in written.splitlines() if line[:1].isalpha()]
    assert titles == list(State.__struct_fields__)
