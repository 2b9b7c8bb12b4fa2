"""Finding one's way on the page: links, addresses, Back, keys, search and sorting."""

import re

import pytest
from living import wait_until
from playwright.sync_api import expect

from profiler.catalog.causes import BY_NAME as CAUSES
from profiler.catalog.metrics import BY_NAME as METRICS


@pytest.fixture
def ladder(open_page, ladder_page):
    """`ladder("#5-6")`: the page, opened there."""
    return lambda anchor="", **options: open_page(ladder_page, anchor, **options)


def shown(page):
    """The anchors of the views that can be seen."""
    return page.eval_on_selector_all(
        ".view", "views => views.filter(v => v.checkVisibility()).map(v => v.id)"
    )


def comes_to_show(page, view):
    """Returns whether only this view is shown, at once or soon: a browser tells the page of a new address after the click."""
    return wait_until(lambda: shown(page) == [view])


def visit(page, anchor, expected=""):
    page.goto(f"{page.url.partition('#')[0]}#{anchor}")
    assert comes_to_show(page, expected or anchor)


def columns(page, caption, place):
    return page.locator(f"table:has(caption:text-is('{caption}')) tbody tr:visible > :nth-child({place})")


# One view at a time


def test_the_page_opens_with_the_ladder_and_a_picture_of_it(ladder):
    page = ladder()
    assert shown(page) == ["ladder"]
    expect(page.locator(".view.current figure").first).to_contain_text(
        re.compile(r"14 stream_k reaches 100\.\d\s%")
    )
    expect(page).to_have_title("The ladder at a glance · gemm: Matrix multiplication, C = A * B, row-major")


def test_a_click_on_a_rung_shows_its_sheet_and_on_a_step_the_comparison(look_at):
    page = look_at()
    page.get_by_role("main").get_by_role("link", name="vectorized").click()
    assert comes_to_show(page, "6")
    page.go_back()
    page.locator("#ladder a[href='#5-6']").first.click()
    assert comes_to_show(page, "5-6")
    expect(page.locator(".current .takeaway").first).to_contain_text("gemm 6 is 1.1")


@pytest.mark.slow
def test_an_address_names_a_view(ladder):
    page = ladder("#9-14")
    for anchor in ("9-14", "6", "ladder"):
        visit(page, anchor)
        links = page.locator("nav [aria-current=page]").evaluate_all("links => links.map(l => l.hash)")
        assert links == [f"#{anchor}"]
        assert page.evaluate("scrollY") == 0


@pytest.mark.slow
def test_an_address_of_nothing_shows_the_ladder(ladder):
    nothing = ("nothing-like-it", "%E0%A4%A", "<b>")
    page = ladder(f"#{nothing[0]}")
    assert shown(page) == ["ladder"]
    for anchor in nothing[1:]:
        visit(page, "6")
        visit(page, anchor, "ladder")


@pytest.mark.slow
def test_back_and_forward_go_where_one_was(look_at):
    page = look_at()
    for name in ("5 tile_2d", "5 to 6", "6 vectorized"):
        page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
    for expected in ("5-6", "5", "ladder"):
        page.go_back()
        assert comes_to_show(page, expected)
    page.go_forward()
    assert comes_to_show(page, "5")


@pytest.mark.slow
def test_the_focus_goes_to_the_heading_of_what_is_shown(look_at):
    page = look_at()
    page.get_by_role("link", name="5 to 6").click()
    expect(page.get_by_role("heading", name="5 tile_2d → 6 vectorized")).to_be_focused()


@pytest.mark.slow
def test_the_navigation_says_what_a_number_means_where_there_is_room(look_at):
    """On a screen too narrow for all names of a ladder, that of the kernel in view."""
    names = "all => all.filter((one) => one.checkVisibility()).map((one) => one.closest('a').innerText)"
    page = look_at("#6", width=1400)
    assert "5 tile_2d" in page.locator("nav .name").evaluate_all(names)
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.locator("nav .name").evaluate_all(names) == ["6 vectorized"]


