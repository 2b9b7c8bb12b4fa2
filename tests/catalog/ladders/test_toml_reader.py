"""What a TOML file may hold: numbers and keys have limits, and text has none."""

import pytest

from profiler.catalog.ladders.toml_reader import parse_toml

DIGITS = "9" * 128  # as many as a SHA-512 has
KEY = ".".join("a" * 60)


@pytest.mark.parametrize("long", [DIGITS, f"0x{'f' * 128}", KEY])
@pytest.mark.parametrize(
    "line",
    ["a = '{}'", 'a = "{}"', "a = '''\n{}'''", 'a = """\n{}"""', 'a = """\n{}"\\""""', "a = 1 # {}", "# '{}\n a = '{}' # \"\"\" {}"],
)  # fmt: skip
def test_strings_and_comments_may_hold_any_digits_and_dots(line, long):
    value = parse_toml(line.format(long, long, long))["a"]
    assert value == 1 or value.startswith(long)


@pytest.mark.parametrize(
    "line",
    ["a = {}", "a = [1, {}]", "a = '#'\nb = {}", "a = \"'\"\nb = {} # '", "# '''\nb = {}", '"#" = {}', "a = '''x'''\nb = {}"],
)  # fmt: skip
def test_no_number_is_longer_than_any_value_of_a_ladder(line):
    with pytest.raises(ValueError, match="a number of more than 80 digits"):
        parse_toml(line.format(DIGITS))


@pytest.mark.parametrize("part", ["a", '"a b"', "'#'"])
def test_no_key_is_a_path_of_any_length(part):
    with pytest.raises(ValueError, match="a dotted key of more than 50 parts"):
        parse_toml(f"{' . '.join([part] * 60)} = 1")


@pytest.mark.parametrize(
    "piece", ['"', "'", '"""', "'''", '\\"', '"""\n\\', '"\\\n', "'\n", "#'", '"#\n', '\n\\"""']
)
@pytest.mark.parametrize("end", ["", "\\"])
def test_a_file_of_quotes_is_refused_at_once(piece, end):
    """Each of them could be where a string begins, whose end is then looked for through the whole file."""
    text = f"a = {piece * ((1 << 20) // len(piece) - 8)}{end}"
    with pytest.raises(ValueError, match=r"\(at (line|end of document)"):
        parse_toml(text)
