"""All detectors."""

import pytest
from made_evidence import evidence_of, names

from profiler.analyse.causes.detectors.every import DETECTORS


@pytest.mark.parametrize("detect", DETECTORS, ids=lambda detect: detect.__name__)
def test_a_detector_finds_nothing_where_there_is_no_code_and_no_figure(detect):
    assert names(detect, evidence_of()) == []
