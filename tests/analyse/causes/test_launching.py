"""What it costs to launch blocks that do almost nothing: places that stay empty, and the queue of blocks before them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from profiler.analyse.causes.detectors import launch
from profiler.analyse.causes.evidence.latency import Places

sys.path.insert(0, str(Path(__file__).parent))
from made_evidence import evidence_of


@pytest.mark.parametrize(
    ("empty", "refilling", "launching", "worth"),
    [
        (0.25, 0.25, 0.97, 0.2),  # each place is filled at once, and memory is what warps wait for
        (0.55, 0.12, 1.0, (0.43 + 0.12 * 0.2) / 0.55),  # blocks queue to be launched
        (0.55, 0.12, 0.0, 0.2),  # the rest of the block is still at work
        (0.0, 0.0, 0.5, 0.2),
    ],
)
def test_fewer_blocks_are_worth_what_they_queue_for_being_launched(empty, refilling, launching, worth):
    """Warps wait for memory for 80 % of their time."""
    places = Places(empty=empty, refilling=refilling, launching=launching)
    evidence = evidence_of(
        "LDG.E R4, [R2.64]",
        "EXIT",
        figures={"waves": 200.0},
        waits={"long_scoreboard": 0.8, "wait": 0.2},
        places=places,
    )
    (candidate,) = launch.detect_little_work(evidence)
    assert candidate.effect.resources["launch"] == pytest.approx(worth * 0.99)
