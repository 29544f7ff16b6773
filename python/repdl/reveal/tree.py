# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Tree:
    """The order of a sum: which values are added before which rounding.

    The terms are 0 … n - 1. `nodes[k]`, which is called n + k where it is added itself, is the sum of its children,
    rounded once; two of them in a plain addition, more in a fused one. Children stand before their parents, and the
    root is last. Addition commutes, so children are in the order of their first terms: equal orders are equal trees.
    """

    n: int
    nodes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, n: int, nodes: Sequence[Sequence[int]]) -> Tree:
        """The tree of these nodes, which may stand in any order, as may their children.

        Raises:
            ValueError: if they are no tree of the terms 0 … n - 1.
        """
        total = n + len(nodes)
        parent = [-1] * total
        for k, children in enumerate(nodes):
            for child in children:
                if len(children) < 2 or not 0 <= child < total or parent[child] != -1:
                    raise ValueError(f"node {n + k} with the children {list(children)} is not of a tree of {n} terms")
                parent[child] = n + k
        roots = [v for v in range(total) if parent[v] == -1]
        if len(roots) != 1:
            raise ValueError(f"a tree of {n} terms needs one root, not {len(roots)}")
        upwards, first = roots, list(range(total))
        for v in upwards:  # parents first; grows as it goes
            upwards.extend(nodes[v - n] if v >= n else ())
        if len(upwards) != total:
            raise ValueError(f"some of the nodes do not belong to the tree of {n} terms")
        for v in reversed(upwards):
            if v >= n:
                first[v] = min(first[child] for child in nodes[v - n])
        return cls(n, _numbered(n, nodes, first, roots[0]))

    @property
    def root(self) -> int:
        return self.n + len(self.nodes) - 1

    def children(self, node: int) -> tuple[int, ...]:
        """None for a term."""
        return self.nodes[node - self.n] if node >= self.n else ()

    @cached_property
    def parents(self) -> list[int]:
        """The parent of each node; that of the root is -1."""
        parents = [-1] * (self.root + 1)
        for k, children in enumerate(self.nodes):
            for child in children:
                parents[child] = self.n + k
        return parents

    def over_nodes(self, of_term: Any, of_node: Any) -> list[Any]:
        """A value for each node: of_term(term), and of_node([values of the children])."""
        values = [of_term(term) for term in range(self.n)]
        for children in self.nodes:
            values.append(of_node([values[child] for child in children]))
        return values

    @cached_property
    def sizes(self) -> list[int]:
        """How many terms each node sums."""
        return self.over_nodes(lambda _: 1, sum)

    @cached_property
    def heights(self) -> list[int]:
        """How many additions stand one upon the other below each node."""
        return self.over_nodes(lambda _: 0, lambda heights: 1 + max(heights))

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """The first and the last term of each node."""
        return self.over_nodes(lambda i: (i, i), lambda spans: (min(a for a, _ in spans), max(b for _, b in spans)))

    def terms(self, node: int) -> list[int]:
        """The terms that a node sums, from left to right of a drawing without crossings."""
        found, waiting = [], [node]
        while waiting:
            v = waiting.pop()
            if v < self.n:
                found.append(v)
            waiting.extend(reversed(self.children(v)))
        return found

    def cut(self, node: int, parts: Sequence[int]) -> Tree:
        """The tree of a node over some nodes below it, which sum all its terms, as its terms, in their given order."""
        place = {part: i for i, part in enumerate(parts)}
        nodes: list[tuple[int, ...]] = []
        for v in self._below(node, place):
            nodes.append(tuple(place[child] for child in self.children(v)))
            place[v] = len(parts) + len(nodes) - 1
        return Tree.of(len(parts), nodes)

    def _below(self, node: int, parts: dict[int, int]) -> list[int]:
        """The nodes from these parts up to this node, children first."""
        found, waiting = [], [node]
        while waiting:
            v = waiting.pop()
            if v not in parts:
                found.append(v)
                waiting.extend(self.children(v))
        return found[::-1]

    def part(self, node: int) -> Tree:
        """The tree of a node over its terms, numbered anew in their order."""
        return self.cut(node, sorted(self.terms(node)))

    def evaluate(self, terms: Array) -> Array:
        """The sums of float32 terms, of shape (…, n), in this order; of a fused sum the exact value, rounded once."""

        def add(values: list[Array]) -> Array:
            if len(values) == 2:
                return np.asarray(values[0] + values[1], np.float32)
            stacked = np.stack(values, -1).astype(np.float64)
            return np.apply_along_axis(math.fsum, -1, stacked).astype(np.float32)

        columns = np.moveaxis(np.asarray(terms, np.float32), -1, 0)
        with np.errstate(all="ignore"):
            return np.asarray(self.over_nodes(lambda i: columns[i], add)[-1])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the number of terms and the nodes: the same for equal trees only."""
        return hashlib.sha256(f"{self.n} {self.nodes}".encode()).hexdigest()

    def __str__(self) -> str:
        from repdl.reveal.text import draw

        return draw(self)

    def svg(self, title: str = "") -> str:
        """A drawing, folded where the tree is large."""
        from repdl.reveal.svg import draw

        return draw(self, title)


def _numbered(n: int, nodes: Sequence[Sequence[int]], first: list[int], root: int) -> tuple[tuple[int, ...], ...]:
    """The nodes numbered from the left and from below."""
    number = {v: v for v in range(n)}
    numbered: list[tuple[int, ...]] = []
    waiting = [(root, False)]
    while waiting:
        v, complete = waiting.pop()
        if v < n:
            continue
        children = sorted(nodes[v - n], key=first.__getitem__)
        if complete:
            numbered.append(tuple(number[child] for child in children))
            number[v] = n + len(numbered) - 1
        else:
            waiting.append((v, True))
            waiting.extend((child, False) for child in reversed(children))
    return tuple(numbered)


# The orders that have a name, over m terms.


def chain(m: int) -> Tree:
    """From the first to the last."""
    return Tree.of(m, [(k, k + 1) if k == 0 else (m + k - 1, k + 1) for k in range(m - 1)])


def fused(m: int) -> Tree:
    """All at once."""
    return Tree.of(m, [tuple(range(m))] if m > 1 else [])


def aligned(m: int) -> Tree:
    """Neighbours, then neighbours of these, and so on; what has no neighbour waits for one."""
    return _levels(m, lambda values: [values[i : i + 2] for i in range(0, len(values), 2)])


def halving(m: int) -> Tree:
    """The upper half onto the lower, of a width that is a power of two, until one is left."""

    def pairs(values: list[int]) -> list[list[int]]:
        half = 1 << (len(values) - 1).bit_length() - 1
        return [values[i : i + 1] + values[i + half : i + half + 1] for i in range(half)]

    return _levels(m, pairs)


def _levels(m: int, pairs: Any) -> Tree:
    nodes: list[list[int]] = []
    values = list(range(m))
    while len(values) > 1:
        joined = []
        for pair in pairs(values):
            if len(pair) > 1:
                nodes.append(pair)
            joined.append(pair[0] if len(pair) == 1 else m + len(nodes) - 1)
        values = joined
    return Tree.of(m, nodes)


NAMED = {"chain": chain, "aligned": aligned, "halving": halving, "fused": fused}
