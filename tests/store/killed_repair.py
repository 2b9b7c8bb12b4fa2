"""Repairs copies of a damaged store, each in a process that ends without a word at its n-th change of the disk.

    python killed_repair.py STORE FOLDER STEP

leaves one copy in FOLDER for each n from 1 in steps of STEP, and prints the last n.
"""

import os
import shutil
import sys
from itertools import count
from pathlib import Path

import pyarrow.compute
import pyarrow.parquet

from profiler.store.fsck import Examined, examine_store
from profiler.store.repair import repair
from profiler.store.runs.run_store import RunStore

# Arrow is loaded before the first fork, since loading it takes longer than all the rest.
assert pyarrow.compute
assert pyarrow.parquet
CHANGES = ("rename", "link", "mkdir", "fsync")


def end_at(change):
    """Make this process end before its n-th change."""
    left = change

    def counted(real):
        def call(*arguments, **options):
            nonlocal left
            left -= 1
            if left <= 0:
                os._exit(9)
            return real(*arguments, **options)

        return call

    for name in CHANGES:
        setattr(os, name, counted(getattr(os, name)))


def main(source, folder, step):
    for change in count(1, step):
        copy = folder / str(change)
        shutil.copytree(source, copy)
        child = os.fork()
        if not child:
            store = RunStore(copy)
            found = list(examine_store(store, Examined()))
            end_at(change)
            list(repair(store, found))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) == 0:
            print(change)
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
