"""Stands in for ncu on a machine without a GPU: replays the output and the report of the real one.

`tests/data/transcripts/NAME.json` holds a call of the real ncu on an H200: its command, every piece of its output with
its time, and its exit code; `NAME.ncu-rep.gz` is the report that it wrote. FAKE_NCU names the transcript to replay:
one name for every call, or names separated by commas for one call each, the last one for all later calls.
FAKE_NCU_PACE stretches the recorded time.

Like the real one it writes to `--export` and runs a program, which sleeps. If it is killed, that program is left
behind. It logs its calls in the file FAKE_NCU_LOG.
"""

import json
import os
import signal
import sys
import time
import zlib

# A test may start dozens of these, so it imports what is quick to import: neither pathlib nor gzip.
TRANSCRIPTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "transcripts")
_GZIP = 31  # of zlib: data with gzip's header


def main():
    if sys.argv[1:] == ["--version"]:
        return replay("version", 0.0)
    log = os.environ["FAKE_NCU_LOG"]
    program = os.posix_spawn("/bin/sleep", ["sleep", "86400"], os.environ)
    with open(log, "a") as file:
        file.write(json.dumps({"words": sys.argv[1:], "folder": os.getcwd(), "pids": [os.getpid(), program], "began": time.time(),
                               "environment": {name: os.environ.get(name) for name in
                                               ("CUDA_VISIBLE_DEVICES", "TMPDIR", "CUDA_DEVICE_ORDER")}}) + "\n")  # fmt: skip
    names = os.environ["FAKE_NCU"].split(",")
    calls = _read(log).count(b"\n")
    name = names[min(calls, len(names)) - 1]
    code = replay(name, float(os.environ.get("FAKE_NCU_PACE", "0")))
    os.kill(program, signal.SIGKILL)
    os.waitpid(program, 0)
    packed = os.path.join(TRANSCRIPTS, f"{name}.ncu-rep.gz")
    if os.path.exists(packed):
        export = sys.argv[sys.argv.index("--export") + 1].removesuffix(".ncu-rep")
        with open(f"{export}.ncu-rep", "wb") as report:
            report.write(zlib.decompress(_read(packed), wbits=_GZIP))
    return code


def replay(name, pace):
    transcript = json.loads(_read(os.path.join(TRANSCRIPTS, f"{name}.json")))
    started = time.monotonic()
    for second, stream, text in transcript["events"]:
        time.sleep(max(0.0, started + second * pace - time.monotonic()))
        target = sys.stdout if stream == "stdout" else sys.stderr
        target.write(text)
        target.flush()
    return int(transcript["exit"])


def _read(path):
    with open(path, "rb") as file:
        return file.read()


if __name__ == "__main__":
    sys.exit(main())
