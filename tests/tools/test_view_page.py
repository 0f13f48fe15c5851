"""The page of the viewer in a real browser: clicks, typed filters, keys, widths, and what it looks like."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.browser import Browser, running
from tests.tools.data import damage, example, many
from tests.tools.test_view import PIPELINE
from tests.tools.viewing import Viewer, pictures, viewing

import feedline as fl

MARKUP = '<img src=x onerror="document.title=1">'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as made:
        yield made


@pytest.fixture(scope="module")
def viewer(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("page")
    path = pictures(folder / "pets.tfrecord")
    (folder / "train.py").write_text(PIPELINE.format(path=str(path)))
    (folder / "junk.tfrecord").write_bytes(b"no record" * 99)
    names = path, folder / "junk.tfrecord"
    with viewing(*names, "--dataset", f"{folder}/train.py:dataset") as made:
        made.counted()
        yield made


@pytest.fixture
def page(browser: Browser, viewer: Viewer) -> Iterator[Browser]:
    """The page as it is when it is opened; in the end it must have reported no errors and loaded nothing else."""
    browser.size(1280, 800)
    browser.page(viewer.url)
    browser.until("document.querySelectorAll('#body tr').length === 50")
    browser.said.clear()
    browser.requested.clear()
    yield browser
    assert [text for text in browser.said if "status of 400" not in text] == []
    assert [url for url in browser.requested if not url.startswith((viewer.url, "about:", "data:"))] == []


def rows(page: Browser) -> list[str]:
    """The numbers of the records in the table."""
    return list(page.value("[...document.querySelectorAll('#body tr')].map(r => r.cells[0].innerText)"))


def shows(page: Browser, *numbers: int) -> None:
    """Waits until the table begins with these records."""
    first = ",".join(f"{n:,}" for n in numbers)
    page.until(f"[...document.querySelectorAll('#body tr')].slice(0, {len(numbers)})"
               f".map(r => r.cells[0].innerText).join() === {first!r}")  # fmt: skip


def test_records_are_shown(page: Browser) -> None:
    assert page.text("#range") == "1\u201350 of 120"
    assert page.text("#summary") == "120 records"
    head = page.value("[...document.querySelectorAll('#head th')].map(h => h.innerText)")
    assert head == ["#", "image", "label", "weight", "name", "sound", "signal", "tokens"]
    page.until("[...document.querySelectorAll('#body .thumb')].slice(0, 5).every(i => i.naturalWidth === 24)")
    assert page.value("document.querySelectorAll('#body svg.line').length") > 50
    page.click("#page-next")
    shows(page, 50, 51)
    page.click("#page-last")
    shows(page, 100, 101)
    assert (page.text("#range"), len(rows(page))) == ("101\u2013120 of 120", 20)
    page.click("#jump")
    page.write("73")
    page.key("Enter")
    page.until("document.querySelector('#body tr[aria-selected=true]')?.cells[0].innerText === '73'")
    page.click("#page-first")
    shows(page, 0, 1)


def test_typed_filters(page: Browser) -> None:
    page.click("#filter")
    page.write("label = 3 and weight > 20")
    page.key("Enter")
    shows(page, 83, 91, 99, 107, 115)
    assert page.text("#range") == "1\u20135 of 5 matches"
    page.click("#filter")
    page.write(" and name")
    page.key("Enter")
    page.until("!document.querySelector('#filter-error').hidden")
    assert "a comparison" in page.text("#filter-error")
    page.click("#filter-clear")
    page.until("document.querySelector('#filter-error').hidden")
    page.until("document.querySelectorAll('#body tr').length === 50")
    page.click("#filter")
    page.write("label = 99")
    page.key("Enter")
    page.until("document.querySelector('#empty').innerText.includes('No record matches')")
    assert page.text("#range") == ""
    page.click("#show-all")
    page.until("document.querySelectorAll('#body tr').length === 50")


def test_the_address_keeps_what_is_shown(page: Browser, viewer: Viewer) -> None:
    page.page(f"{viewer.url}#filter=label+%3D+3&sort=weight&descending=1&open=115")
    shows(page, 115, 107)
    assert page.value("document.querySelector('#filter').value") == "label = 3"
    page.until("document.querySelector('#panel h2')?.innerText === 'Record 115'")


def test_sorting_by_clicks(page: Browser) -> None:
    page.click("#head th:nth-child(4) button")
    page.until("document.querySelector('#head th[aria-sort=ascending]')?.innerText.startsWith('weight')")
    shows(page, 0, 1)
    page.click("#head th:nth-child(4) button")
    shows(page, 119, 118)
    page.click("#head th:nth-child(4) button")
    shows(page, 0, 1)
    assert page.value("document.querySelector('#head th[aria-sort]')") is None
    page.value("document.querySelector('#sort').value = 'len(tokens)';"
               "document.querySelector('#sort').dispatchEvent(new Event('change'))")  # fmt: skip
    shows(page, 0, 5, 10)
    page.click("#direction")
    shows(page, 4, 9, 14)


def test_a_record(page: Browser) -> None:
    page.click("#body tr:nth-child(4)")
    page.until("document.querySelector('#panel h2')?.innerText === 'Record 3'")
    page.until("document.querySelectorAll('#panel .value').length === 7")
    shown = page.text("#panel")
    for text in ("<b>name</b> 3", "PNG image, 24 x 16", "0.50 s, 8,000 Hz, mono", "float32 [500]", "Play as sound"):
        assert text in shown
    page.until("document.querySelector('#panel .value img').naturalWidth === 24")
    assert page.value("document.querySelector('#panel audio').src").endswith("feature=sound&as=sound")
    page.value("(() => { const a = document.querySelector('#panel audio'); a.preload = 'auto'; a.load() })()")
    page.until("Math.abs(document.querySelector('#panel audio').duration - 0.5) < 0.01")
    page.click("#panel .value img")
    page.until("document.querySelector('#full[open] img')?.naturalWidth === 24")
    page.key("Escape")
    page.until("!document.querySelector('#full').open")
    page.value("[...document.querySelectorAll('#panel .value')].find(v => v.innerText.startsWith('signal'))"
               ".querySelector('.link').click()")  # fmt: skip
    page.until("document.querySelector('#full[open] pre')?.innerText.includes('496')")
    page.key("Escape")
    page.value("[...document.querySelectorAll('#panel .value')].find(v => v.innerText.startsWith('label'))"
               ".querySelector('.link').click()")  # fmt: skip
    page.until("document.querySelector('#filter').value === 'label = 3'")
    shows(page, 3, 11, 19)


def test_keys(page: Browser) -> None:
    page.key("j", "j", "ArrowDown", "k", "Enter")
    page.until("document.querySelector('#panel h2')?.innerText === 'Record 1'")
    page.key("j")
    page.until("document.querySelector('#panel h2')?.innerText === 'Record 2'")
    page.key("Escape")
    assert page.value("document.querySelector('#panel').hidden")
    page.key("n")
    shows(page, 50, 51)
    page.key("G")
    shows(page, 100, 101)
    page.key("g")
    shows(page, 0, 1)
    page.key("/")
    page.write("has sound")
    page.key("Enter")
    shows(page, 0, 3, 6)
    page.key("?")
    page.until("document.querySelector('#help').open")
    assert "first page, last page" in page.text("#help")
    page.key("Escape")
    before = page.value("document.documentElement.dataset.theme")
    page.key("t")
    assert (before, page.value("document.documentElement.dataset.theme")) == ("light", "dark")
    page.key("t", "2")
    page.until("!document.querySelector('#tab-features').hidden")


def test_columns(page: Browser) -> None:
    page.click("#columns-button")
    page.click("#columns label:nth-child(1) input")
    page.until("document.querySelectorAll('#body .thumb').length === 0")
    page.key("Escape")
    assert page.value("document.querySelector('#columns').hidden")


def test_histograms_filter(page: Browser) -> None:
    page.click("#to-features")
    page.until("document.querySelectorAll('#tab-features .card').length === 7")
    page.until("document.querySelector('#tab-features .progress') === null")
    label = "#tab-features .card[data-feature=label]"
    assert "int, in all records" in page.text(label)
    page.click(f"{label} .bars g:nth-child(4) .hit")
    page.until("document.querySelector('#filter').value === 'label = 3'")
    shows(page, 3, 11)
    page.click("#to-features")
    page.click(f"{label} .frequent li:nth-child(1) button")
    page.until("document.querySelector('#filter').value === 'label = 0'")


def test_schema_pipeline_and_files(page: Browser) -> None:
    page.click("#to-schema")
    page.until("document.querySelector('#tab-schema .code pre')?.innerText.includes('fl.io.parse_single_example')")
    assert "FixedLenFeature" in page.text("#tab-schema .code pre")
    page.click("#to-pipeline")
    page.until("document.querySelectorAll('.step').length === 7")
    assert "filter(odd)" in page.text(".step:nth-child(3)")
    assert page.text(".step:nth-child(3) .dot") == "4", "as in messages and in explain(), where the names are step 1"
    page.click("#tab-pipeline .stepper button[aria-label='Next element']")
    page.click("#tab-pipeline .stepper button[aria-label='Next element']")
    page.until("document.querySelector('.step:nth-child(6)').innerText.includes('3, 5, 7, 1')")
    assert "drops 1 element" in page.text(".step:nth-child(3)")
    page.click("#to-files")
    page.until("document.querySelector('#tab-files .state.bad')?.innerText.includes('is corrupt')")
    assert page.text("#to-files") == "Files1"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_widths_and_themes(width: int, dark: bool, browser: Browser, viewer: Viewer) -> None:
    browser.size(width, 800, dark)
    for tab in ("records", "features", "schema", "pipeline", "files"):
        browser.page(f"{viewer.url}#tab={tab}{'&open=3' if tab == 'records' else ''}")
        browser.until(f"document.querySelector('#tab-{tab}').innerText.length > 100")
        assert browser.value("document.documentElement.scrollWidth") <= width, tab
        within = f"e => e.closest('.tabs') || !e.offsetParent || e.getBoundingClientRect().right <= {width} + 1"
        assert browser.value(f"[...document.querySelectorAll('header *, .padded .card, .bar *')].every({within})"), tab
        pixels = np.asarray(Image.open(io.BytesIO(browser.screenshot())).convert("L"))
        assert pixels.shape == (800, width)
        assert (np.median(pixels) < 60) == dark
        assert len(np.unique(pixels)) > 30, "nearly nothing is seen"


def test_markup_is_text(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "a'b<i>.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        for i in range(60):
            writer.write(example(**{MARKUP: i, "text": f"{MARKUP} {i % 2}", '"quote\\': f"</script><script>{i}"}))
    damage(path, 30, tmp_path / "<img src=x>.tfrecord")
    with viewing(path, tmp_path / "<img src=x>.tfrecord") as viewer:
        viewer.counted()
        browser.size(1280, 800)
        for tab in ("records", "features", "schema", "files"):
            browser.page(f"{viewer.url}#tab={tab}&open=1")
            browser.until(f"document.querySelector('#tab-{tab}').innerText.includes('img src=x')")
            assert browser.value("document.querySelectorAll('main img, main i[onerror], main script').length") == 0
        browser.page(viewer.url)
        browser.click("#head th:nth-child(2) button")
        browser.until("document.querySelector('#head th[aria-sort=ascending]') !== null")
        browser.click("#head th:nth-child(2) button")
        shows(browser, 59)
        browser.page(f"{viewer.url}#tab=features")
        browser.click("#tab-features .card:nth-child(3) .frequent button")
        browser.until("document.querySelector('#range').innerText.endsWith('matches')")
        assert "of 60 matches" in browser.text("#range") or "of 59 matches" in browser.text("#range")
        assert browser.value("document.title") != "1"


def test_a_feature_may_be_called_like_a_property_of_every_object(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write_many([example(a=1), example(toString=3)])
    with viewing(path) as viewer:
        viewer.counted()
        browser.size(1280, 800)
        browser.page(viewer.url)
        browser.until("document.querySelectorAll('#head th').length === 3")
        shown = "[...document.querySelectorAll('#body tr')].map(r => [...r.cells].map(c => c.innerText).slice(1))"
        assert browser.value(shown) == [["1", "\u2013"], ["\u2013", "3"]]


def test_names_that_reverse_text_are_shown_with_escapes(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write(example(**{"\u202egnp.exe": "", "nul\0": "x"}))
    with viewing(path) as viewer:
        viewer.counted()
        browser.size(1280, 800)
        browser.page(viewer.url)
        browser.until("document.querySelectorAll('#head th').length === 3")
        assert browser.value("[...document.querySelectorAll('#head th')].map(h => h.innerText)") == [
            "#", "nul\\u0000", "\\u202egnp.exe",
        ]  # fmt: skip
        assert browser.value("[...document.querySelectorAll('#body td')].map(c => c.innerText)") == ["0", "x", '""']
        browser.click("#head th:nth-child(3) button")
        browser.until("document.querySelector('#head th[aria-sort=ascending]') !== null")


def test_an_address_with_a_bad_filter_shows_all_records(browser: Browser, viewer: Viewer) -> None:
    browser.size(1280, 800)
    browser.page(f"{viewer.url}#filter=label+%3D")
    browser.until("document.querySelectorAll('#body tr').length === 50")
    assert "a value is missing" in browser.text("#filter-error")
    assert browser.value("document.querySelector('#sort').selectedOptions.length") == 1


def test_objects_of_json_lines(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text('{"id": 1, "messages": [{"role": "user", "content": "<b>hi</b>"}], "tags": ["a", null]}\n')
    with viewing(path) as viewer:
        viewer.counted()
        browser.size(390, 800)
        browser.page(f"{viewer.url}#open=0")
        browser.until("document.querySelector('#panel')?.innerText.includes('\"content\": \"<b>hi</b>\"')")
        assert '[\n  "a",\n  null\n]' in browser.text("#panel")
        piece = viewer.ask("value", number=0, feature="messages")
        assert json.loads(piece["text"]) == [{"role": "user", "content": "<b>hi</b>"}]


def test_from_a_record_to_the_pipeline(browser: Browser, tmp_path: Path) -> None:
    path = pictures(tmp_path / "pets.tfrecord", 20)
    (tmp_path / "train.py").write_text(PIPELINE.format(path=str(path)))
    with viewing(path, "--dataset", f"{tmp_path}/train.py:dataset") as viewer:
        viewer.counted()
        browser.size(1280, 800)
        browser.page(f"{viewer.url}#open=5")
        browser.click("#to-element")
        browser.until("document.querySelector('.step:nth-child(2)')?.innerText.includes('1.25')")
        assert "a serialized Example" in browser.text(".step:nth-child(1)")
        assert "the element is as it was" in browser.text(".step:nth-child(3)")
        browser.key("j")
        browser.until("document.querySelector('.step:nth-child(3)').innerText.includes('drops 1 element')")


def test_many_columns(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(",".join(f"{prefix}{i}" for i in range(300)) for prefix in ("name ", "", "7")))
    with viewing(path) as viewer:
        viewer.counted()
        browser.size(1280, 800)
        browser.page(viewer.url)
        browser.until("document.querySelector('#columns-button').innerText === 'Columns: 40 of 300'")
        assert browser.value("document.querySelectorAll('#head th').length") == 41


def test_a_sound_that_the_browser_cannot_decode(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write(example(sound=b"OggS" + bytes(range(200)), long="word " * 9000, text="a\nb"))
    with viewing(path) as viewer:
        viewer.counted()
        browser.size(1280, 800)
        browser.page(f"{viewer.url}#open=0")
        browser.until("document.querySelector('#panel')?.innerText.includes('no waveform')")
        browser.value("[...document.querySelectorAll('#panel .value')].find(v => v.innerText.startsWith('long'))"
                      ".querySelector('.link').click()")  # fmt: skip
        browser.until("document.querySelector('#full pre')?.innerText.length === 16384")
        browser.click("#full .dialog-body .plain")
        browser.until("document.querySelector('#full pre').innerText.length > 32000")
        browser.key("Escape")


def test_when_the_server_has_ended(browser: Browser, tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 200)
    with viewing(path) as viewer:
        browser.size(1280, 800)
        browser.page(viewer.url)
        browser.until("document.querySelectorAll('#body tr').length === 50")
    browser.click("#page-next")
    browser.until("document.querySelector('#notice').innerText.includes('feedline view has ended')")
