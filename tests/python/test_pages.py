# SPDX-License-Identifier: MIT
"""The page of `repdl diff --html`: one file that asks for no other, and that fits on a phone.

What the file says of itself is read by a parser of HTML; what a reader sees is measured in Chromium, without a screen
and without a network, where it is installed: `make test-pages` installs it.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from repdl.runs import difference
from repdl.runs.page import page
from runs import recorded, train_transformer

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PHONES, DESK = (320, 400), 1200
LONG = "VeryLongNameOfAModule" * 20


class Changed(nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.factor).exp()


def long_run(factor: float) -> None:
    """Names without a place to break them, and more steps than fit into a line."""
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    model = type(LONG, (Changed,), {})(1.0)
    for step in range(60):
        if step == 40:
            model.factor = factor
        weight.grad = torch.ones(3)
        model(torch.ones(2))
        optimizer.step()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages") / ("folder-without-spaces" * 8)
    folder.mkdir()

    def changed() -> None:
        torch.manual_seed(1)
        train_transformer()

    programs = {
        "transformer": (train_transformer, changed),
        "long names": (lambda: long_run(1.0), lambda: long_run(2.0)),
        "equal": (lambda: long_run(1.0), lambda: long_run(1.0)),
    }
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["train.py", "--path", "x" * 500, *["--option"] * 50])
        for number, (name, (a, b)) in enumerate(programs.items()):
            runs = recorded(folder / f"{number}a", a), recorded(folder / f"{number}b", b)
            found[name] = folder / f"{number}.html"
            found[name].write_text(page(difference.find(*runs), *runs))
    return found


class Reader(HTMLParser):
    """Collects what there is of elements and attributes, the style, and what is left open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.style = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img", "br", "base"):  # which have no end
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.style += data


NAMES = ("transformer", "long names", "equal")
TAGS = set(re.findall(r"\w+", "html head meta title style body h1 h2 div span strong dl dt dd b"))
ATTRIBUTES = {"lang", "charset", "name", "content", "http-equiv", "class", "title", "id"}
"""Elements and attributes that load nothing, run nothing and lead nowhere."""


@pytest.mark.parametrize("name", NAMES)
def test_a_page_asks_for_nothing(pages: dict[str, Path], name: str) -> None:
    read = Reader(pages[name].read_text())
    assert not read.open
    tags = {tag for tag, _ in read.elements}
    assert tags <= TAGS, tags - TAGS
    attributes = {attribute for _, given in read.elements for attribute in given}
    assert attributes <= ATTRIBUTES, attributes - ATTRIBUTES
    assert not re.search(r"url\(|@import|@font-face|//", read.style)
    metas = [given for tag, given in read.elements if tag == "meta"]
    assert {"charset": "utf-8"} in metas
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in metas
    policy = next(given["content"] for given in metas if given.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


MEASURE = """
<script>
onload = () => {
  const measured = [...document.querySelectorAll("iframe")].map(frame => {
    const view = frame.contentWindow, page = frame.contentDocument;
    const all = selector => [...page.querySelectorAll(selector)];
    const box = element => { const b = element.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
    const shown = element => element.checkVisibility({opacityProperty: true, visibilityProperty: true});
    const begin = element => element.outerHTML.slice(0, 99);
    const read = all("body *").filter(e => [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()));
    return {
      width: view.innerWidth,
      scroll: page.documentElement.scrollWidth,
      outside: all("body *").filter(e => box(e)[0] < 0 || box(e)[2] > view.innerWidth).map(begin),
      cut: read.filter(e => e.scrollWidth > e.clientWidth && e.clientWidth).map(begin),
      hidden: read.filter(e => !shown(e)).length,
      smallest: Math.min(...read.map(e => parseFloat(view.getComputedStyle(e).fontSize))),
      sentence: [page.querySelector("h1").textContent, ...box(page.querySelector("h1"))],
      steps: all(".steps span").map(e => [view.getComputedStyle(e).backgroundColor, ...box(e)]),
      pairs: all(".pair").map(e => [...e.children].map(box)),
      first: all("#first").map(e => view.getComputedStyle(e).outlineStyle),
      resources: view.performance.getEntriesByType("resource").map(r => r.name),
    };
  });
  document.body.dataset.measured = JSON.stringify(measured);
};
</script>
"""


def in_chromium(path: Path, widths: tuple[int, ...], profile: Path) -> list[dict[str, Any]]:
    """What a page looks like in frames of several widths: windows of Chromium are 500 wide at least."""
    frames = "".join(
        f'<iframe src="{path.name}" width={width} height=800 style="border: 0"></iframe>' for width in widths
    )
    around = path.with_suffix(".frames.html")
    around.write_text(f"<!doctype html><body>{frames}{MEASURE}</body>")
    assert CHROMIUM is not None
    result = subprocess.run(
        [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--host-resolver-rules=MAP * ~NOTFOUND", "--allow-file-access-from-files", f"--user-data-dir={profile}"),
            *("--window-size=2000,900", "--dump-dom", around.as_uri()),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    measured = re.search(r'data-measured="([^"]*)"', result.stdout)
    assert measured, result.stdout[-1000:] + result.stderr
    found: list[dict[str, Any]] = json.loads(html.unescape(measured.group(1)))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_phones_and_desks(pages: dict[str, Path], name: str, tmp_path: Path) -> None:
    if CHROMIUM is None:
        pytest.skip("no Chromium: `make test-pages` installs it and runs this test")
    for seen, width in zip(in_chromium(pages[name], (*PHONES, DESK), tmp_path), (*PHONES, DESK), strict=True):
        assert seen["width"] == width and seen["scroll"] <= width, "nothing is to be scrolled sideways"
        assert not seen["outside"] and not seen["cut"]
        assert seen["hidden"] == 0 and seen["smallest"] >= 11
        assert seen["resources"] == []
        sentence, left, top, right, bottom = seen["sentence"]
        assert sentence.startswith("No difference" if name == "equal" else "The first difference is in step")
        assert 0 <= left < right <= width and 0 <= top < bottom
        assert top < 50, "it stands at the top"
        steps = seen["steps"]
        assert len(steps) == {"transformer": 4, "long names": 61, "equal": 61}[name]
        assert all(right - left > 8 and bottom - top > 8 for _, left, top, right, bottom in steps)
        assert len({color for color, *_ in steps}) == {"transformer": 2, "long names": 3, "equal": 1}[name]
        assert all(len(pair) == 2 for pair in seen["pairs"])
        for (a_left, a_top, a_right, _), (b_left, b_top, b_right, _) in seen["pairs"]:
            assert a_right <= b_left and a_top == b_top, "A and B stand side by side"
            assert min(a_right - a_left, b_right - b_left) > 0.4 * min(width, 78 * 16)
        assert seen["first"] == ([] if name == "equal" else ["solid"])
