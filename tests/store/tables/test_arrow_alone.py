"""Commands and readers import pyarrow without NumPy, cloudpickle and pandas, whose import takes longer than most answers."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

RUNS = Path(__file__).parents[2] / "data" / "runs"
SAY = "print([name for name in ('cloudpickle', 'numpy', 'pandas', 'pyarrow') if name in sys.modules])"


def said(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_command_that_reads_tables_imports_none_of_them():
    arguments = ["prof", "--runs", str(RUNS), "compare", "5", "6"]
    lines = said(f"""
import sys
from profiler.cli import main
sys.argv = {arguments!r}
try:
    main()
except SystemExit as ended:
    print(ended.code)
{SAY}
""")
    assert "1.1" in lines[0]
    assert lines[-2:] == ["0", "['pyarrow']"]


def test_reading_and_writing_tables_imports_pyarrow_alone_and_numpy_stays_available():
    lines = said(
        "import sys\n"
        "from profiler.store.tables.arrow_alone import import_arrow_alone\n"
        "import_arrow_alone()\n"
        f"import pyarrow.compute, pyarrow.parquet\n{SAY}\nimport numpy\n{SAY}"
    )
    assert lines == ["['pyarrow']", "['numpy', 'pyarrow']"]


def test_python_imports_all_of_them_as_ever():
    table = f"profiler.open_runs({str(RUNS)!r})['gemm-6'].to_pandas('metrics')"
    (line,) = said(f"import sys, profiler; {table}; {SAY}")
    assert line == "['cloudpickle', 'numpy', 'pandas', 'pyarrow']"


def test_a_process_that_has_pyarrow_keeps_what_it_has():
    (line,) = said(
        "import sys, pyarrow\n"
        "from profiler.store.tables.arrow_alone import import_arrow_alone\n"
        f"import_arrow_alone()\nimport pandas\n{SAY}"
    )
    assert line == "['cloudpickle', 'numpy', 'pandas', 'pyarrow']"
