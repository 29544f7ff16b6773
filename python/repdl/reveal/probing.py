# SPDX-License-Identifier: MIT
"""Finds the order of a sum from results alone.

By cancelling: term i is +BIG, term j is -BIG, and all others are 1. What is added to one of the two before they meet
is lost, so the result counts the terms outside the smallest subtree that holds both; n minus the result is its size.
From a pivot these sizes are the path to its root, and the other subtree of each node on it is found in the same way.
Published as FPRev: Xie, Gao, Xue, "Revealing floating-point accumulation orders in software/hardware
implementations", 2025.

By carrying: term a is 1, terms b and c are SMALL, all others are 0. SMALL is lost when it is added to 1, but two of it
are not. So there is a carry if b and c meet before a, or if nothing is rounded until all three have met. This takes
more probes, but no negative terms, and it sees sums that are fused exactly. A compensated sum is like one of these.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import numpy as np

from repdl.reveal.tree import Array, Tree

BIG = 2.0**120  # also beside n terms in a wider format it leaves nothing of them
SMALL = 0.75 * 2.0**-24
CARRY = 2.0**-23
MOST_TERMS = 1 << 20  # counts must be exact in float32, and there are few of such length to wait for
FLOATS = 1 << 22  # of a batch


class NotASumError(ValueError):
    """The function is no plain sum of its terms, or its order changes from call to call."""


class Sum:
    """A function of n terms that is to be a sum of them, and what its results say.

    Args:
        fn: float32 (batch, n) → (batch,).
        exact: whether the results are the sums; if not, they are rounded once more (a mean, times n).
        name: for messages.
    """

    def __init__(self, fn: Callable[[Array], Array], n: int, exact: bool, name: str) -> None:
        self.fn, self.n, self.exact, self.name = fn, n, exact, name

    def fail(self, what: str) -> NotASumError:
        claim = f"is no plain sum of its {self.n} terms, or adds them in another order each time"
        return NotASumError(f"[reveal] {self.name} {claim}: {what}")

    def of(self, rows: Array) -> Array:
        """The results for rows of terms, as doubles; a sum that is one is rounded first."""
        results = np.asarray(self.fn(rows))
        if results.shape != (len(rows),):
            raise ValueError(f"[reveal] {self.name} gave {results.shape} for terms {rows.shape}, not one sum each")
        with np.errstate(over="ignore"):
            return results.astype(np.float32 if self.exact else np.float64).astype(np.float64)

    def probe(self, other: float, values: Sequence[float], places: Array) -> Array:
        """The results with these values at these places, a row of `places` each, and `other` elsewhere."""
        step = max(1, FLOATS // self.n)
        results = [np.empty(0)]
        buffer = np.full((min(step, len(places)), self.n), other, np.float32)
        for start in range(0, len(places), step):
            some = places[start : start + step]
            rows, number = buffer[: len(some)], np.arange(len(some))
            for value, column in zip(values, some.T, strict=True):
                rows[number, column] = value
            results.append(self.of(rows))
            for column in some.T:
                rows[number, column] = other
        return np.concatenate(results)

    def check_terms(self) -> None:
        """Each term reaches the result, once, and all of them do."""
        alone = self.probe(0, [1], np.arange(self.n)[:, None])
        for term in np.flatnonzero(abs(alone - 1) > 1e-6):
            raise self.fail(f"with term {term} = 1 and all others 0 the result is {alone[term]:g}, not 1")
        self.alone = alone
        together = self.of(np.ones((1, self.n), np.float32))[0]
        if not abs(together - self.n) <= 1 / 64:
            raise self.fail(f"with all terms 1 the result is {together:g}")

    def sizes(self, pairs: Array) -> list[int]:
        """The size of the smallest subtree that holds both terms of each pair."""
        counts = self.probe(1, [BIG, -BIG], pairs)
        with np.errstate(invalid="ignore"):
            whole = (abs(counts - np.rint(counts)) <= 1 / 64) & (counts > -0.5) & (counts < self.n - 1.5)
        for k in np.flatnonzero(~whole):
            i, j = pairs[k]
            raise self.fail(f"with term {i} = +BIG, term {j} = -BIG and all others 1 it counts {counts[k]:g} terms")
        return [int(self.n - count) for count in np.rint(counts)]

    def carries(self, triples: Array) -> Array:
        """For each a, b, c: whether 1 at a and SMALL at b and c make a carry."""
        results = self.probe(0, [1, SMALL, SMALL], triples) - self.alone[triples[:, 0]]
        # One rounding more makes one or two units in the last place of it.
        carry = results == CARRY if self.exact else (results > CARRY / 4) & (results < 2.5 * CARRY)
        for k in np.flatnonzero(~carry & (results != 0)):
            a, b, c = triples[k]
            raise self.fail(f"1 at {a} and 0.75 · 2^-24 at {b} and {c} differ from 1 by {results[k]:g}")
        return carry


class _Growing:
    """A tree in the making: nodes with their children so far. The node `top`, which is none of it, holds the root."""

    def __init__(self, n: int) -> None:
        self.n, self.top = n, -1
        self.children: dict[int, list[int]] = {self.top: []}

    def node(self, child: int) -> int:
        new = self.n + len(self.children) - 1
        self.children[new] = [child]
        return new

    def tree(self) -> Tree:
        return Tree.of(self.n, [children for node, children in self.children.items() if node != self.top])


class _NoSuchTreeError(Exception):
    """The sizes are those of no tree whose nodes lose small terms beside great ones."""


def by_cancelling(sums: Sum) -> Tree:
    """Raises _NoSuchTreeError for sums that are fused exactly, and for what is no sum."""
    growing, choose = _Growing(sums.n), random.Random(0)
    size = {growing.top: sums.n}
    waiting = [(list(range(sums.n)), growing.top)]  # terms, and the node of which they are all other children
    while waiting:
        pivots = [choose.choice(terms) for terms, _ in waiting]
        pairs = [(i, j) for i, (terms, _) in zip(pivots, waiting, strict=True) for j in terms if j != i]
        found = iter(sums.sizes(np.array(pairs, np.int64).reshape(-1, 2)))
        deeper = []
        for i, (terms, parent) in zip(pivots, waiting, strict=True):
            by_size = sorted((next(found), j) for j in terms if j != i)
            path, below = i, 1
            for whole, group in groupby(by_size, key=lambda pair: pair[0]):
                others = [j for _, j in group]
                if whole == below + len(others):
                    path = growing.node(path)
                    size[path] = below = whole
                    deeper.append((others, path))
                elif whole == size[parent] and below + len(others) == len(terms) < whole:
                    deeper.append((others, parent))  # more children of a node of several
                    below = len(terms)
                else:
                    raise _NoSuchTreeError(
                        f"term {i} and term {others[0]} meet in a subtree of {whole} terms, "
                        f"but {below} + {len(others)} terms are in it"
                    )
            growing.children[parent].append(path)
        waiting = deeper
    return growing.tree()


def by_carrying(sums: Sum) -> Tree:
    growing, choose = _Growing(sums.n), random.Random(0)
    # Terms; the node of which they are all other children; a term below another child of it.
    waiting: list[tuple[list[int], int, int | None]] = [(list(range(sums.n)), growing.top, None)]
    while waiting:
        terms, parent, outside = waiting.pop()
        pivot = choose.choice(terms)
        rest = [j for j in terms if j != pivot]
        if outside is not None:
            rest, beside, beyond = _compare(sums, pivot, outside, rest)
            if beyond:
                raise sums.fail(f"terms {pivot}, {outside} and {beyond[0]} meet in another order than others say")
            if beside:
                waiting.append((beside, parent, outside))
        path = pivot
        for group in _by_distance(sums, pivot, rest, choose):
            path = growing.node(path)
            waiting.append((group, path, pivot))
        growing.children[parent].append(path)
    return growing.tree()


def _by_distance(sums: Sum, pivot: int, terms: list[int], choose: random.Random) -> Iterable[list[int]]:
    """The terms in groups: those that meet the pivot in the same node; the nearest node first."""
    waiting = [(terms, False)]
    while waiting:
        some, together = waiting.pop()
        if together:
            yield some
        elif some:
            other = choose.choice(some)
            near, same, far = _compare(sums, pivot, other, [j for j in some if j != other])
            waiting += [(far, False), ([other, *same], True), (near, False)]


def _compare(sums: Sum, pivot: int, other: int, terms: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Which terms meet the pivot before `other` does, in the same node, and later."""
    triples = [t for j in terms for t in ((pivot, other, j), (other, pivot, j), (j, pivot, other))]
    carries = sums.carries(np.array(triples, np.int64).reshape(-1, 3)).reshape(-1, 3)
    groups: tuple[list[int], list[int], list[int]] = ([], [], [])
    # The three meet in one node if all carries are there (it is exact) or none (it loses small terms).
    meaning = {(0, 1, 0): 0, (1, 0, 0): 1, (1, 1, 1): 1, (0, 0, 0): 1, (0, 0, 1): 2}
    for j, row in zip(terms, carries, strict=True):
        pattern = tuple(int(carry) for carry in row)
        if pattern not in meaning:
            raise sums.fail(f"the terms {pivot}, {other} and {j} meet in no order")
        groups[meaning[pattern]].append(j)
    return groups


