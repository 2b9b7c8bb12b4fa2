"""The verdicts on what has been published: each follows from the runs, and its command shows what is behind it."""

import shlex
from pathlib import Path

import claims
import claims_gemm
import claims_memory
import pytest

from profiler.catalog.ladders.ladder import find_ladder
from profiler.store.runs.run_store import RunStore
from tests.rows_ladder import commit_times, write_rows_ladder

ROOT = Path(__file__).resolve().parent.parent
CLAIMS = (*claims_gemm.GEMM, *claims_memory.VECTORS, *claims_memory.ROWS)


@pytest.fixture
def timed(tmp_path):
    """Times the rungs of a small ladder, and returns what is recorded then."""
    write_rows_ladder(tmp_path / "kernels" / "rows")

    def commit(*times_ns):
        commit_times(RunStore(tmp_path / "runs"), times_ns)
        return claims.Recorded(tmp_path / "kernels", tmp_path / "runs")

    return commit


def judged(judge, recorded):
    return claims.judge_claim(claims.Claim("X1", "It is faster.", "prof ladder", judge), recorded)


@pytest.mark.parametrize(
    ("wide_ns", "word"),
    [(1538.0, "reproduced"), (1430.0, "reproduced"), (1000.0, "depends"), (1900.0, "depends"), (2600.0, "contradicted")],
)  # fmt: skip
def test_a_claimed_factor_is_reproduced_only_within_a_tenth_of_it(timed, wide_ns, word):
    verdict = judged(claims.step("rows", 2), timed(1000.0, 2000.0, wide_ns))
    assert verdict.word == word
    assert verdict.evidence == f"wide: {2001 / (wide_ns + 1):.3f}x here, 1.30x claimed"


def test_a_claim_about_two_steps_depends_where_one_of_them_fails(timed):
    recorded = timed(1000.0, 2000.0, 1538.0, 1000.0)
    assert judged(claims.step("rows", 2), recorded).word == "reproduced"
    assert judged(claims.step("rows", 3), recorded).word == "contradicted"
    assert judged(claims.step("rows", 2, 3), recorded).word == "depends"


def test_nothing_is_said_of_what_nobody_recorded(timed):
    recorded = timed(1000.0, 2000.0)
    for judge in (claims.step("rows", 2), claims.step("rows", 2, 3), claims.step("absent", 2)):
        assert judged(judge, recorded) == claims.Verdict("not looked at", "")
    for claim in CLAIMS:
        assert claims.judge_claim(claim, recorded) == claims.Verdict("not looked at", ""), claim.id


@pytest.mark.parametrize(
    ("here", "claimed", "word"),
    [(1.9, 2.0, "reproduced"), (1.55, 2.0, "depends"), (2.3, 2.0, "depends"), (0.9, 2.0, "contradicted")],
)
def test_a_gain_between_rungs_that_are_no_step_is_judged_in_the_same_way(here, claimed, word):
    assert claims.factor(here, claimed, "").word == word


def test_the_claims_are_numbered_and_only_those_with_a_verdict_have_a_command():
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS) == 48
    for claim in CLAIMS:
        assert bool(claim.command) == bool(claim.judge), claim.id


def test_what_is_code_in_a_claim_is_code_on_the_page():
    page = (ROOT / "docs" / "claims.md").read_text()
    assert "a plain `float*` by itself" in page
    assert "\\`" not in page, "a backtick that a reader sees"
    assert "| `prof sass 5` |" in page


@pytest.mark.parametrize("command", sorted({claim.command for claim in CLAIMS if claim.command}))
def test_the_command_of_a_claim_shows_what_is_recorded(prof_here, command):
    _, verb, *words = shlex.split(command)
    if verb == "verify":  # needs a GPU; what it found is stored beside the runs
        assert (ROOT / "runs" / "checks" / f"{words[-1]}.json").exists()
        assert find_ladder(words[-1], ROOT)
        return
    answered = prof_here(verb, *words, "--format", "json", cwd=ROOT)
    assert answered.returncode == 0, answered.stderr
