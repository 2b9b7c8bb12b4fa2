"""Reading the page: on a phone, a projector and paper, in light and dark, without JavaScript, whatever names it holds."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import watched

pytestmark = pytest.mark.slow

SCHEMES = ("light", "dark")

# Everything open; of each long table the first rows, since the others are made alike; of all views this one, and
# of each picture its frame, since axe walks through what it is not asked about as well.
_UNFOLDED = """() => {
  for (const view of document.querySelectorAll(".view:not(.current)")) view.remove();
  for (const picture of document.querySelectorAll("figure svg")) picture.replaceChildren();
  for (const details of document.querySelectorAll(".current details")) details.open = true;
  for (const row of document.querySelectorAll(".current tr:nth-child(n + 4)")) row.remove();
  for (const box of document.querySelectorAll(".scroll")) box.style.background = "none"; // axe measures no contrast with a gradient
}"""

# The contrast of each chart's letters with the paper, by WCAG's formula; letters on a bar are another matter.
_CONTRASTS = """() => {
  const rgb = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = (colour) => {
    const [r, g, b] = rgb(colour).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll("figure svg text[fill^=var]")].map((text) => {
    const ink = light(getComputedStyle(text).fill);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  });
}"""

# The least contrast of the letters that are not in a chart with what they stand on, and where it is; rows as they are and as they look under the pointer.
_LEAST_CONTRAST = """() => {
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      pixel.clearRect(0, 0, 1, 1);
      pixel.fillStyle = colour;
      pixel.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const over = ([r, g, b, a], paper) => [r, g, b].map((c, i) => c * a + paper[i] * (1 - a));
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const below = (element) => {
    const paper = element.parentElement ? below(element.parentElement) : [255, 255, 255];
    return over(rgba(getComputedStyle(element).backgroundColor), paper);
  };
  let least = [Infinity, ""];
  for (const found of [true, false]) {
    for (const row of document.querySelectorAll(".current tbody tr")) row.classList.toggle("found", found);
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.data.trim() || element.closest("svg") || !element.checkVisibility()) continue;
      const paper = below(element);
      const [ink, back] = [over(rgba(getComputedStyle(element).color), paper), paper].map(light);
      const contrast = (Math.max(ink, back) + 0.05) / (Math.min(ink, back) + 0.05);
      if (contrast < least[0]) least = [contrast, element.outerHTML.slice(0, 200)];
    }
  }
  return least;
}"""


@pytest.mark.parametrize("anchor", ["ladder", "6", "5-6"])
def test_every_letter_stands_out_from_what_it_stands_on(look_at, anchor):
    """WCAG asks for 4.5; a tenth more, since screens differ."""
    page = look_at(f"#{anchor}")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        contrast, where = page.evaluate(_LEAST_CONTRAST)
        assert 4.95 <= contrast < 21, (scheme, where)


@pytest.mark.parametrize("anchor", ["ladder", "6", "5-6"])
def test_axe_finds_nothing_serious(open_page, ladder_page, anchor):
    """All of it in light; in dark, where only colours differ, what depends on them."""
    page = open_page(ladder_page, f"#{anchor}")
    page.evaluate(_UNFOLDED)
    assert serious(page, anchor) == []
    page.emulate_media(color_scheme="dark")
    assert serious(page, anchor, runOnly=["color-contrast"]) == []


def serious(page, anchor, **options):
    """But inside of pictures, which are one image each; the contrast of their letters is measured below."""
    context = {"include": [[f"[id='{anchor}']"], ["header"], ["nav"]], "exclude": [["figure svg"]]}
    found = Axe().run(page, context, {"resultTypes": ["violations"], **options}).response["violations"]
    return [
        (one["id"], [node["html"][:200] for node in one["nodes"]][:3])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("anchor", ["ladder", "5-6"])
def test_the_answer_is_on_the_first_screen(look_at, anchor):
    page = look_at(f"#{anchor}", width=1400)
    for words in (".takeaway", ".notes >> text=Why:", ".notes >> text=Next:"):
        box = page.locator(f".current {words}").first.bounding_box()
        assert box["y"] + box["height"] < 600, words


def test_two_recordings_open_on_a_picture_of_where_their_time_went(open_page, write_page, recorded):
    page = open_page(write_page("pair", "5", "6", "--runs", recorded.root), width=1400)
    figure = page.locator(".current figure").first
    expect(figure.locator("figcaption")).to_contain_text("Where the time went")
    box = figure.bounding_box()
    assert box["y"] + box["height"] < 900


def test_charts_use_the_width_there_is_and_are_redrawn_for_a_phone(look_at):
    page = look_at(width=1400)
    widths = "all => all.map((one) => [one.clientWidth, one.closest('main').clientWidth])"
    assert all(
        width > 0.9 * room for width, room in page.locator(".current figure .desk").evaluate_all(widths)
    )
    page.set_viewport_size({"width": 390, "height": 900})
    phone = page.locator(".current figure .phone svg")
    assert phone.count() == page.locator(".current figure").count()
    letters = """all => all.flatMap((svg) => [...svg.querySelectorAll("text")].map((one) => {
      const { left, right, height } = one.getBoundingClientRect();
      return [left, right, height];
    }))"""
    places = phone.evaluate_all(letters)
    assert min(height for _, _, height in places) > 9
    assert min(left for left, _, _ in places) >= 0
    assert max(right for _, right, _ in places) <= 390, "nothing needs to be scrolled"


def test_figures_on_bars_have_no_rim_of_paper_on_a_phone(look_at):
    """Black figures with a rim that is near black, in dark, could not be read."""
    page = look_at(width=390)
    on_bars = page.locator(".current .phone svg text[fill^='#']")
    rims = "all => [...new Set(all.map((one) => getComputedStyle(one).stroke))]"
    assert on_bars.count() > 10
    assert on_bars.evaluate_all(rims) == ["none"]


def test_the_letters_of_the_charts_stand_out_from_the_paper(look_at):
    page = look_at()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        contrasts = page.evaluate(_CONTRASTS)
        assert len(contrasts) > 300
        assert min(contrasts) >= 4.5, scheme


def test_dark_and_light_are_the_charts_own_and_follow_the_reader(look_at):
    from profiler.present.page.drawing import derive_look

    page = look_at()
    look = derive_look()
    for scheme, paper in (("light", look.light["paper"]), ("dark", look.dark["paper"])):
        page.emulate_media(color_scheme=scheme)
        expected = f"rgb({', '.join(str(int(paper[at : at + 2], 16)) for at in (1, 3, 5))})"
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == expected


def test_no_view_is_wider_than_the_window(open_page, ladder_page):
    page = open_page(ladder_page)
    for width in (375, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        wide = page.evaluate(
            """() => {
              const wide = [];
              for (const view of document.querySelectorAll(".view")) {
                location.hash = view.id;
                dispatchEvent(new HashChangeEvent("hashchange"));
                for (const details of view.querySelectorAll("details")) details.open = true;
                if (document.documentElement.scrollWidth > innerWidth) wide.push(view.id);
              }
              return wide;
            }"""
        )
        assert wide == [], width


# Tables wider than their box


def box_of(page, caption):
    return page.locator(f".current .scroll:has(caption:text-is('{caption}'))")


def with_reasons(page):
    """The counters that a comparison leaves out, unfolded: the only ones with a reason beside their verdict."""
    folded = page.locator(".current details.more", has=page.locator("th", has_text="because"))
    folded.evaluate("one => { one.open = true; }")
    return folded.locator(".scroll")


def scroll(box, left):
    box.scroll_into_view_if_needed()
    box.evaluate("(box, left) => { box.scrollLeft = left; }", left)


# Whether a point of a cell is covered by none of its neighbours, whichever of them is scrolled below it.
_UNCOVERED = """cell => {
  const { left, right, top, bottom } = cell.getBoundingClientRect();
  const y = (top + bottom) / 2;
  return [left + 1, right - 2].every((x) => cell.contains(document.elementFromPoint(x, y)));
}"""


@pytest.mark.parametrize(
    ("anchor", "caption", "pinned"),
    [("5-6", "Counters: metric", 1), ("6", "Headline metrics: metric", 1), ("ladder", "The ladder at a glance: name", 2)],
    ids=["comparison", "kernel", "ladder"],
)  # fmt: skip
def test_a_name_stays_where_its_figures_scroll(look_at, anchor, caption, pinned):
    page = look_at(f"#{anchor}", width=375)
    box = box_of(page, caption)
    scroll(box, 10_000)
    row = box.locator("tbody tr").nth(2)
    for place in range(pinned):
        cell = row.locator("> *").nth(place)
        assert cell.evaluate(_UNCOVERED)
        assert cell.evaluate("one => one.getBoundingClientRect().left") >= 15
    assert row.locator("> *").last.evaluate("one => one.getBoundingClientRect().right") <= 375
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for hovered in (False, True):
            (row if hovered else page.locator("h1")).hover()
            paper = "(row, hovered) => getComputedStyle(hovered ? row : document.body).backgroundColor"
            assert row.locator("> *").first.evaluate(
                "one => getComputedStyle(one).backgroundColor"
            ) == row.evaluate(paper, hovered)


def test_a_metric_its_verdict_and_the_reason_are_read_together_on_a_phone(open_page, ladder_page):
    box = with_reasons(open_page(ladder_page, "#9-14", width=375))
    row = box.locator("tr", has_text="too small to matter").first
    row.evaluate("one => one.scrollIntoView({block: 'center', inline: 'end'})")
    for cell in (row.locator("> *").first, row.locator(".mark"), row.locator("> *").last):
        assert cell.evaluate(_UNCOVERED)


def test_a_shadow_shows_that_there_is_more_until_there_is_not(look_at):
    page = look_at("#5-6", width=375)
    box = box_of(page, "Counters: metric")

    def edge():
        """The last pixel of the box above the header's letters, as a picture of one pixel."""
        place = box.bounding_box()
        at = {"x": place["x"] + place["width"] - 1, "y": place["y"] + 1, "width": 1, "height": 1}
        return page.screenshot(clip=at)

    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        scroll(box, 0)
        paper = page.screenshot(clip={"x": 1, "y": box.bounding_box()["y"] + 1, "width": 1, "height": 1})
        assert edge() != paper, scheme
        scroll(box, 10_000)
        assert edge() == paper, scheme


