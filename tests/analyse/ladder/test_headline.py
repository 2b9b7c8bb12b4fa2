"""A ladder first says which rung came furthest, by which steps, and what to do next."""

from msgspec.structs import replace

from profiler.analyse.findings import Speedup
from profiler.analyse.ladder.climb import furthest_rung, headline_of_ladder
from profiler.analyse.ladder.ladder import RungFinding
from tests.made_causes import cause_of


def rung(number, ms, before, ratio=None, **fields):
    verdict = None if ratio is None else ("better" if ratio > 1 else "worse")
    known = {
        "kernel": number, "name": f"k{number}", "duration_ns": ms * 1e6, "basis": "unprofiled", "gflops": None,
        "gbytes_per_s": None, "reference_pct": 100 / ms, "reference": "cuBLAS", "metrics": {}, "before": before,
        "speedup": None if ratio is None else Speedup(ratio, (ratio, ratio), "unprofiled"), "verdict": verdict,
        "delta": {}, "refused": [], "warnings": [], "binding": None, "launches": 1, "run_id": "r", "timed_run_id": "t",
    }  # fmt: skip
    return RungFinding(**(known | fields))


SLOW, TILES, WORSE, BEST = (rung(1, 40.0, None), rung(2, 4.0, 1, 10.0), rung(3, 5.0, 2, 0.8), rung(4, 2.0, 3, 2.5))  # fmt: skip
OTHER = rung(5, 0.5, 4, 4.0, reference="cuBLAS bf16", reference_pct=99.0)


def headline(rungs, causes=(), ladder="gemm"):
    return headline_of_ladder(ladder, rungs, furthest_rung(rungs), causes)


def test_the_rung_nearest_to_its_reference_is_named_with_the_steps_to_it():
    said = headline([SLOW, TILES, WORSE, BEST])
    assert said.what == "k4 (rung 4) reaches 50.0 % of cuBLAS, in 2.000 ms: 20.0x as fast as k1 (rung 1)."
    assert said.why == (
        "The largest gains on the way: k2 (rung 2) 10.0x, k4 (rung 4) 2.50x. Slower than the rung before: k3 (rung 3) 0.800x."
    )


def test_a_rung_with_another_reference_is_no_part_of_the_climb():
    assert furthest_rung([SLOW, TILES, OTHER]) is TILES
    assert "k5" not in headline([SLOW, TILES, OTHER]).why


def test_a_rung_that_was_reached_over_another_reference_is_no_part_of_the_climb():
    back = rung(6, 0.4, 5, 1.25)
    assert furthest_rung([SLOW, TILES, OTHER, back]) is TILES


def test_a_ladder_whose_rungs_are_compared_in_a_circle_is_followed_once_around():
    ahead = rung(1, 40.0, 3, 0.1)
    assert headline([ahead, TILES, WORSE]).why.startswith("The largest gains on the way: k2 (rung 2) 10.0x.")


def test_a_first_rung_that_no_other_passes_is_the_one_to_work_on():
    """A slower variant that came after it would be the wrong one to improve."""
    nothing = {"reference": "", "reference_pct": None}
    first, slower = rung(1, 4.0, None, **nothing), rung(2, 5.0, 1, 0.8, **nothing)
    said = headline([first, slower, rung(3, 6.0, 2, 0.83, **nothing)], [cause_of()])
    assert said.what == "k1 (rung 1) takes 4.000 ms."
    assert said.why == "No later rung does better."
    assert said.next.startswith("k1 (rung 1), barriers: Wait less.")
    assert headline([TILES, WORSE]).why == "No later rung with this reference does better."
    assert furthest_rung([first, replace(slower, duration_ns=3e6)]).kernel == 2


def test_a_ladder_of_one_rung_has_no_headline():
    assert furthest_rung([SLOW]) is None


def test_the_next_step_is_that_of_the_top_cause_and_names_the_ladder():
    said = headline([SLOW, TILES], [cause_of()], ladder="sum")
    assert said.next == (
        "k2 (rung 2), barriers: Wait less. Likely to save 20 % of the time. "
        "`prof show 2 --ladder sum` shows all about it."
    )
