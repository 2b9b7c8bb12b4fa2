"""An answer in a cell of a notebook: Jupyter's own style stands around it, and must not move what it says."""

import pytest

import profiler
from profiler.present import charts

# What JupyterLab and nbconvert say of tables and of lists of facts in a cell's output.
_JUPYTER = """
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th { vertical-align: middle; padding: 0.5em; }
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon td, :not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon th { text-align: right; }
.jp-OutputArea-output dt { font-weight: bold; float: left; width: 20%; }
.jp-OutputArea-output dd { float: left; width: 80%; }
"""
_ALIGNED = "[...document.querySelectorAll('tbody td, tbody th')].map(one => [one.className, getComputedStyle(one).textAlign])"
_LEFT_EDGES = """[...document.querySelectorAll('.facts > div')].map(
  one => [...one.querySelectorAll('dd')].map(known => Math.round(known.getBoundingClientRect().left)))"""
_OVERHANG = """(() => {
  const edge = document.querySelector("svg").getBoundingClientRect().right;
  return Math.max(...[...document.querySelectorAll("text")].map(one => one.getBoundingClientRect().right)) - edge;
})()"""


@pytest.fixture
def cell(open_page, recorded, tmp_path):
    """A comparison as a notebook shows it, in the style of Jupyter."""
    found = profiler.compare(recorded.find("5", ladder="gemm"), recorded.find("6", ladder="gemm"))
    html = found._repr_html_()  # private: notebooks look for this name
    (tmp_path / "cell.html").write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><style>{_JUPYTER}</style></head>'
        f'<body><div class="jp-OutputArea-output jp-RenderedHTMLCommon">{html}</div></body></html>'
    )
    return open_page(tmp_path / "cell.html")


@pytest.mark.slow
def test_words_begin_at_the_left_and_figures_end_at_the_right(cell):
    aligned = cell.evaluate(_ALIGNED)
    assert {side for names, side in aligned if "r" in names.split()} == {"right"}
    assert {side for names, side in aligned if "r" not in names.split()} == {"left"}


def test_what_is_known_of_one_name_stands_in_lines_below_one_another(cell):
    edges = cell.evaluate(_LEFT_EDGES)
    assert any(len(lines) > 1 for lines in edges), "of each side, its kernel and its launches"
    assert all(len(set(lines)) == 1 for lines in edges)
    names = cell.evaluate("[...document.querySelectorAll('dt')].map(one => one.getClientRects()[0].height)")
    assert max(names) < 1.5 * min(names), "a name that is broken into lines of its letters"
    assert min(names) < 30


@pytest.mark.slow
@pytest.mark.parametrize("chart", [charts.deltas_chart, charts.comparison_chart])
def test_no_label_of_a_chart_is_cut_by_its_right_edge(open_page, recorded, tmp_path, chart):
    """The labels at the right have a change, its interval and a verdict, in the font of this browser."""
    found = profiler.compare(recorded.find("5", ladder="gemm"), recorded.find("6", ladder="gemm"))
    drawn = charts.render(chart(found), ".svg").decode()
    (tmp_path / "chart.html").write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"></head><body>{drawn}</body></html>'
    )
    assert open_page(tmp_path / "chart.html").evaluate(_OVERHANG) <= 0