def test_a_wide_window_clips_no_table_and_hints_at_no_more(open_page, ladder_page):
    box = with_reasons(open_page(ladder_page, "#9-14", width=1440))
    assert box.evaluate("one => one.scrollWidth - one.clientWidth") == 0
    reason = box.locator("td", has_text="certain, but too small to matter").first
    inside = (
        "one => [one.getBoundingClientRect().right, one.closest('.scroll').getBoundingClientRect().right]"
    )
    right, edge = reason.evaluate(inside)
    assert right <= edge


def test_beside_a_table_that_fits_there_is_nothing_not_even_a_line_of_its_shadow(look_at):
    """The height of a box is no whole number of pixels, and a browser rounds the shadow and its cover differently."""
    page = look_at("#9-14", width=1440)
    boxes = page.locator("section.current .scroll")
    checked = 0
    for number in range(boxes.count()):
        box = boxes.nth(number)
        if box.evaluate("one => one.clientWidth - one.firstElementChild.offsetWidth") < 40:
            continue
        box.evaluate("one => one.scrollIntoView({block: 'center'})")
        place = box.bounding_box()
        strip = {"y": int(place["y"] + place["height"]) - 3, "width": 4, "height": 6}
        if strip["y"] + 6 > page.viewport_size["height"]:
            continue
        beside = page.screenshot(clip={**strip, "x": place["x"] + place["width"] - 4})
        assert beside == page.screenshot(clip={**strip, "x": 1}), number
        checked += 1
    assert checked > 1


