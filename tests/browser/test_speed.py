"""How long a page takes to write, and to show its first picture; the best of a few times, since others only slow it.

What is fast enough is not measured again.
"""

import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.benchmark

_LAUNCHES = 200
_METRICS = 300


def best_of(rounds, action, enough_s):
    best_s = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        best_s = min(best_s, time.perf_counter() - start)
        if best_s < enough_s:
            break
    return best_s


@pytest.fixture
def write(prof, tmp_path):
    """`write(*arguments)`: the page's file, for a run of `prof report` that must succeed."""

    def run(*arguments):
        path = tmp_path / "page.html"
        result = prof("report", "-o", path, *arguments)
        assert result.returncode == 0, result.stderr
        return path

    return run


def test_a_ladder_of_eleven_rungs_is_written_in_five_seconds(write, recorded):
    gemm = Path(__file__).parents[2] / "kernels" / "gemm"
    rungs = [str(number) for number in range(11)]
    took_s = best_of(6, lambda: write(*rungs, "--runs", recorded.root, "--ladder", gemm), 5)
    print(f"\nprof report over 11 rungs {took_s:.1f} s")
    assert took_s < 5


@pytest.mark.parametrize("kernels", [1, 40])
def test_a_recording_of_two_hundred_launches_is_written_in_ten_seconds(write, make_run, tmp_path, kernels):
    launches = [
        {
            "kernel": f"kernel_{number % kernels}",
            "metrics": {
                "gpu__time_duration.sum": (1000.0 + number, "ns"),
                **{f"some__metric_{metric}.sum": float(metric + number) for metric in range(_METRICS)},
            },
            "instructions": [("LDS", 100.0), ("FFMA", 800.0), ("BRA", 10.0)],
        }
        for number in range(_LAUNCHES)
    ]
    make_run(*launches, name="many", root=tmp_path / "runs")
    took_s = best_of(4, lambda: write("many", "--runs", tmp_path / "runs"), 10)
    size_mb = (tmp_path / "page.html").stat().st_size / 1e6
    print(f"\nprof report of {_LAUNCHES} launches of {kernels} kernels {took_s:.1f} s, {size_mb:.1f} MB")
    assert took_s < 10
    assert size_mb < 5


def test_the_first_picture_is_there_within_a_second_and_a_half(open_page, write, recorded):
    whole_ladder = write("--runs", recorded.root)

    def show():
        page = open_page(whole_ladder)
        expect(page.locator(".current figure svg").first).to_be_visible()
        painted_ms.append(
            page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        )

    painted_ms = []
    took_s = best_of(6, show, 1.5)
    print(f"\nfirst picture after {took_s * 1e3:.0f} ms, first paint {min(painted_ms):.0f} ms")
    assert took_s < 1.5
