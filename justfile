# What people guess: `just check`, `just test`, `just slow`, `just bench`, `just docs`, `just lock`.

python := ".venv/bin/python"

# Format, lint and types.
check:
    .venv/bin/ruff format .
    .venv/bin/ruff check --fix .
    .venv/bin/mypy

# The suite, on all cores; `just test tests/store -k kill` narrows it.
test *arguments:
    {{ python }} -m pytest -n auto {{ arguments }}

# The tests that take seconds each, which the suite leaves out.
slow *arguments:
    {{ python }} -m pytest -n auto -m "slow and not campaign" {{ arguments }}

# The long seeded campaigns: thousands of damaged reports, hundreds of kills.
campaign:
    {{ python }} -m pytest -m campaign
    {{ python }} -m pytest -m hypothesis --hypothesis-profile=campaign

# Speed, as ratios measured side by side; let nothing else run meanwhile.
bench:
    {{ python }} -m pytest -m benchmark -s

# Regenerate the outputs, tables and pictures of the README and of docs/, and the notebooks, from runs/.
docs:
    {{ python }} docs/generate.py --write
    {{ python }} docs/notebooks.py --write

# Resolve the dependencies again; the tests' first, which hold all others.
lock:
    uv pip compile pyproject.toml --extra build --extra test --universal --python-version 3.11 --generate-hashes --no-annotate --no-header -q -o requirements-test.lock
    uv pip compile pyproject.toml --extra build -c requirements-test.lock --universal --python-version 3.11 --generate-hashes --no-annotate --no-header -q -o requirements.lock

# What CI runs, in a fresh clone.
ci:
    .ci/run
