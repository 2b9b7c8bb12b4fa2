"""Everything in the documentation that a program can write: outputs, tables, references and pictures.

    python docs/generate.py --write     bring the README, docs/*.md and the pictures up to date
    python docs/generate.py --check     exit with 1 when something is not current

A page marks what is generated. `<!-- end -->` closes a block, and its first line says what the block holds:

    <!-- output: prof compare 5 6 -->                       what the command prints
    <!-- output: prof compare 5 6 | first 20 lines -->      its first lines, long ones shortened; a last line counts the rest
    <!-- ladder: copy -->      one row a rung, as recorded, beside what was published
    <!-- shapes: gemm on H200 -->  some rungs of a ladder at the shapes of `runs/shapes`
    <!-- ideas -->             every step about which somebody claimed something, of the ladders that move bytes
    <!-- best -->              the fastest rung of every ladder that moves bytes, beside PyTorch
    <!-- gpus: memory -->  every rung of such ladders that was timed on two GPUs
    <!-- claims: gemm -->      what was published about these kernels, with the verdict of the recorded runs
    <!-- commands -->          the help of every verb
    <!-- blind totals -->      what all blind tests of the diagnosis came to, and the last ten
    <!-- blind tests -->       what each of them came to
    <!-- blind reader -->      what a reader said of the same kernels
    <!-- sureness -->          how often the first cause was right there, by what it is likely to save and by which one it is
    <!-- sureness further -->  the same, by what the other tests predicted, and by what the change did
    <!-- followed unseen -->   what following the first cause did before the author's change was known
    <!-- every followed unseen -->  the same, kernel by kernel
    <!-- followed -->          what following the first cause did where the author had changed something else
    <!-- every followed -->    the same, kernel by kernel
    <!-- cause totals -->      what the record of this project's own pairs comes to
    <!-- cause record -->      that record, by cause and by kernel, with each failure
    <!-- faults -->            what the last campaign of injected faults came to
    <!-- errors -->            every exit code, and what to do about it
"""

import argparse
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import blind_record
import cause_record
import claims
import claims_gemm
import claims_memory
import followed_record
import recorded_tables
import typer
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from profiler import errors
from profiler.analyse.ladder.ladder import choose_view
from profiler.analyse.tuning import derive_tuning
from profiler.ask.ladder import find_workloads
from profiler.catalog.ladders.ladder import find_ladder
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.cli import app
from profiler.measuring.tune.defaults import read_defaults
from profiler.measuring.tune.points import sweep_of
from profiler.present.charts import climb_chart, render, tuning_chart
from profiler.store.runs.run_id import sweep_name
from profiler.store.runs.run_store import RunStore
from profiler.store.sweeps import SweepStore

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
KERNELS, RUNS = ROOT / "kernels", ROOT / "runs"
SHAPES = RUNS / "shapes"
PAGES = (README, *sorted((ROOT / "docs").glob("*.md")))
COMPARISON = ROOT / "dashboards" / "compare.svg"
CLIMB = KERNELS / "gemm" / "climb.svg"
TUNING = KERNELS / "gemm" / "tuning.svg"
EXPECTED = ROOT / "docs" / "causes.svg"
_BLOCK = re.compile(
    r"(<!-- (?P<kind>output|ladder|shapes|ideas|best|gpus|claims|commands|errors|causes|cause totals|cause record|blind totals|blind tests|blind reader|sureness further|sureness|every followed unseen|every followed|followed unseen|followed|faults)(?:: (?P<what>.+?))? -->\n).*?(<!-- end -->)",
    re.DOTALL,
)
_CUT = re.compile(r"(?P<command>.+?)(?: \| first (?P<lines>\d+) lines)?")

_SHARED = re.compile(r"^  (?:--runs |--ladder |--format |-h, ).*\n(?: {20,}.*\n)*", re.MULTILINE)
start = subprocess.run  # the tests fork instead
_WIDEST = 130  # characters of a line that a page shows without much scrolling
_LONGEST = 140  # characters of a line of an answer that is not cut

