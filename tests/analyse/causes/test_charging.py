"""How waiting for a queue is divided among those who fill it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from profiler.analyse.causes.evidence.charging import charge_waits

sys.path.insert(0, str(Path(__file__).parent))
from made_evidence import evidence_of


def test_a_special_function_holds_the_queue_it_shares_with_shared_memory_up_for_two_cycles():
    evidence = evidence_of("LDS R4, [R2]", "MUFU.EX2 R5, R6", "F2F.F64.F32 R8, R7", "FADD R5, R5, R4")
    charged = charge_waits(evidence.profile, evidence.sites, {}, {"mio_throttle": 1.0})
    shares = [charged[site]["mio_throttle"] for site in evidence.sites]
    assert shares == pytest.approx([0.2, 0.4, 0.4, 0.0])