@pytest.mark.slow
def test_a_comparison_with_another_than_the_rung_before_says_with_which(look_at):
    """Between 13 and 14 stands the comparison of 14 with 9, which it follows."""
    links = look_at().eval_on_selector_all(
        "nav a", "all => all.map(a => [a.hash.slice(1), a.innerText.trim()])"
    )
    texts = dict(links)
    assert texts["9-14"] == "9›"
    assert {text for anchor, text in links if "-" in anchor} == {"›", "9›"}
    places = [anchor for anchor, _ in links]
    assert places[places.index("13") :] == ["13", "9-14", "14", "names"]


@pytest.mark.slow
def test_one_view_says_what_the_names_of_the_others_mean(look_at):
    page = look_at("#6")
    page.get_by_role("navigation").get_by_role("link", name="Names").click()
    assert comes_to_show(page, "names")
    meanings = dict(
        page.locator("#names tbody tr").evaluate_all(
            "rows => rows.map(r => [r.cells[0].innerText, r.cells[r.cells.length - 1].innerText])"
        )
    )
    assert meanings["stall_mio_throttle"] == METRICS["stall_mio_throttle"].doc
    assert meanings["at-fma-rate"] == CAUSES["at-fma-rate"].what
    page.go_back()
    assert comes_to_show(page, "6")


# Keys


def go(page, *way):
    """Each key, and the view that is shown then."""
    for key, expected in way:
        page.keyboard.press(key)
        assert comes_to_show(page, expected)


@pytest.mark.slow
def test_arrows_and_letters_go_to_the_neighbour_of_the_same_kind(look_at):
    page = look_at()
    go(page, ("ArrowRight", "0"), ("ArrowRight", "1"), ("j", "5"), ("k", "1"), ("ArrowLeft", "0"))
    visit(page, "12-13")
    go(page, ("j", "9-14"), ("j", "9-14"), ("k", "12-13"))


@pytest.mark.slow
def test_before_the_first_of_them_stands_the_look_at(look_at):
    page = look_at("#0")
    go(page, ("ArrowLeft", "ladder"), ("ArrowLeft", "ladder"))
    visit(page, "1-5")
    go(page, ("k", "ladder"))


@pytest.mark.slow
def test_an_arrow_scrolls_a_wide_table_that_has_the_focus(look_at):
    page = look_at("#6", width=375)
    table = page.locator(".current .scroll").first
    table.focus()
    page.keyboard.press("ArrowRight")
    assert wait_until(lambda: table.evaluate("one => one.scrollLeft") > 0)
    assert shown(page) == ["6"]


@pytest.mark.slow
def test_a_slash_starts_a_search_and_escape_ends_it(look_at):
    page = look_at("#6")
    page.keyboard.press("/")
    page.keyboard.type("jkl")  # in a search these are letters
    assert shown(page) == ["6"]
    assert page.get_by_role("searchbox").input_value() == "jkl"
    page.keyboard.press("Escape")
    assert page.get_by_role("searchbox").input_value() == ""
    expect(page.get_by_role("searchbox")).not_to_be_focused()


@pytest.mark.slow
def test_a_question_mark_shows_the_keys_and_escape_hides_them(look_at):
    page = look_at("#5")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    page.keyboard.press("ArrowRight")
    assert shown(page) == ["5"], "the page behind does not move"
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="keys").click()
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()


@pytest.mark.slow
def test_only_tables_that_scroll_are_stops_of_the_tab_key(look_at):
    page = look_at("#5-6")
    stops = page.eval_on_selector_all(
        ".current .scroll", "all => all.map(one => [one.tabIndex === 0, one.scrollWidth > one.clientWidth])"
    )
    assert all(stop == scrolls for stop, scrolls in stops)
    page.set_viewport_size({"width": 375, "height": 900})
    assert wait_until(lambda: page.locator(".current .scroll[tabindex='0']").count() > 5)


# Search


