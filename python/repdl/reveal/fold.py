# SPDX-License-Identifier: MIT
"""Says a tree in few words: equal subtrees are counted, and orders that have a name are called by it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from repdl.reveal.tree import NAMED, Tree

MOST_KINDS = 12
"""Of parts in an outline."""


@dataclass(frozen=True)
class Fold:
    """A tree, read as parts that are joined.

    Attributes:
        tree: over its terms.
        pattern: "term"; a name of `NAMED`; "shuffled", a chain in another order than that of its terms; or "lanes",
            whose parts are not joined in one of these ways but as `joint` says.
        parts: the terms of each part, and the part; in the order of their first terms, or, for a chain of parts, in
            that of the additions. Empty if every part is a term.
        interleaved: term i is in part i modulo their number.
        joint: how the parts are joined: a tree with parts as its terms.
    """

    tree: Tree
    pattern: str
    parts: tuple[tuple[tuple[int, ...], Fold], ...]
    interleaved: bool
    joint: Tree

    @property
    def count(self) -> int:
        return self.joint.n

    @cached_property
    def groups(self) -> list[tuple[list[int], Fold]]:
        """Each kind of part, with the numbers of the parts that are of it."""
        numbers: dict[Tree, list[int]] = {}
        for i, (_, part) in enumerate(self.parts):
            numbers.setdefault(part.tree, []).append(i)
        return [(equal, self.parts[equal[0]][1]) for equal in numbers.values()]

    @property
    def kind(self) -> str:
        return "terms" if not self.parts else "lanes" if self.interleaved else "parts"

    @cached_property
    def summary(self) -> str:
        """A line, such as "64 lanes folded by halving, each a chain of 8 terms"."""
        joined = how_joined(self)
        if not self.parts:
            return joined
        if len(self.groups) == 1:
            return f"{joined}, each {_article(self.groups[0][1].summary)}"
        if len(self.groups) > 4:
            return f"{joined}, of {len(self.groups)} kinds"
        return f"{joined}: " + ", ".join(f"{len(equal)} × ({part.summary})" for equal, part in self.groups)


def _article(summary: str) -> str:
    return summary if summary[0].isdigit() else f"a {summary}"


def how_joined(fold: Fold) -> str:
    """The first half of the summary: what is joined, and how."""
    m, kind = fold.count, fold.kind
    whose = f"{m} {kind}"
    if fold.pattern == "term":
        return "term"
    if m == 2:
        return f"sum of {whose}"
    return {
        "chain": f"chain of {whose}",
        "shuffled": f"chain of {whose} in another order",
        "aligned": f"aligned binary tree of {whose}",
        "halving": f"{whose} folded by halving",
        "fused": f"fused sum of {whose}",
    }.get(fold.pattern) or f"{whose} joined by {_article(explain(fold.joint).summary.replace('terms', kind))}"


@lru_cache(maxsize=4096)
def explain(tree: Tree) -> Fold:
    return _named(tree) or _lanes(tree, tree.root) or _blocks(tree) or _spine(tree)


def _name(tree: Tree) -> str | None:
    if tree.n == 1:
        return "term"
    for name, make in NAMED.items():
        expected = tree.n - 1 if name == "chain" else 1 if name == "fused" else (tree.n - 1).bit_length()
        if tree.heights[-1] == expected and make(tree.n) == tree:
            return name
    if tree.heights[-1] == tree.n - 1:
        return "shuffled"
    return None


def _named(tree: Tree) -> Fold | None:
    name = _name(tree)
    return None if name is None else Fold(tree, name, (), False, tree)


def _joined(tree: Tree, node: int, parts: list[int], interleaved: bool) -> Fold | None:
    """A node as these parts, if a name or lanes say how they are joined."""
    joint = tree.cut(node, parts)
    pattern = _name(joint)
    if pattern in (None, "shuffled"):
        if _lanes(joint, joint.root) is None:
            return None
        pattern = "lanes"
    return Fold(tree.part(node), pattern, _parts(tree, node, parts), interleaved, joint)


def _parts(tree: Tree, node: int, parts: list[int]) -> tuple[tuple[tuple[int, ...], Fold], ...]:
    place = {term: i for i, term in enumerate(sorted(tree.terms(node)))}
    terms = [tuple(sorted(place[term] for term in tree.terms(part))) for part in parts]
    return tuple((of, explain(tree.part(part))) for of, part in zip(terms, parts, strict=True))


def _lanes(tree: Tree, node: int) -> Fold | None:
    """A node over consecutive terms as the most lanes that there are."""
    (first, last), size = tree.spans[node], tree.sizes[node]
    if last - first + 1 != size:
        return None
    lane = first
    while lane != node:
        (_, end), terms = tree.spans[lane], tree.sizes[lane]
        if terms > 1 and (end - first) % (terms - 1) == 0:
            lanes = (end - first) // (terms - 1)
            if lanes > 1 and terms == -(-size // lanes):
                found = [_over(tree, list(range(first + k, last + 1, lanes))) for k in range(lanes)]
                fold = None if None in found else _joined(tree, node, [v for v in found if v is not None], True)
                if fold is not None:
                    return fold
        lane = tree.parents[lane]
    return None


def _over(tree: Tree, terms: list[int]) -> int | None:
    """The node that sums exactly these terms."""
    v = terms[0]
    while tree.sizes[v] < len(terms):
        v = tree.parents[v]
    return v if tree.sizes[v] == len(terms) and sorted(tree.terms(v)) == terms else None


def _blocks(tree: Tree) -> Fold | None:
    """The largest subtrees that are chains or lanes, if these are joined in a way that has a name."""
    parts, waiting = [], [tree.root]
    while waiting:
        v = waiting.pop()
        size = tree.sizes[v]
        is_chain = size > 2 and tree.heights[v] == size - 1 and _name(tree.part(v)) == "chain"
        if size == 1 or is_chain or (v != tree.root and _lanes(tree, v) is not None):
            parts.append(v)
        else:
            waiting.extend(tree.children(v))
    if len(parts) == tree.n:
        return None
    return _joined(tree, tree.root, sorted(parts, key=lambda v: tree.spans[v]), False)


def _spine(tree: Tree) -> Fold:
    """What is added one after the other to the largest part, down to one of which more can be said."""
    parts, v = [], tree.root
    while True:
        children = sorted(tree.children(v), key=lambda child: (-tree.sizes[child], tree.spans[child]))
        if len(children) != 2:
            break
        parts.append(children[1])
        v = children[0]
        if _alone(tree, v):
            break
    if not parts:
        return Fold(tree, "fused", _parts(tree, v, list(tree.children(v))), False, tree.cut(v, tree.children(v)))
    parts = [v, *reversed(parts)]
    return Fold(tree, "chain", _parts(tree, tree.root, parts), False, tree.cut(tree.root, parts))


def _alone(tree: Tree, node: int) -> bool:
    """Whether a node ends a spine: more can be said of it than that something was added last."""
    a, *rest = sorted((tree.sizes[child] for child in tree.children(node)), reverse=True)
    if tree.sizes[node] <= 2 or rest[0] > a // 2:
        return True
    part = tree.part(node)
    return _named(part) is not None or _lanes(tree, node) is not None or _blocks(part) is not None


def _places(terms: tuple[int, ...]) -> str:
    """Terms in few words: "terms 3 … 9" or "terms 0, 64 … 960"."""
    if len(terms) == 1:
        return f"term {terms[0]}"
    step = terms[1] - terms[0]
    if len(terms) == 2 or any(b - a != step for a, b in pairwise(terms)):
        return f"terms {', '.join(map(str, terms[:4]))}{', …' if len(terms) > 4 else ''}"
    return f"terms {terms[0]} … {terms[-1]}" if step == 1 else f"terms {terms[0]}, {terms[1]} … {terms[-1]}"


def outline(fold: Fold, terms: tuple[int, ...], label: str = "") -> Iterator[tuple[int, str]]:
    """Lines with their depths; `terms` are the numbers that the tree's terms have in the whole."""
    yield 0, f"{label or _places(terms)}: {how_joined(fold)}"
    if fold.pattern == "shuffled":
        order = [str(terms[i]) for i in chain_order(fold.tree)]
        yield 1, f"in the order {', '.join(order[:12])}{', …' if len(order) > 12 else ''}"
    for shown, (equal, part) in enumerate(fold.groups):
        if shown == MOST_KINDS:
            yield 1, f"and {len(fold.groups) - shown} more kinds of {fold.kind}"
            return
        of_first = tuple(terms[i] for i in fold.parts[equal[0]][0])
        name = _places(of_first)
        if len(equal) > 1:
            name = f"{len(equal)} {fold.kind}, the first {name}"
        if part.count == 1:
            yield 1, name
        else:
            yield from ((depth + 1, line) for depth, line in outline(part, of_first, name))


def chain_order(tree: Tree) -> list[int]:
    """The terms of a chain in the order of the additions."""
    order, v = [], tree.root
    while v >= tree.n:
        a, b = sorted(tree.children(v), key=lambda child: -tree.sizes[child])
        order.append(b)
        v = a
    return [v, *reversed(order)]
