"""Code that exceeds the cache of instructions."""

import pytest
from made_evidence import evidence_of, names

from profiler.analyse.causes.detectors.waiting import instruction_cache


@pytest.mark.parametrize(("instructions", "found"), [(768, []), (769, ["instruction-cache-misses"])])
def test_code_that_fits_in_12_kib_misses_no_instruction_cache(instructions, found):
    evidence = evidence_of(*["FADD R4, R4, R6"] * instructions, facts={0: {"waits": {"no_instruction": 9}}})
    assert names(instruction_cache.detect_instruction_cache, evidence) == found
