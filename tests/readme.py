"""The README's output and picture, generated from `runs/` by one command.

    python tests/readme.py --write     bring README.md and its picture up to date
    python tests/readme.py --check     fail when they are not

A block between `<!-- output: COMMAND -->` and `<!-- end -->` holds what COMMAND prints.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PICTURE = ROOT / "dashboards" / "compare.svg"
_BLOCK = re.compile(r"(<!-- output: (?P<command>.+?) -->\n).*?(<!-- end -->)", re.DOTALL)

# Colours that keep a contrast of at least 4.5 on the picture's own background.
_THEME = TerminalTheme(
    (27, 31, 36),
    (222, 226, 230),
    [(27, 31, 36), (255, 135, 125), (110, 214, 140), (240, 200, 100), (120, 180, 255), (214, 160, 255), (110, 214, 214), (222, 226, 230)],
)  # fmt: skip


def generated_readme(text: str) -> str:
    return _BLOCK.sub(_filled, text)


def generated_picture() -> str:
    """The first page of the comparison, as a terminal with colour shows it."""
    lines = _output("prof compare 5 6", colour=True).split("\n")
    end = next(index for index, line in enumerate(lines) if "executed instructions" in line)
    page = Text.from_ansi("\n".join(["$ prof compare 5 6", "", *lines[: end - 1], ""]))
    console = Console(record=True, width=_width(page), file=io.StringIO(), color_system="truecolor", force_terminal=True)  # fmt: skip
    console.print(page, end="")
    svg = console.export_svg(title="prof", theme=_THEME, unique_id="prof")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code", "monospace")


def _filled(block: re.Match[str]) -> str:
    return f"{block.group(1)}```text\n{_output(block['command'])}\n```\n{block.group(3)}"


def _output(command: str, *, colour: bool = False) -> str:
    """What the command prints, run as a reader of the README would run it."""
    verb = shlex.split(command)
    assert verb[0] == "prof", command
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PROF_")}
    environment |= {"FORCE_COLOR": "1"} if colour else {"NO_COLOR": "1"}
    done = subprocess.run(
        [str(Path(sys.executable).with_name("prof")), *verb[1:]],
        cwd=ROOT,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.rstrip().replace(f"{ROOT}/", "")


def _width(page: Text) -> int:
    return max(len(line) for line in page.plain.split("\n")) + 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    wanted = {README: generated_readme(README.read_text()), PICTURE: generated_picture()}
    if parser.parse_args().write:
        for path, text in wanted.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return 0
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)} is not current: run `just docs`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
