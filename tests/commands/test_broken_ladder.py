"""A ladder file that is not valid stops only what needs it; other answers come with one line of caution."""

import pytest


@pytest.fixture
def beside_broken_ladder(tmp_path):
    file = tmp_path / "kernels" / "gemm" / "ladder.toml"
    file.parent.mkdir(parents=True)
    file.write_text('name = "gemm"\n[[kernel]\n')
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [("list",), ("show", "gemm-6"), ("compare", "5", "6"), ("compare", "5", "6", "--size", "4096"), ("sass", "5", "6")],
)  # fmt: skip
def test_stored_runs_are_read_without_it(prof_recorded, beside_broken_ladder, words):
    done = prof_recorded(*words, cwd=beside_broken_ladder)
    assert done.returncode == 0, done.stderr
    cautions = [line for line in done.stderr.splitlines() if "ladder.toml" in line]
    assert len(cautions) == 1
    assert cautions[0].startswith("the ladder is not valid, so the answer leaves it out: ")


def test_report_files_do_not_look_at_it(prof_here, reports, beside_broken_ladder):
    done = prof_here("sass", reports / "gemm_6.ncu-rep", cwd=beside_broken_ladder)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", [("ladder",), ("list", "--kernels"), ("show", "6", "--ladder", "kernels/gemm/ladder.toml")])  # fmt: skip
def test_a_verb_fails_with_the_file_and_line_of_a_broken_ladder(prof_recorded, beside_broken_ladder, words):
    done = prof_recorded(*words, cwd=beside_broken_ladder)
    assert done.returncode == 45
    assert "kernels/gemm/ladder.toml:2" in done.stderr
