"""Stands in for ncu on a machine without a GPU: replays the output and the report of the real one.

`tests/data/transcripts/NAME.json` holds a call of the real ncu on an H200: its command, every piece of its output with
its time, and its exit code; `NAME.ncu-rep.gz` is the report that it wrote. FAKE_NCU names the transcript to replay:
one name for every call, or names separated by commas for one call each, the last one for all later calls.
FAKE_NCU_PACE stretches the recorded time.

Like the real one it writes to `--export` and runs a program, which sleeps. If it is killed, that program is left
behind. It logs its calls in the file FAKE_NCU_LOG.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import sys
import time
from pathlib import Path

TRANSCRIPTS = Path(__file__).parents[1] / "data" / "transcripts"


def main() -> int:
    if sys.argv[1:] == ["--version"]:
        return replay("version", 0.0)
    log = Path(os.environ["FAKE_NCU_LOG"])
    program = os.posix_spawn("/bin/sleep", ["sleep", "86400"], os.environ)
    with log.open("a") as file:
        file.write(json.dumps({"words": sys.argv[1:], "folder": os.getcwd(), "pids": [os.getpid(), program], "began": time.time(),
                               "environment": {name: os.environ.get(name) for name in
                                               ("CUDA_VISIBLE_DEVICES", "TMPDIR", "CUDA_DEVICE_ORDER")}}) + "\n")  # fmt: skip
    names = os.environ["FAKE_NCU"].split(",")
    calls = len(log.read_text().splitlines())
    name = names[min(calls, len(names)) - 1]
    code = replay(name, float(os.environ.get("FAKE_NCU_PACE", "0")))
    os.kill(program, signal.SIGKILL)
    os.waitpid(program, 0)
    packed = TRANSCRIPTS / f"{name}.ncu-rep.gz"
    if packed.exists():
        export = sys.argv[sys.argv.index("--export") + 1].removesuffix(".ncu-rep")
        Path(f"{export}.ncu-rep").write_bytes(gzip.decompress(packed.read_bytes()))
    return code


def replay(name: str, pace: float) -> int:
    transcript = json.loads((TRANSCRIPTS / f"{name}.json").read_text())
    started = time.monotonic()
    for second, stream, text in transcript["events"]:
        time.sleep(max(0.0, started + second * pace - time.monotonic()))
        target = sys.stdout if stream == "stdout" else sys.stderr
        target.write(text)
        target.flush()
    return int(transcript["exit"])


if __name__ == "__main__":
    sys.exit(main())
