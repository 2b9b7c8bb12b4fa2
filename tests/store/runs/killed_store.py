"""Work on a store that is killed with SIGKILL at seeded random times, each time in a process of its own.

    python killed_store.py commit|compact BASE LOCATION KILLS SEED

BASE is a folder of runs. `commit` puts them into LOCATION, `compact` packs a copy of them there; after every kill each
run that can be seen is read whole, and after every few kills the work is finished and all runs are there once.
What it saw is printed as JSON.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import duckdb  # noqa: F401 - imported here, so that no child has to
import pyarrow.parquet  # noqa: F401
import s3fs

from profiler.store.packs import compact
from profiler.store.remote.places import location_of
from profiler.store.runs.run_store import RunStore

KILLS_A_ROUND = 4


def commit_all(base, location):
    """As a client does whose report was just read: prepared in its staging folder, committed from there."""
    source, store = RunStore(base), RunStore(location_of(location))
    with store.staging() as staging:
        for run_id in source.ids():
            folder = staging.folder()
            shutil.copytree(base / str(run_id), folder)
            staging.commit(folder, str(run_id))


def compact_all(base, location):
    store = RunStore(location_of(location))
    compact.MOST_RUNS = 3
    compact.compact(store, compact.plan_packs(store))


def copy_all(base, location):
    if isinstance(location_of(location), Path):
        shutil.copytree(base, location)
    else:
        s3fs.S3FileSystem().put(f"{base}/", f"{location}/", recursive=True)


def clear(location):
    if isinstance(location_of(location), Path):
        shutil.rmtree(location, ignore_errors=True)
    else:
        system = s3fs.S3FileSystem(use_listings_cache=False)
        names = system.find(location.removeprefix("s3://"))
        if names:
            system.rm(names)


def require_whole(base, location, all_of_them):
    """Every run that is seen is one of them, once, and as it was."""
    source, store = RunStore(base), RunStore(location_of(location))
    expected, seen = source.ids(), store.ids()
    assert len(set(seen)) == len(seen)
    assert set(seen) <= set(expected), "a run that nobody wrote"
    assert not all_of_them or seen == expected, f"{len(expected) - len(seen)} runs are lost"
    for here, there in zip(source.open_all(seen), store.open_all(seen), strict=True):
        there.verify()
        assert there.manifest == here.manifest


class Victims:
    """Does the work in processes that may be killed. They are forked by one that has no threads and no connections."""

    def __init__(self, work):
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._orders)
            while order := os.read(orders, 64):
                os.write(answers, b"%d\n" % _one(work, float(order)))
            os._exit(0)
        os.close(orders)

    def work(self, kill_after_s=None):
        """Returns whether it came to its end."""
        os.write(self._orders, b"%f" % (-1 if kill_after_s is None else kill_after_s))
        status = int(os.read(self._answers, 64))
        assert status in (0, -signal.SIGKILL), "the work failed"
        return status == 0

    def close(self):
        os.close(self._orders)
        os.waitpid(self._pid, 0)


def _one(work, kill_after_s):
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if kill_after_s >= 0:
        time.sleep(kill_after_s)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def campaign(what, base, location, kills, seed):
    do = {"commit": commit_all, "compact": compact_all}[what]
    victims = Victims(lambda: do(base, location))
    chance, seen = random.Random(seed), Counter[str]()
    start_over(what, base, location)
    start = time.monotonic()
    victims.work()
    whole_s = time.monotonic() - start
    while seen.total() < kills:
        start_over(what, base, location)
        for _ in range(min(KILLS_A_ROUND, kills - seen.total())):
            ended = victims.work(kill_after_s=chance.uniform(0, whole_s))
            seen["ended" if ended else "killed"] += 1
            require_whole(base, location, all_of_them=what == "compact")
            if ended:
                break
        victims.work()
        require_whole(base, location, all_of_them=True)
        if what == "compact":
            require_packed(location)
    victims.close()
    return seen


def start_over(what, base, location):
    clear(location)
    if what == "compact":
        copy_all(base, location)


def require_packed(location):
    """But for a few that are not worth a pack; what is in one has no folder any more."""
    store = RunStore(location_of(location))
    store.ids()
    assert store.packs
    assert len(store.index.folders) < compact.FEWEST_RUNS
    assert not any(map(store.index.pack_of, store.index.folders))


if __name__ == "__main__":
    what, base, location, kills, seed = sys.argv[1:]
    print(json.dumps(campaign(what, Path(base), location, int(kills), int(seed))))
