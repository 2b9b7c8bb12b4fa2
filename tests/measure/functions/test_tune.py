"""`profiler.tune`: the fastest values of a function's keywords, and a ranked table of all."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.needs("cc")
BRIEF = "processes=2, repeats=3, launches=2"

TUNED = """
NS = {(256, 4): 2000, (256, 8): 1000, (512, 4): 1010, (512, 8): 0}

def scaled(x, BLOCK, num_warps=4):
    if BLOCK == 512 and num_warps == 8:
        raise RuntimeError("out of resource: shared memory")
    launch("scaled_kernel", NS[BLOCK, num_warps], BLOCK)
    return x * 3 if (BLOCK, num_warps) == (256, 4) else x * 2

OVER = {"BLOCK": [256, 512], "num_warps": [4, 8]}
"""


def test_all_combinations_are_ranked_and_the_best_few_are_measured_again(measuring):
    found = measuring.run(f"""{TUNED}
ranked = prof.tune(scaled, x, over=OVER, reference=double, {BRIEF})
print(ranked)
print(ranked.settings, ranked.best.ns, ranked[1].settings, len(ranked))
frame = ranked.to_pandas()
print(list(frame.columns))
print(list(frame["median_ns"].dropna()), list(frame["decides"]), ranked.best.reference_ns)
print("The best of 4" in ranked._repr_html_(), [one.ns for one in ranked][-1])
""")
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()[1:]
    assert lines[0] == "The best of 4 is BLOCK=256 num_warps=8: 1.000 us."
    assert lines[1].startswith("The second, BLOCK=512 num_warps=4, is 1.00 % slower (95 % interval ")
    text = " ".join(found.stdout.split())
    assert "it raised RuntimeError after 0 s: out of resource: shared memory" in text
    assert "computes a wrong result: relative error" in text
    assert lines[-4:] == [
        "{'BLOCK': 256, 'num_warps': 8} 1000.0 {'BLOCK': 512, 'num_warps': 4} 4",
        "['BLOCK', 'num_warps', 'median_ns', 'slower_pct', 'reference_median_ns', 'decides', 'problem', 'run_id']",
        "[1000.0, 1010.0] [True, True, False, False] 2100.0",
        "True inf",
    ]
    names = [run_id.name for run_id in measuring.runs.ids()]
    assert sorted(names) == 2 * ["scaled-block-256-num_warps-8"] + 2 * ["scaled-block-512-num_warps-4"]
    assert not any(run.manifest.is_profiled for run in map(measuring.runs.open, measuring.runs.ids()))


def test_combinations_far_from_the_best_are_measured_once(measuring):
    """2 us are twice as long as 1 us: no noise of processes makes up for that."""
    found = measuring.run(f"""{TUNED}
ranked = prof.tune(scaled, x, over={{"BLOCK": [256], "num_warps": [4, 8]}}, {BRIEF})
print([(one.ns, one.decides, len(one.measurement.to_pandas("timings"))) for one in ranked], ranked.second)
""")
    assert found.stdout.splitlines()[-1] == "[(1000.0, True, 6), (2000.0, False, 3)] None", found.stderr


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("scaled, x, over={'BLOK': [1]}", "TypeError: scaled(x, BLOCK, num_warps=4) cannot be called with these arguments"),
        ("scaled, x, over={'BLOCK': 512}", "TypeError: over={'BLOCK': 512} must give the values of each keyword, such as"),
        ("scaled, x, over={}", "TypeError: over={} must give the values of each keyword"),
        ("raises, over={'x': [1, 2]}", "NoPointWorks: raises: none of 2 combinations can be measured"),
        ("scaled, x, over=OVER, BLOCKS=3", "TypeError: measure has no option BLOCKS; it has"),
    ],
)  # fmt: skip
def test_a_sweep_of_which_nothing_can_be_measured_says_why(measuring, call, message):
    found = measuring.run(
        f"{TUNED}\ntry:\n    prof.tune({call})\nexcept Exception as error:\n"
        "    print(type(error).__name__ + ':', error)\n"
    )
    assert found.stdout.splitlines()[1].startswith(message), found.stdout + found.stderr
    assert not measuring.runs.ids()
