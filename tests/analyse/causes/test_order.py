"""The order of causes: a fault of the code stands before waiting, unless waiting costs much more."""

from __future__ import annotations

from pathlib import Path

import pytest

from profiler.analyse.causes.cause import Cause, Savings
from profiler.analyse.causes.find import in_order
from profiler.catalog.causes import BY_NAME, GENERAL
from profiler.present.documents.parts.causes import cause_blocks

DOCUMENTATION = Path(__file__).resolve().parents[3] / "docs" / "causes.md"
SAID = "A fault of the code comes before waiting"


def cause(name: str, saves: float) -> Cause:
    return Cause(name, "Why.", "What to try.", Savings(saves, 100.0), [], {})


def names(causes: list[Cause]) -> list[str]:
    return [one.cause for one in causes]


@pytest.mark.parametrize(("waiting", "first"), [(49.0, "bank-conflicts"), (51.0, "dependent-chain")])
def test_waiting_comes_first_only_where_it_costs_much_more_than_a_fault_of_the_code(waiting, first):
    assert names(in_order([cause("dependent-chain", waiting), cause("bank-conflicts", 30.0)]))[0] == first


@pytest.mark.parametrize("both", [("bank-conflicts", "idle-lanes"), ("grid-too-small", "dependent-chain")])
def test_of_two_causes_of_one_kind_the_one_that_saves_more_comes_first(both):
    less, more = cause(both[0], 20.0), cause(both[1], 20.1)
    assert in_order([less, more]) == [more, less]


def test_a_ceiling_comes_before_all_causes():
    ceiling, fault = cause("at-memory-bandwidth", 0.0), cause("uncoalesced-loads", 5.0)
    assert in_order([fault, ceiling]) == [ceiling, fault]


def test_the_documentation_names_the_general_causes():
    (said,) = [line for line in DOCUMENTATION.read_text().splitlines() if "General are" in line]
    assert {name for name in BY_NAME if f"`{name}`" in said} == GENERAL


@pytest.mark.parametrize(("waiting", "is_said"), [(40.0, True), (60.0, False), (30.4, False)])
def test_the_answer_says_why_a_cause_that_saves_less_stands_first(waiting, is_said):
    causes = in_order([cause("dependent-chain", waiting), cause("bank-conflicts", 30.0)])
    assert (SAID in str(cause_blocks(causes, []))) == is_said


def test_a_ceiling_that_stands_first_needs_no_reason():
    """A fault below it may be the surest to help, and yet saves more than a ceiling, which saves nothing."""
    ceiling, fault = cause("at-memory-bandwidth", 0.0), cause("uncoalesced-stores", 10.0)
    assert ceiling.is_ceiling
    assert SAID not in str(cause_blocks([ceiling, fault], []))
    waiting, later = cause("dependent-chain", 12.0), cause("at-memory-bandwidth", 0.0)
    assert SAID in str(cause_blocks([later, fault, waiting], []))
