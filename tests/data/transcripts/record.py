#!/usr/bin/env python3
"""Records transcripts of this folder again: record.py OUT NAME ...

Runs the command of each `NAME.json` here in the neutral folder /tmp/prof, because a report holds the folder and the command line.
OUT gets the new `NAME.json`, and `NAME.ncu-rep.gz` if the command wrote a report. Builds the two programs that the commands name.
Whoever records `interrupted` or `hung` sends the signal. It needs nvcc, ncu and a GPU.
"""

from __future__ import annotations

import gzip
import json
import os
import selectors
import shutil
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
KERNELS = HERE.parents[2] / "kernels"
WORK = Path("/tmp/prof")
NVCC = ["nvcc", "-std=c++17", "-O3", "-lineinfo", "-gencode=arch=compute_90,code=sm_90"]
PROGRAMS = {
    "05_tile_2d": ("kernels/gemm/05_tile_2d.cu", ["-lcublas", "-lcublasLt", "-lnvidia-ml", "-ldl"]),
    "zoo": ("zoo.cu", ["-ldl"]),
}


def main(out: Path, names: list[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    build()
    for name in names:
        command = json.loads((HERE / f"{name}.json").read_text())["command"]
        report = report_of(command)
        if report is not None:
            report.unlink(missing_ok=True)
        transcript = {"command": command, **call(command)}
        (out / f"{name}.json").write_text(json.dumps(transcript, separators=(",", ":")))
        if report is not None and report.exists():
            (out / f"{name}.ncu-rep.gz").write_bytes(gzip.compress(report.read_bytes(), mtime=0))
        print(f"{name}: exit {transcript['exit']} after {transcript['seconds']} s")


def build() -> None:
    WORK.mkdir(exist_ok=True)
    shutil.copytree(KERNELS, WORK / "kernels", dirs_exist_ok=True)
    shutil.copy(HERE.parent / "reports" / "zoo.cu", WORK)
    for program, (source, libraries) in PROGRAMS.items():
        subprocess.run([*NVCC, "-o", program, source, *libraries], cwd=WORK, check=True)


def report_of(command: list[str]) -> Path | None:
    """Returns the file that the command writes."""
    for before, word in pairwise(command):
        if before in ("-o", "--export"):
            return WORK / f"{word}.ncu-rep"
    return None


def call(command: list[str]) -> dict[str, object]:
    """Runs a command and returns its exit code, its seconds, and each piece of its output as it came: second, stream, text."""
    events: list[tuple[float, str, str]] = []
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with selectors.DefaultSelector() as pipes:
        pipes.register(process.stdout, selectors.EVENT_READ, "stdout")
        pipes.register(process.stderr, selectors.EVENT_READ, "stderr")
        while pipes.get_map():
            for pipe, _ in pipes.select():
                piece = os.read(pipe.fd, 1 << 16)
                if piece:
                    events.append((seconds_since(started), pipe.data, piece.decode()))
                else:
                    pipes.unregister(pipe.fileobj)
    code = process.wait()
    return {"exit": code, "seconds": seconds_since(started), "events": events}


def seconds_since(started: float) -> float:
    return round(time.monotonic() - started, 3)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
