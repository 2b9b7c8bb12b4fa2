"""Machine code that was read once, for the readers that are forked.

NVIDIA's library prepares its disassembler in 0.4 s of processor time, in a thread that no fork inherits, so every new reader would
pay that for its first report. Here a reader finds the machine code of the same reports, as an earlier one has read it. Figures,
checks and all else it reads itself. With `READ_AGAIN` in its environment it reads machine code itself too.
"""

import hashlib
import os
import tempfile
from pathlib import Path

FOLDER = "PROF_TESTS_CODE"  # the variable with the folder of what was read
READ_AGAIN = {"PROF_TESTS_READ_AGAIN": "1"}


def install():
    """From now on, this process and those that are forked from it read no machine code twice."""
    from profiler.store.reports import contained_reader

    if folder := os.environ.get(FOLDER):
        contained_reader.decode_code = once(Path(folder), contained_reader.decode_code)


def once(folder, read):
    """Returns what reads as `read` does, but finds in this folder what was read before."""

    def find(files, run_id, omitted):
        if READ_AGAIN.items() <= os.environ.items():
            return read(files, run_id, omitted)
        key = repr([omitted, *(hashlib.sha256(file.plain.read_bytes()).hexdigest() for file in files)])
        kept = folder / hashlib.sha256(key.encode()).hexdigest()
        if not kept.exists():
            tables = read(files, run_id, omitted)
            if tables:
                _keep(tables["instructions"], kept)
            return tables
        return {"instructions": _of_run(kept, run_id)}

    return find


def _keep(table, kept):
    import pyarrow as pa

    with (
        tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as unfinished,
        pa.ipc.new_stream(unfinished, table.schema) as stream,
    ):
        stream.write_table(table)
    os.rename(unfinished.name, kept)  # readers that are killed leave nothing that looks whole


def _of_run(kept, run_id):
    import pyarrow as pa

    from profiler.store.tables.columns import Labels

    table = pa.ipc.open_stream(kept.read_bytes()).read_all()
    ids = Labels()
    ids.repeat(run_id, table.num_rows)
    place = table.schema.get_field_index("run_id")
    return table.set_column(place, table.schema.field(place), ids.finish())