# Colours that keep a contrast of at least 4.5 on the picture's own background.
_THEME = TerminalTheme(
    (27, 31, 36),
    (222, 226, 230),
    [(27, 31, 36), (255, 135, 125), (110, 214, 140), (240, 200, 100), (120, 180, 255), (214, 160, 255), (110, 214, 214), (222, 226, 230)],
)  # fmt: skip


def generated_page(text: str) -> str:
    """The page with every block filled anew."""
    return _BLOCK.sub(lambda block: f"{block.group(1)}{_content(block)}\n{block.group(4)}", text)


def _content(block: re.Match[str]) -> str:
    fill: dict[str, Callable[[], str]] = {
        "output": lambda: f"```text\n{_shown(block['what'])}\n```",
        "ladder": lambda: _ladder(block["what"]),
        "shapes": lambda: recorded_tables.shapes_table(*block["what"].split(" on "), RunStore(SHAPES)),
        "ideas": lambda: recorded_tables.ideas_table(KERNELS, RunStore(RUNS)),
        "best": lambda: recorded_tables.best_table(KERNELS, RunStore(RUNS)),
        "gpus": lambda: recorded_tables.gpus_table(block["what"], KERNELS, RunStore(RUNS)),
        "claims": lambda: claims.claims_table(claims.Recorded(KERNELS, RUNS), CLAIMS[block["what"]]),
        "commands": commands_reference,
        "errors": errors_table,
        "causes": cause_record.causes_list,
        "cause totals": cause_record.totals_table,
        "cause record": cause_record.record_tables,
        "blind totals": blind_record.totals_table,
        "blind tests": blind_record.tests_table,
        "blind reader": blind_record.reader_table,
        "sureness": blind_record.sureness_tables,
        "sureness further": blind_record.further_tables,
        "followed unseen": followed_record.followed_unseen_text,
        "every followed unseen": followed_record.every_followed_unseen_table,
        "followed": followed_record.followed_text,
        "every followed": followed_record.every_followed_table,
        "faults": recorded_tables.faults_table,
    }
    return fill[block["kind"]]()


def _shown(what: str) -> str:
    """The command's output: all of it, or its first lines, with marks where something was left out."""
    cut = _CUT.fullmatch(what)
    assert cut is not None
    output = _output(cut["command"])
    if cut["lines"] is None:
        return output
    lines, count = output.split("\n"), int(cut["lines"])
    assert count < len(lines), f"{what}: the output has {len(lines)} lines"
    short = [
        line if len(line) <= _LONGEST else f"{line[: _WIDEST - 4].rpartition(' ')[0]} ..."
        for line in lines[:count]
    ]
    return "\n".join([*short, f"... ({len(lines) - count} more lines)"])


