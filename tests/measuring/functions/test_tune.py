"""`profiler.tune`: the fastest values of a function's keywords, and a ranked table of all."""

import re

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
    assert re.search(r"it raised RuntimeError after \d+ s: out of resource: shared memory", text), text
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


@pytest.mark.slow
def test_combinations_far_from_the_best_are_measured_once(measuring):
    """2 us are twice as long as 1 us: no noise of processes makes up for that."""
    found = measuring.run(f"""{TUNED}
ranked = prof.tune(scaled, x, over={{"BLOCK": [256], "num_warps": [4, 8]}}, {BRIEF})
print([(one.ns, one.decides, len(one.measurement.to_pandas("timings"))) for one in ranked], ranked.second)
""")
    assert found.stdout.splitlines()[-1] == "[(1000.0, True, 6), (2000.0, False, 3)] None", found.stderr


REFUSED = {
    "scaled, x, over={'BLOK': [1]}": "TypeError: scaled(x, BLOCK, num_warps=4) cannot be called with these arguments",
    "scaled, x, over={'BLOCK': 512}": "TypeError: over={'BLOCK': 512} must give the values of each keyword, such as",
    "scaled, x, over=['BLOCK']": "TypeError: over=['BLOCK'] must give the values of each keyword",
    "scaled, x, over={}": "TypeError: over={} must give the values of each keyword",
    "raises, over={'x': [1, 2]}": "NoPointWorks: raises: none of 2 combinations can be measured",
    "scaled, x, over=OVER, BLOCKS=3": "TypeError: measure has no option BLOCKS: give the function its own keywords",
}


def test_a_sweep_of_which_nothing_can_be_measured_says_why(measuring):
    said = measuring.errors(*(f"prof.tune({call})" for call in REFUSED), before=TUNED)
    pairs = zip(REFUSED.items(), said, strict=True)
    assert [(call, line) for (call, message), line in pairs if not line.startswith(message)] == []


UNSTEADY = """
import os

def racy(x, BLOCK):
    launch("racy_kernel", BLOCK)
    with open(f"processes-{BLOCK}", "a") as file:
        file.write(f"{os.getpid()}\\n")
    ran = len(set(open(f"processes-{BLOCK}").read().split()))
    return x * (3 if BLOCK in WRONG_LATER and ran > 1 else 2)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong_later", "shown"),
    [((1000,), "2000 [2000.0, 9000.0, nan]"), ((1000, 2000), "9000 [9000.0, nan, nan]")],
    ids=["the best", "all but the slowest"],
)
def test_a_combination_that_is_wrong_the_second_time_is_never_the_best(measuring, wrong_later, shown):
    found = measuring.run(f"""{UNSTEADY}
WRONG_LATER = {wrong_later}
ranked = prof.tune(racy, x, over={{"BLOCK": [1000, 2000, 9000]}}, reference=double, {BRIEF})
print(ranked.settings["BLOCK"], list(ranked.to_pandas()["median_ns"]))
print([one.problem.partition(":")[0] for one in ranked if one.problem])
""")
    ranked, problems = found.stdout.splitlines()[-2:]
    assert ranked == shown, found.stderr
    assert problems == str(len(wrong_later) * ["computes a wrong result"])


@pytest.mark.slow
def test_nothing_is_the_best_where_all_are_wrong_the_second_time(measuring):
    found = measuring.run(f"""{UNSTEADY}
WRONG_LATER = (1000, 9000)
prof.tune(racy, x, over={{"BLOCK": [1000, 9000]}}, reference=double, {BRIEF})
""")
    assert "NoPointWorks: racy: none of 2 combinations can be measured" in found.stderr
    assert found.stderr.count("computes a wrong result: relative error") == 2


def test_what_to_know_before_believing_the_best_is_said(measuring):
    found = measuring.run(f"""{TUNED}
print(prof.tune(scaled, x, over={{"BLOCK": [256], "num_warps": [8]}}, {BRIEF}))
""")
    text = " ".join(found.stdout.split())
    assert text.count("the result was not verified: there is no reference") == 1, found.stdout


@pytest.mark.slow
def test_the_work_of_a_call_may_depend_on_the_values(measuring):
    found = measuring.run(f"""{TUNED}
ranked = prof.tune(scaled, x, over={{"BLOCK": [256, 512], "num_warps": [4]}}, bytes=lambda BLOCK, num_warps: 8 * BLOCK, {BRIEF})
print([(one.settings["BLOCK"], one.measurement.manifest.facts.bytes) for one in ranked])
""")
    assert found.stdout.splitlines()[-1] == "[(512, 4096), (256, 2048)]", found.stderr


@pytest.mark.slow
def test_the_runs_of_two_combinations_of_many_keywords_have_two_names(measuring):
    """The name of a run has 60 characters, of which the keywords alone take more here."""
    found = measuring.run(f"""
def product(x, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, num_warps, num_stages):
    return fast(x)
over = {{"BLOCK_M": [128], "BLOCK_N": [256], "BLOCK_K": [64], "GROUP_M": [8], "num_warps": [8], "num_stages": [3, 4]}}
prof.tune(product, x, over=over, {BRIEF})
""")
    assert found.returncode == 0, found.stderr
    names = {run_id.name for run_id in measuring.runs.ids()}
    assert names == {"product-128-256-64-8-8-3", "product-128-256-64-8-8-4"}
