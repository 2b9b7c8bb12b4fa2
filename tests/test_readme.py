"""What the README shows is what the commands print."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _generator():
    spec = importlib.util.spec_from_file_location("readme", ROOT / "tests" / "readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_output_shown_in_the_readme_is_what_the_commands_print_today():
    readme = (ROOT / "README.md").read_text()
    assert readme.count("<!-- output:") >= 3
    assert _generator().generated_readme(readme) == readme, "run `just docs`"


def test_the_picture_in_the_readme_is_what_the_command_prints_today():
    generator = _generator()
    assert generator.PICTURE.read_text() == generator.generated_picture(), "run `just docs`"
    assert f"({generator.PICTURE.relative_to(ROOT)})" in (ROOT / "README.md").read_text()


def test_the_picture_loads_nothing_from_elsewhere():
    addresses = re.findall(r"https?://[^\"' )]+", _generator().PICTURE.read_text())
    assert set(addresses) <= {"http://www.w3.org/2000/svg", "https://www.textualize.io"}, addresses