def test_a_long_name_breaks_between_its_words_and_is_the_same_text(look_at):
    page = look_at("#5-6", width=375)
    name = box_of(page, "Counters: metric").locator("tbody th", has_text="shared_store_conflicts")
    assert name.inner_text() == "shared_store_conflicts"
    lines = """one => {
      const tops = [];
      const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(walker.currentNode);
        tops.push(range.getClientRects().length);
      }
      return tops;
    }"""
    assert name.evaluate(lines) == [1, 1, 1], "each word is on one line"


def test_no_line_ends_between_a_figure_and_its_unit(look_at):
    page = look_at("#9-14")
    prose = ".current p, .current li, .current figcaption, .current dd, .current td.folds"
    texts = page.locator(prose).evaluate_all("all => all.map((one) => one.textContent)")
    assert any("\N{NO-BREAK SPACE}%" in text for text in texts)
    assert [text for text in texts if re.search(r"\d (%|ms|us|GB/s|GFLOP/s)(?!\w)", text)] == []


@pytest.mark.parametrize("width", [390, 360])
def test_on_a_phone_no_unit_breaks_and_no_name_out_of_sight_makes_its_row_taller(look_at, width):
    height = "all => Math.max(...all.map((one) => one.getBoundingClientRect().height))"
    page = look_at("#5-6", width=width)
    rate = page.locator(".current .beside td", has_text="GFLOP/s")
    assert rate.evaluate_all(height) < 40
    page = look_at("#6", width=width)
    rows = page.locator(".current tr", has_text=re.compile("^(duration_ns|fma_pipe_pct)"))
    assert rows.evaluate_all(height) < 40


