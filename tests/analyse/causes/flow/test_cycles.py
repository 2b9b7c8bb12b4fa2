"""What leads back to itself, against a plain search from each position."""

from hypothesis import given, strategies as st

from profiler.analyse.causes.flow.cycles import find_on_cycles
from profiler.analyse.causes.flow.dataflow import reach


@st.composite
def graphs(draw):
    """Returns for each of a few positions those that it leads to."""
    count = draw(st.integers(0, 9))
    others = st.frozensets(st.integers(0, max(0, count - 1)), max_size=3)
    return draw(st.lists(others, min_size=count, max_size=count))


@given(graphs())
def test_positions_that_lead_back_to_themselves_are_found(leads_to):
    found = {one for one in range(len(leads_to)) if one in reach(leads_to[one], leads_to.__getitem__)}

    assert find_on_cycles(leads_to) == found


def test_code_may_be_longer_than_a_recursion_goes():
    length = 10_000
    ring = [frozenset({(one + 1) % length}) for one in range(length)]

    assert find_on_cycles(ring) == frozenset(range(length))
    assert find_on_cycles([*ring[:-1], frozenset()]) == frozenset()