def _output(command: str, *, colour: bool = False) -> str:
    """Returns what the command prints where a reader of the page runs it. `prof check` may exit with 1, which is an answer."""
    program, *words = shlex.split(command)
    assert program == "prof", command
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PROF_")}
    environment.pop("COLUMNS", None)
    environment |= {"FORCE_COLOR": "1"} if colour else {"NO_COLOR": "1"}
    done = start(
        [sys.executable, "-c", "from profiler.cli import main; main()", *words],
        cwd=ROOT,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode in ((0, 1) if "check" in words else (0,)), f"{command}: {done.stderr}"
    return "\n".join(line.rstrip() for line in done.stdout.rstrip().replace(f"{ROOT}/", "").split("\n"))


def _ladder(name: str) -> str:
    ladder = read_ladder(find_ladder(name, ROOT))
    if choose_view(ladder) == "memory":
        return recorded_tables.memory_table(ladder, RunStore(RUNS))
    return recorded_tables.ladder_table(name)


def commands_reference() -> str:
    """One section a verb, in the order of `prof --help`: what `prof VERB --help` prints, but for what most verbs share."""
    group = typer.main.get_command(app)
    # The help is laid out anew for a page as wide as this.
    outer = typer.Context(group, info_name="prof", terminal_width=_WIDEST, **group.context_settings)
    sections = [f"```text\n{group.get_help(outer)}\n```"]
    contexts = {
        verb: typer.Context(command, info_name=verb, parent=outer, terminal_width=_WIDEST)
        for verb, command in group.commands.items()
    }
    helps = {verb: f"{context.command.get_help(context)}\n" for verb, context in contexts.items()}
    shared = set(_SHARED.findall(helps["compare"]))
    for verb, text in helps.items():
        short = _SHARED.sub(lambda option: "" if option.group() in shared else option.group(), text)
        names = [name for option in shared if option in text for name in re.findall(r"^  (--\w+)", option)]
        if names:
            short += f"  {', '.join(sorted(names, reverse=True))}: as for prof itself\n"
        sections.append(f"## prof {verb}\n\n```text\n{short}```")
    return "\n\n".join(sections)


def errors_table() -> str:
    """One row an error that can be raised, by exit code."""
    rows = sorted((cls.exit_code, cls.__name__, cls.remedy) for cls in _raised(errors.ProfError))
    lines = [f"| {code} | {name} | {remedy} |" for code, name, remedy in rows]
    return "\n".join(["| exit code | error | what to do |", "| ---: | --- | --- |", *lines])


def _raised(cls: type[errors.ProfError]) -> list[type[errors.ProfError]]:
    below = [leaf for direct in cls.__subclasses__() for leaf in _raised(direct)]
    return below or [cls]


def generated_comparison() -> str:
    """The first page of the comparison, up to the attribution, as a terminal with colour shows it."""
    lines = _output("prof compare 5 6", colour=True).split("\n")
    end = next(index for index, line in enumerate(lines) if line.startswith("the speedup, split "))
    page = Text.from_ansi("\n".join(["$ prof compare 5 6", "", *lines[: end - 1], ""]))
    console = Console(record=True, width=_width(page), file=io.StringIO(), color_system="truecolor", force_terminal=True)  # fmt: skip
    console.print(page, end="")
    svg = console.export_svg(title="prof", theme=_THEME, unique_id="prof")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code", "monospace")


def _width(page: Text) -> int:
    return max(len(line) for line in page.plain.split("\n")) + 1


def generated_climb() -> str:
    """Every rung of GEMM at every size, as `prof ladder --chart` draws it first."""
    store = RunStore(RUNS)
    climb = recorded_tables.recorded_climb(find_ladder("gemm", ROOT), RUNS)
    chart = climb_chart(find_workloads(store, climb), climb.ladder.published, climb.finding.workload)
    assert chart is not None
    return render(chart, ".svg").decode()


def generated_tuning() -> str:
    """Every point of the sweep of GEMM's rung 7, as `prof tune --kernel 7 --stored --chart` draws it."""
    ladder = read_ladder(find_ladder("gemm", ROOT))
    kernel = ladder.kernel(7)
    assert kernel.source is not None
    current = read_defaults(kernel.source.read_text(), sweep_of(kernel, ladder).parameters)
    sweep = SweepStore(RUNS).newest(sweep_name(ladder.name, 7), ladder.workload.parameters)
    return render(tuning_chart(derive_tuning(sweep, current)), ".svg").decode()


def generated_expectations() -> str:
    """Draws what each change in the record of the diagnosis was expected to save, against what it saved."""
    return render(cause_record.expected_chart(), ".svg").decode()


CLAIMS = {"gemm": claims_gemm.GEMM, "vectors": claims_memory.VECTORS, "rows": claims_memory.ROWS}
PICTURES = {
    COMPARISON: generated_comparison,
    CLIMB: generated_climb,
    TUNING: generated_tuning,
    EXPECTED: generated_expectations,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="*", type=Path, help="these pages and pictures alone [default: all]")
    wants = parser.parse_args()
    files = [file.resolve() for file in wants.files] or [*PAGES, *PICTURES]
    wanted = {
        file: PICTURES[file]() if file in PICTURES else generated_page(file.read_text()) for file in files
    }
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if wants.write:
            path.write_text(wanted[path])
        print(os.path.relpath(path), "written" if wants.write else "is not current: run `just docs`")
    return 1 if stale and wants.check else 0


if __name__ == "__main__":
    sys.exit(main())