def test_the_mark_of_a_verdict_stands_in_the_column_that_is_judged(look_at):
    marks = """rows => rows.map((row) => [...row.cells].map((cell) => getComputedStyle(cell, "::before").content !== "none"))"""
    page = look_at()
    for anchor, caption, judged in (
        ("ladder", "The ladder at a glance: name", "step"),
        ("5-6", "Counters: metric", "verdict"),
    ):
        page.evaluate("anchor => { location.hash = anchor; }", anchor)
        box = box_of(page, caption)
        titles = [title.strip() for title in box.locator("thead th").all_inner_texts()]
        rows = box.locator("tbody tr.better, tbody tr.worse").evaluate_all(marks)
        assert rows
        for row in rows:
            assert [title for title, marked in zip(titles, row, strict=True) if marked] == [judged]
    expect(page.locator("#ladder")).to_contain_text("step: ● better beyond the noise, ■ worse")


def test_on_paper_nothing_is_pinned_and_nothing_shaded(look_at):
    page = look_at("#5-6")
    page.emulate_media(media="print")
    box = box_of(page, "Counters: metric")
    assert box.evaluate("one => getComputedStyle(one).backgroundImage") == "none"
    positions = "cells => [...new Set(cells.map((one) => getComputedStyle(one).position))]"
    assert box.locator("th, td").evaluate_all(positions) == ["static"]


def test_the_type_grows_with_the_screen(look_at):
    page = look_at()
    sizes = []
    for width in (375, 1280, 1920, 3840):
        page.set_viewport_size({"width": width, "height": 900})
        sizes.append(page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)"))
    assert sizes[0] == 16
    assert sizes[1] < 17
    assert sizes[2] >= 20
    assert sizes[3] >= 30


