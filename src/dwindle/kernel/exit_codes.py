"""What a process ends with: one number for each reason that a run may end for."""

from __future__ import annotations

from collections.abc import Mapping

from dwindle.kernel.model import StopCode

EXIT_CODES: Mapping[StopCode, int] = {
    StopCode.COMPLETED: 0,
    StopCode.INVALID_PLAN: 2,
    StopCode.NOT_ALIGNED: 3,
    StopCode.STOPPED_BY_USER: 10,
    StopCode.AWAITING_CONFIRMATION: 11,
    StopCode.STALLED: 20,
    StopCode.ITERATION_LIMIT: 21,
    StopCode.BUDGET_TIME: 22,
    StopCode.BUDGET_COST: 23,
    StopCode.BUDGET_TOKENS: 24,
    StopCode.ITERATION_TIMEOUT: 25,
    StopCode.OR_EXHAUSTED: 30,
    StopCode.ATOM_EXHAUSTED: 31,
    StopCode.VERIFICATION_EXHAUSTED: 32,
    StopCode.AGENT_UNAVAILABLE: 40,
    StopCode.TAMPERED: 41,
    StopCode.LOCKED: 42,
    StopCode.IO_ERROR: 43,
    StopCode.INTERNAL_ERROR: 70,
}