@pytest.mark.slow
def test_a_search_leaves_the_rows_with_every_word_and_opens_what_is_folded(look_at):
    page = look_at("#6")
    page.get_by_role("searchbox").fill("L1TEX shared load")
    names = page.locator(".current details.more tbody tr:visible > :last-child").all_inner_texts()
    assert names
    assert all("l1tex" in name and "shared" in name for name in names)
    rows = page.locator(".current table[data-searchable] tbody tr").count()
    assert rows > 400
    assert page.locator("nav output").inner_text() == f"{len(names)} of {rows} rows; Enter: the next"
    page.get_by_role("searchbox").fill("")
    expect(page.locator(".current details.more").last).not_to_have_attribute("open", "")


@pytest.mark.slow
def test_enter_goes_from_row_to_row_that_a_search_found(look_at):
    page = look_at("#6")
    page.get_by_role("searchbox").fill("l2_hit_pct")
    found = page.locator(".current tr:visible", has_text="l2_hit_pct")
    expect(found).not_to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(found).to_be_in_viewport()
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.get_by_role("searchbox").fill("no_such_name")
    page.keyboard.press("Enter")
    assert (shown(page), page.locator("nav output").inner_text()[:4]) == (["6"], "0 of")


@pytest.mark.slow
def test_enter_goes_to_the_next_view_that_has_such_a_row(look_at):
    page = look_at()
    page.get_by_role("searchbox").fill("stall_mio_throttle")
    assert page.locator("nav output").inner_text().endswith("Enter: another view")
    page.keyboard.press("Enter")
    assert wait_until(lambda: shown(page) != ["ladder"])
    expect(page.locator(".current tr:visible", has_text="stall_mio_throttle").first).to_be_attached()


@pytest.mark.slow
def test_a_search_goes_along_to_the_next_view(look_at):
    page = look_at("#5-6")
    page.get_by_role("searchbox").fill("mio_throttle")
    assert columns(page, "Counters: metric", 1).all_inner_texts() == ["stall_mio_throttle"]
    page.get_by_role("link", name="6 to 9").click()
    assert comes_to_show(page, "6-9")
    rows = page.locator(".current table[data-searchable] tbody tr:visible").all_inner_texts()
    assert rows
    assert all("mio_throttle" in row for row in rows)


# Sorting


@pytest.mark.slow
def test_a_click_on_a_title_sorts_by_what_the_column_means(look_at):
    page = look_at()
    title = page.locator("#ladder th", has_text=re.compile("^time$"))
    title.get_by_role("button").click()
    expect(title).to_have_attribute("aria-sort", "descending")
    assert columns(page, "The ladder at a glance: name", 2).first.inner_text() == "naive"
    title.get_by_role("button").press("Enter")
    expect(title).to_have_attribute("aria-sort", "ascending")
    names = columns(page, "The ladder at a glance: name", 2).all_inner_texts()
    assert names.index("tf32") < names.index("split_tf32"), "339.6 us is less than 1.021 ms"


@pytest.mark.slow
def test_numbers_sort_as_numbers_and_what_has_none_stays_last(look_at):
    page = look_at("#5-6")
    title = page.locator("#\\35-6 table:has(caption:text-is('Counters: metric')) th", has_text="change")
    for direction in (-1, 1):
        title.get_by_role("button").click()
        texts = columns(page, "Counters: metric", 5).all_inner_texts()
        values = [float(text.replace(",", "")) for text in texts if text]
        assert values == sorted(values, reverse=direction < 0)
    page = look_at()
    step = page.locator("#ladder th", has_text="step")
    for _ in range(2):
        step.get_by_role("button").click()
        assert columns(page, "The ladder at a glance: name", 6).all_inner_texts()[-2:] == ["", ""]


@pytest.mark.slow
def test_one_column_at_a_time_is_sorted(look_at):
    page = look_at()
    for name in ("name", "GFLOP/s", "binding"):
        page.get_by_role("button", name=name, exact=True).click()
    assert page.locator("#ladder th[aria-sort]").all_inner_texts() == ["binding"]