def test_without_javascript_everything_is_one_long_page(open_page, ladder_page):
    page = open_page(ladder_page, java_script_enabled=False)
    for anchor in ("ladder", "0", "6", "5-6", "9-14"):
        expect(page.locator(f"[id='{anchor}'] h2")).to_be_visible()
    expect(page.get_by_role("searchbox")).to_be_hidden()
    page.locator("[id='6'] summary", has_text="metrics, mean").click()
    expect(page.locator("[id='6']").get_by_text("gpu__time_duration.sum").last).to_be_visible()
    page.get_by_role("link", name="5 to 6").click()
    expect(page.locator("[id='5-6'] h2")).to_be_in_viewport()


def test_on_paper_the_page_is_black_on_white_and_has_no_navigation(look_at):
    page = look_at("#5-6")
    for scheme in SCHEMES:
        page.emulate_media(media="print", color_scheme=scheme)
        expect(page.get_by_role("navigation")).to_be_hidden()
        style = "({ color: getComputedStyle(document.body).color, paper: getComputedStyle(document.body).backgroundColor })"
        assert page.evaluate(style) == {"color": "rgb(0, 0, 0)", "paper": "rgb(255, 255, 255)"}
        assert set(
            page.eval_on_selector_all(
                ".current svg text[fill='var(--ink)']", "all => all.map((one) => getComputedStyle(one).fill)"
            )
        ) == {"rgb(0, 0, 0)"}
    assert page.pdf(format="A4")[:5] == b"%PDF-"


def test_the_page_as_it_opens_prints_whole_and_any_other_view_alone(look_at):
    page = look_at()
    page.emulate_media(media="print")
    views = page.locator(".view")
    visible = "all => all.filter((one) => one.checkVisibility()).map((one) => one.id)"
    assert len(views.evaluate_all(visible)) == views.count() > 10
    page = look_at("#5-6")
    page.emulate_media(media="print")
    assert page.locator(".view").evaluate_all(visible) == ["5-6"]


def test_the_whole_ladder_on_paper_has_verdicts_and_sheets_and_says_what_the_screen_has(look_at):
    visible = "all => all.filter((one) => one.checkVisibility()).length"
    page = look_at()
    for paper, note in (("screen", 0), ("print", 1)):
        page.emulate_media(media=paper)
        assert page.locator(".printed").evaluate_all(visible) == note
    for anchor in ("6", "5-6"):
        view = page.locator(f"[id='{anchor}']")
        for words in (".takeaway", "text=Why:", "text=Next:"):
            expect(view.locator(words).first).to_be_visible()
        assert view.locator(".sides").count() > 0
        assert view.locator(".sides").evaluate_all(visible) == 0, "machine code"
    assert page.locator("[id='6'] .items li").evaluate_all(visible) > 0
    assert page.locator("[id='6'] dt", has_text="launched").evaluate_all(visible) == 1
    page = look_at("#5-6")
    page.emulate_media(media="print")
    assert page.locator("[id='5-6'] .sides").evaluate_all(visible) > 0
    assert page.locator(".printed").evaluate_all(visible) == 0


def test_two_recordings_are_on_paper_with_all_that_was_found(open_page, write_page, recorded):
    page = open_page(write_page("pair", "5", "6", "--runs", recorded.root))
    page.emulate_media(media="print")
    expect(page.locator("[id='5-6'] .sides").first).to_be_visible()
    assert page.locator(".printed").count() == 0


# Names from anybody's program


@pytest.fixture(scope="session")
def hostile_page(write_page, hostile_store):
    """A script, a line that ends, text that changes its direction, and four thousand characters of templates."""
    return write_page(
        "hostile", "before", "after", "--runs", hostile_store.root, "--title", "</title><script>alert(2)</script>",
        "--kernel-name", "<script>|^two|^bidi|^void k<",
    )  # fmt: skip


@pytest.fixture(scope="module")
def hostile(chromium, hostile_page):
    with watched(chromium) as open_page:
        page = open_page(hostile_page)
        page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
        yield page


