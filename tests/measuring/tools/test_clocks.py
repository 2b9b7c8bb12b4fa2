"""Samples of clock and power, from an `nvidia-smi` that is a script."""

import time

from living import wait_until
from terminal import write_tool

from profiler.measuring.tools.clocks import sampled_clocks

LOOP = 'echo "$@" > "{log}"; while :; do {prints}; sleep 0.01; done'


def place_tool(monkeypatch, folder, prints):
    log = folder / "log"
    write_tool(folder / "nvidia-smi", LOOP.format(log=log, prints=prints))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return log


def test_samples_have_the_clock_the_power_and_the_moment(monkeypatch, tmp_path):
    log = place_tool(monkeypatch, tmp_path, 'echo "1980, 412.31"')
    began = time.time()
    with sampled_clocks({"CUDA_VISIBLE_DEVICES": "GPU-1,GPU-2"}) as samples:
        assert wait_until(lambda: len(samples) >= 3)
    assert len(samples) >= 3
    assert {(one.sm_mhz, one.power_w) for one in samples} == {(1980.0, 412.31)}
    assert all(began <= one.unix_s <= time.time() for one in samples)
    assert "--id=GPU-1 " in log.read_text()


def test_a_line_that_arrives_in_pieces_is_one_sample(monkeypatch, tmp_path):
    place_tool(monkeypatch, tmp_path, 'printf "1980, 6"; sleep 0.05; echo "12.5"')
    with sampled_clocks({}) as samples:
        assert wait_until(lambda: len(samples) >= 2)
    assert {(one.sm_mhz, one.power_w) for one in samples} == {(1980.0, 612.5)}


def test_reading_ends_with_the_program(monkeypatch, tmp_path):
    place_tool(monkeypatch, tmp_path, 'echo "1980, 412.31"')
    with sampled_clocks({}) as samples:
        assert wait_until(lambda: len(samples) >= 1)
    known = len(samples)
    time.sleep(0.1)
    assert len(samples) == known


def test_figures_that_the_driver_does_not_have_are_left_out(monkeypatch, tmp_path):
    place_tool(monkeypatch, tmp_path, 'echo "[N/A], [N/A]"; echo "Field is not a valid field to query."')
    with sampled_clocks({}) as samples:
        time.sleep(0.2)
    assert samples == []


def test_without_nvidia_smi_there_are_no_samples(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with sampled_clocks({}) as samples:
        pass
    assert samples == []