def fuse(sums: Sum, tree: Tree) -> Tree:
    """Leaves out the nodes that do not round: their sum goes on in a wider format."""
    inner = range(tree.n, tree.root)
    some_term = [first for first, _ in tree.spans]
    triples = []
    for v in inner:
        a, b, *_ = tree.children(v)
        c = next(child for child in tree.children(tree.parents[v]) if child != v)
        triples.append([some_term[a], some_term[b], some_term[c]])
    wide = dict(zip(inner, sums.carries(np.array(triples, np.int64).reshape(-1, 3)), strict=True))
    if not any(wide.values()):
        return tree
    kept = {v: k for k, v in enumerate(v for v in range(tree.n, tree.root + 1) if not wide.get(v))}
    nodes = []
    for v in kept:
        children, waiting = [], list(tree.children(v))
        while waiting:
            child = waiting.pop()
            if wide.get(child):
                waiting.extend(tree.children(child))
            else:
                children.append(tree.n + kept[child] if child in kept else child)
        nodes.append(children)
    return Tree.of(tree.n, nodes)


def verify(sums: Sum, tree: Tree) -> None:
    """Random terms must give the tree's sums, to the bit where that is defined."""
    rng = np.random.default_rng(0)
    shape = (min(24, max(2, FLOATS // sums.n)), sums.n)
    rows = (rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)).astype(np.float32)
    expected, results = tree.evaluate(rows).astype(np.float64), sums.of(rows)
    several = any(len(children) > 2 for children in tree.nodes)  # how these round is not known
    tolerance = np.abs(rows).sum(-1) * 2.0**-20 if several else abs(expected) * (0 if sums.exact else 2.0**-22)
    for k in np.flatnonzero(~(abs(results - expected) <= tolerance)):
        raise sums.fail(f"the tree that was found gives {expected[k]} for random terms, but the function {results[k]}")


def verify_carries(sums: Sum, tree: Tree) -> None:
    """Random triples must carry as the tree says: for sums of which only some terms are possible."""
    rng = np.random.default_rng(0)
    if sums.n < 3:
        return
    triples = np.array([rng.choice(sums.n, 3, replace=False) for _ in range(200)])
    for triple, carry in zip(triples, sums.carries(triples), strict=True):
        a, b, c = (_path(tree, int(term)) for term in triple)
        ab, ac, bc = (_meeting(x, y) for x, y in ((a, b), (a, c), (b, c)))
        if len({ab, ac, bc}) > 1 and bool(carry) != (ab == ac):
            raise sums.fail(f"the terms {', '.join(map(str, triple))} meet in another order than others say")


def _path(tree: Tree, node: int) -> list[int]:
    path = []
    while node >= 0:
        path.append(node)
        node = tree.parents[node]
    return path


def _meeting(a: list[int], b: list[int]) -> int:
    in_b = set(b)
    return next(v for v in a if v in in_b)


def reveal(
    fn: Callable[[Array], Array],
    n: int,
    *,
    batched: bool = False,
    signed: bool = True,
    exact: bool = True,
    name: str | None = None,
) -> Tree:
    """Finds the order in which a function sums n terms, from its results alone.

    It takes some n log n probes, at worst n² / 2. What it finds is checked: random terms must give the same bits.

    Args:
        fn: takes float32 terms, an array of shape (n,), and gives their sum; a double is rounded to float32.
        n: the number of terms, at most 1,048,576.
        batched: fn takes (batch, n) and gives (batch,) instead: faster.
        signed: the terms may be negative and great. If not, only terms of 0, 1 and a little are tried, of which one
            at least is 1.
        exact: the results are the sums themselves. If not, they are rounded once more, as a mean is, times n.
        name: what messages call the function.

    Returns:
        The tree.

    Raises:
        NotASumError: if there is no such tree.
        TypeError: for what cannot be called, and for an n that is no integer.
        ValueError: for another n, and for results of another shape.
    """
    if not callable(fn):
        raise TypeError(f"[reveal] fn must be a function of an array of n terms, got {type(fn).__name__}")
    name = name or str(getattr(fn, "__name__", "the function"))
    if isinstance(n, bool) or not hasattr(type(n), "__index__"):
        raise TypeError(f"[reveal] n must be an integer, got {type(n).__name__}")
    n = operator.index(n)
    if not 1 <= n <= MOST_TERMS:
        raise ValueError(f"[reveal] n must be 1 … {MOST_TERMS}, got {n}")
    many = fn if batched else lambda rows: np.array([_number(fn(row)) for row in rows])
    sums = Sum(many, n, exact, name)
    sums.check_terms()
    if not signed:
        tree = by_carrying(sums)
        verify_carries(sums, tree)
        return tree
    try:
        tree = fuse(sums, by_cancelling(sums))
    except _NoSuchTreeError as wrong:
        try:
            tree = by_carrying(sums)
        except NotASumError:
            raise sums.fail(str(wrong)) from None
    verify(sums, tree)
    return tree


def _number(result: Array) -> float:
    array = np.asarray(result)
    if array.size != 1:
        raise ValueError(f"[reveal] one sum is expected of each call, got a result of shape {array.shape}")
    try:
        return float(array.reshape(()))
    except (TypeError, ValueError):
        raise ValueError(f"[reveal] one sum is expected of each call, got {result!r}") from None
