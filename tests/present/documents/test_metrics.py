"""Which metrics of a kernel stand first."""

from profiler.analyse.recording.overview import SheetMetric
from profiler.catalog.metrics import HEADLINE
from profiler.present.document import Table
from profiler.present.documents.parts.metrics import metric_sections


def first_rows(**means):
    metrics = [SheetMetric(name, "%", mean, None, 1, "") for name, mean in means.items()]
    blocks = next(iter(metric_sections(metrics, HEADLINE, [], 0, full=False)))
    (table,) = (one for one in blocks if isinstance(one, Table))
    return [row.values[0] for row in table.rows]


def test_the_tensor_pipe_has_a_row_if_it_multiplies_matrices():
    busy = {
        "issue_active_pct": 15.0,
        "fma_pipe_pct": 3.0,
        "l1_throughput_pct": 81.0,
        "l2_throughput_pct": 34.0,
    }
    with_tensor = [
        "issue_active_pct",
        "tensor_pipe_pct",
        "fma_pipe_pct",
        "l1_throughput_pct",
        "l2_throughput_pct",
    ]
    assert first_rows(**busy, tensor_pipe_pct=3.0) == with_tensor
    assert "tensor_pipe_pct" not in first_rows(**busy, tensor_pipe_pct=2.9)