def test_a_name_is_text_whatever_it_holds(hostile):
    page = hostile
    assert page.locator("script").count() == 1
    assert page.locator("main b, main script").count() == 0
    expect(page.get_by_role("heading", level=1)).to_have_text("</title><script>alert(2)</script>")
    page.goto(f"{page.url.partition('#')[0]}#1")
    expect(page.locator("[id='1'] h2")).to_contain_text("<script>alert")
    text = page.locator("body").inner_text()
    assert "\\u202egnp.exe" in text
    assert not set(text) & set("\u202e\u2066\u2069\u200f")


def test_a_template_of_thousands_of_characters_breaks_no_layout(hostile):
    page = hostile
    for anchor in ("ladder", "4", "8", "4-8"):
        page.evaluate("anchor => { location.hash = anchor; }", anchor)
        expect(page.locator(".view.current")).to_have_id(anchor)
        page.eval_on_selector_all(".current details", "all => all.forEach((one) => { one.open = true; })")
        for width in (375, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".current h2").bounding_box()["height"] < 400


# How far each bar reaches beyond the start of the figure beside it.
_OVER_FIGURES = """bars => bars.map((bar) => {
  const range = document.createRange();
  range.selectNodeContents([...bar.parentElement.childNodes].find((one) => one.nodeType === 3 && one.data.trim()));
  return bar.getBoundingClientRect().right - range.getBoundingClientRect().left;
})"""


def test_a_bar_leaves_its_figure_free_at_every_width(open_page, write_tables, reports):
    page = open_page(write_tables("several", reports / "several.ncu-rep"))
    for width in (390, 900, 1024, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        overlaps = page.locator(".current td .bar").evaluate_all(_OVER_FIGURES)
        assert len(overlaps) == 3
        assert max(overlaps) <= 0, width


@pytest.mark.parametrize("width", [390, 1024])
def test_the_figures_of_both_sides_are_in_view_without_scrolling(look_at, width):
    page = look_at("#5-6", width=width)
    box = box_of(page, "Duration and useful work: time and work")
    assert box.evaluate("one => one.scrollWidth - one.clientWidth") == 0


# On how many lines the text of each cell stands.
_LINES = """cells => cells.map((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map((one) => Math.round(one.bottom / 6))).size;
})"""


# The tables of the view that are wider than their box, with everything open.
_TOO_WIDE = """() => {
  for (const details of document.querySelectorAll(".current details")) details.open = true;
  const boxes = [...document.querySelectorAll(".current .scroll")].filter((one) => one.scrollWidth > one.clientWidth);
  return boxes.map((one) => one.ariaLabel);
}"""


def test_no_table_needs_to_be_scrolled_in_half_a_window(open_page, ladder_page):
    page, too_wide = open_page(ladder_page), {}
    for anchor in ("ladder", "6", "13", "5-6", "9-14"):
        page.evaluate("anchor => { location.hash = anchor; }", anchor)
        expect(page.locator(".view.current")).to_have_id(anchor)
        for width in (900, 1024, 1100, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            too_wide[anchor, width] = page.evaluate(_TOO_WIDE)
    assert not any(too_wide.values()), too_wide


def test_a_table_too_wide_for_a_small_window_scrolls_in_its_own_box(look_at):
    page = look_at("#9-14", width=640)
    assert "Counters: metric" in page.evaluate(_TOO_WIDE)
    assert page.evaluate("document.documentElement.scrollWidth") == 640


def test_the_table_of_a_ladder_fits_a_desk_and_a_small_screen(open_page, write_tables):
    """A ladder that moves bytes has the widest, with the width of each access."""
    page = open_page(write_tables("rmsnorm", "--ladder", "rmsnorm"))
    box = page.locator(".current .scroll").first
    expect(box.locator("th", has_text="binding")).to_have_count(1)
    for width in (900, 1024, 1280, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        assert box.evaluate("one => one.scrollWidth - one.clientWidth") == 0, width
        lines = box.locator("tbody tr > :not(:last-child)").evaluate_all(_LINES)
        assert set(lines) <= {0, 1}, "only what binds a rung takes two lines"
