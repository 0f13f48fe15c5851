"""Plans drawn for a notebook."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np

import feedline as fl

VOID = {"br", "hr", "img", "meta", "link", "input"}


class Page(HTMLParser):
    """Checks that every tag is closed where it should be, and collects the text outside of styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.tags: set[str] = set()
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def test_every_step_is_there() -> None:
    page = Page(fl.Dataset.range(10).map(str).prefetch(2)._repr_html_())
    for word in ("Dataset", "10 elements", "range", "map", "prefetch", "once per element", "runs your code"):
        assert word in page.text
    assert "as it runs" not in page.text


def test_both_plans_where_they_differ() -> None:
    page = Page(fl.Dataset.range(10).shuffle(3).repeat(2)._repr_html_())
    for word in ("as written", "as it runs", "shuffle_and_repeat", "rewritten by shuffle_and_repeat_fusion"):
        assert word in page.text


def test_branches() -> None:
    page = fl.Dataset.zip((fl.Dataset.range(3), fl.Dataset.range(4), fl.Dataset.range(5)))._repr_html_()
    assert Page(page) and page.count('class="fl-branch"') == 3


def test_names_from_outside_are_escaped() -> None:
    bad = "<script>alert('x')</script>"
    function = lambda x: x  # noqa: E731
    function.__name__ = bad
    ds = fl.Dataset.from_tensor_slices({bad: np.arange(3)}).map(function).batch(2)
    options = fl.Options()
    options.dataset_name = bad
    page = ds.with_options(options)._repr_html_()
    assert "<script" not in page
    assert Page(page).tags <= {"div", "span", "b", "i", "style", "table", "tr", "th", "td", "small"}
    assert "alert" in Page(page).text


def test_it_needs_nothing_from_outside() -> None:
    page = fl.Dataset.range(10).batch(3)._repr_html_()
    assert not re.search(r"https?:|url\(|@import|src=|href=", page)


def test_a_plan_that_cannot_run_says_why() -> None:
    assert "cannot run: repeat at step 3" in Page(fl.Dataset.range(3).shuffle(2).repeat(0)._repr_html_()).text
