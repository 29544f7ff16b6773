# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from repdl.reveal.fold import Fold, explain, how_joined
from repdl.reveal.tree import NAMED, Tree

MOST_LEAVES = 64
"""Of a drawing that is not folded."""
ABBREVIATED = 12
"""So many leaves stand for more than MOST_LEAVES."""
ROW, COLUMN, WIDEST, LABEL, MARGIN = 14, 18, 540, 190, 12
STYLE = "text{font:11px sans-serif;fill:#222}.title{font-weight:bold}path{fill:none;stroke:#2a5d8f;stroke-width:1.2}"


def draw(tree: Tree, title: str) -> str:
    """A dendrogram, from the terms on the left to the sum on the right. A large tree is one for each kind of part."""
    root = ElementTree.Element("svg", xmlns="http://www.w3.org/2000/svg")
    ElementTree.SubElement(root, "style").text = STYLE
    ElementTree.SubElement(root, "rect", width="100%", height="100%", fill="#fff")
    y = float(MARGIN)
    if title:
        y = _text(root, MARGIN, y + ROW, title, "title") + ROW / 2
    panels = [("", tree, [str(i) for i in range(tree.n)])] if tree.n <= MOST_LEAVES else _panels(explain(tree))
    width = 0.0
    for heading, joint, labels in panels:
        if heading:
            y = _text(root, MARGIN, y + ROW, heading, "title")
        right, y = _dendrogram(root, y + ROW / 2, joint, labels)
        width = max(width, right, MARGIN + 7.0 * len(heading))
        y += ROW
    width = max(width, MARGIN + 7.0 * len(title)) + MARGIN
    root.set("viewBox", f"0 0 {width:g} {y:g}")
    root.set("width", f"{width:g}")
    root.set("height", f"{y:g}")
    ElementTree.indent(root, "")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _panels(fold: Fold) -> Iterator[tuple[str, Tree, list[str]]]:
    """A heading, a tree and the labels of its leaves, for the whole and each kind of part, which a letter names."""
    names: dict[Tree, str] = {}
    waiting = [("", fold, tuple(range(fold.tree.n)))]
    for name, some, terms in waiting:
        for equal, part in some.groups:
            if part.count > 1 and part.tree not in names:
                names[part.tree] = _letters(len(names))
                of_first = tuple(terms[i] for i in some.parts[equal[0]][0])
                waiting.append((f"{names[part.tree]}, here from {of_first[0]}", part, of_first))
        labels = [str(terms[of[0]]) for of, _ in some.parts] or list(map(str, terms))
        for i, (_, part) in enumerate(some.parts):
            if part.count > 1:
                labels[i] = f"{names[part.tree]} from {labels[i]}"
        joint, shown = _abbreviated(some, labels)
        heading = how_joined(some) + (f", drawn for {joint.n}" if joint.n < some.count else "")
        yield (f"{name}: {heading}" if name else heading), joint, shown


def _abbreviated(fold: Fold, labels: list[str]) -> tuple[Tree, list[str]]:
    """The same order over fewer leaves, if it has a name."""
    if fold.count <= MOST_LEAVES or fold.pattern not in NAMED:
        return fold.joint, labels
    half = ABBREVIATED // 2
    return NAMED[fold.pattern](ABBREVIATED), [*labels[:half], "…", *labels[half - ABBREVIATED + 1 :]]


def _letters(number: int) -> str:
    return chr(ord("A") + number % 26) + (str(number // 26) if number >= 26 else "")


def _dendrogram(root: ElementTree.Element, top: float, tree: Tree, labels: list[str]) -> tuple[float, float]:
    """Returns where it ends, on the right and below."""
    step = min(COLUMN, WIDEST / max(1, tree.heights[-1]))
    left = MARGIN + min(LABEL, 8 + 7 * max(map(len, labels)))
    at = [(0.0, 0.0)] * tree.n
    for row, term in enumerate(tree.terms(tree.root)):
        y = top + ROW * (row + 0.5)
        at[term] = (left, y)
        _text(root, left - 4, y + 4, labels[term], anchor="end")
    lines = []
    for v in range(tree.n, tree.root + 1):
        x = left + step * tree.heights[v]
        children = [at[child] for child in tree.children(v)]
        lines += [f"M{a:g} {b:g}H{x:g}" for a, b in children]
        low, high = min(b for _, b in children), max(b for _, b in children)
        lines.append(f"M{x:g} {low:g}V{high:g}")
        at.append((x, (low + high) / 2))
    x, y = at[-1]
    lines.append(f"M{x:g} {y:g}h{step:g}")
    ElementTree.SubElement(root, "path", d="".join(lines))
    return x + step, top + ROW * tree.n


def _text(root: ElementTree.Element, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> float:
    attributes = {"x": f"{x:g}", "y": f"{y:g}"} | ({"class": kind} if kind else {})
    if anchor != "start":
        attributes["text-anchor"] = anchor
    ElementTree.SubElement(root, "text", attributes).text = text
    return y
