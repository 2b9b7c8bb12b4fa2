"""What the reader does not know stays unknown, and is never a zero or the usual case."""

from __future__ import annotations

from types import SimpleNamespace

# private: no report that ships holds such a launch
from profiler.store.reports.nvidia_reader import _Decoder, _Launch


def test_an_instruction_whose_count_is_missing_is_kept_without_one() -> None:
    launch = _Launch(0, None)

    # private: as above
    _Decoder("run")._note_addresses(
        launch, "inst_executed", [16, 32, 48], [(None, None, None), (0.0, None, None), (7.0, None, None)]
    )

    assert launch.executed == {16: None, 32: 0, 48: 7}


def test_a_workload_of_a_type_to_come_is_unknown() -> None:
    action = SimpleNamespace(
        workload_type=lambda: 999,
        name=lambda base: "name",
        nvtx_state=lambda: None,
        NameBase_FUNCTION=0,
        NameBase_DEMANGLED=1,
        NameBase_MANGLED=2,
    )
    decoder = _Decoder("run")

    decoder._read_identity(_Launch(0, action), 0, 0)  # private: as above

    assert decoder.finish().tables["launches"].column("workload").to_pylist() == ["unknown"]
