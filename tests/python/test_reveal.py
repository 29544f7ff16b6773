# SPDX-License-Identifier: MIT
"""Orders of sums, read from results: ours are those of docs/arithmetic.md, and others are what they are known to be."""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from typer.testing import CliRunner

import repdl
from repdl import _core
from repdl._op import registry
from repdl.cli.main import app
from repdl.reveal import NotASumError, Tree
from repdl.reveal.fold import explain
from repdl.reveal.ops import NUMPY, OURS, TORCH, Adapter, Options, Sums, reveal_op
from repdl.reveal.tree import aligned, chain, fused, halving
from support import ROOT, TARGETS, run_python

Row = np.ndarray[Any, Any]


# docs/arithmetic.md, "Orders", a second time: on the numbers of nodes instead of values. None is +0.


class Nodes:
    def __init__(self, n: int) -> None:
        self.n = n
        self.nodes: list[tuple[int, ...]] = []

    def add(self, *values: int | None) -> int | None:
        present = [value for value in values if value is not None]
        if len(present) < 2:
            return present[0] if present else None
        self.nodes.append(tuple(present))
        return self.n + len(self.nodes) - 1

    def chain(self, terms: Sequence[int]) -> int | None:
        acc = None
        for term in terms:
            acc = self.add(acc, term)
        return acc

    def lanes(self, terms: Sequence[int]) -> int | None:
        lane = [self.chain(terms[j::64]) for j in range(64)]
        for h in (32, 16, 8, 4, 2, 1):
            for j in range(h):
                lane[j] = self.add(lane[j], lane[j + h])
        return lane[0]

    def tree(self, values: Sequence[int | None]) -> int | None:
        waiting: list[int | None] = []
        for k, chunk in enumerate(values):
            i, value = k, chunk
            while i % 2 == 1:
                value = self.add(waiting.pop(), value)
                i //= 2
            waiting.append(value)
        result = waiting.pop()
        while waiting:
            result = self.add(waiting.pop(), result)
        return result


def contract(kind: str, order: str, n: int) -> Tree:
    nodes = Nodes(n)
    if order == "sequential":
        nodes.chain(range(n))
    else:
        length, of_chunk = (256, nodes.chain) if kind == "product" else (4096, nodes.lanes)
        nodes.tree([of_chunk(range(n)[start : start + length]) for start in range(0, n, length)])
    return Tree.of(n, nodes.nodes)


def readings(table: Mapping[str, Sums]) -> list[tuple[str, str | None]]:
    """Each op, with each of its sums."""
    return [
        (op, name) for op, known in table.items() for name in ([None] if isinstance(known, Adapter) else list(known))
    ]


CONVOLUTIONS = [f"{op}{by}" for op in ("conv2d", "convolution") for by in ("", "_grad_input", "_grad_kernel")]
PRODUCTS = ["complex_mm", "mm", "mv", "dot", "addmm", "sampled_mm", "linear", *CONVOLUTIONS]
ORDERS = ("blocked", "sequential")


def kind_of(op: str, name: str | None = None) -> str:
    if op.startswith("attention"):
        return "product" if name in ("score", "output", "a", "query", "key", "value") else "sum"
    return "product" if op in PRODUCTS else "sum"


RECURRENT = {"lstm", "lstm_grad", "gru", "gru_grad", "rnn", "rnn_grad"}
"""Their results are functions of sums, or sums over steps that depend on each other."""


def test_each_op_with_an_order_is_read() -> None:
    read = {op for op in registry if registry[op].takes_order} - RECURRENT
    assert set(OURS) == read | {"max_pool2d_grad"}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("op", "name"), [(op, name) for op, name in readings(OURS) if registry[op].takes_order])
def test_each_op_sums_as_the_contract_says(op: str, name: str | None, order: str) -> None:
    repdl.set_num_threads(1)  # quicker for so little
    kind = kind_of(op, name)
    sizes = (1, 2, 9, 64, 256, 257, 261) if kind == "product" else (1, 2, 3, 63, 64, 65, 130)
    for n in sizes if name != "score" else (1, 2, 64, 261):  # which takes the most probes
        what, tree = reveal_op(op, Options(n, sum=name), order)
        assert tree == contract(kind, order, n), what


@pytest.mark.parametrize(("target", "threads"), list(itertools.product(TARGETS, (1, 2, 3))))
@pytest.mark.parametrize("order", ORDERS)
def test_a_gradient_of_pooling_is_a_chain_in_both_orders(order: str, target: str, threads: int) -> None:
    _core.set_target(target)
    repdl.set_num_threads(threads)
    with repdl.order(order):
        for n in (1, 2, 65, 300):
            assert reveal_op("max_pool2d_grad", Options(n))[1] == chain(n)


@pytest.mark.parametrize("n", [511, 512, 767, 768, 1025, 5 * 256, 7 * 256 + 1, 11 * 256])
@pytest.mark.parametrize("order", ORDERS)
def test_chunks_of_products_meet_as_the_contract_says(n: int, order: str) -> None:
    assert reveal_op("mm", Options(shape=(3, n, 2), element=(2, 1)), order)[1] == contract("product", order, n)


@pytest.mark.parametrize("n", [4095, 4096, 4097, 3 * 4096 + 5])
@pytest.mark.parametrize("order", ORDERS)
def test_chunks_of_sums_meet_as_the_contract_says(n: int, order: str) -> None:
    tree = repdl.reveal(lambda rows: repdl.ops.sum(rows, 1, order=order), n, batched=True)
    assert tree == contract("sum", order, n)


@pytest.mark.parametrize(
    ("op", "options"),
    [
        ("sum", Options(shape=(70, 5, 3), dim=0, element=(4, 2))),
        ("mean", Options(shape=(3, 70, 17), dim=1, element=(2, 16))),
        ("softmax", Options(shape=(9, 70), dim=1, element=(8,))),
        ("mm", Options(shape=(1, 300, 1))),
        ("mm", Options(shape=(37, 300, 50), element=(36, 49))),
        ("linear", Options(shape=(1, 300, 33), element=(0, 32))),
        ("conv2d", Options(shape=(2, 40, 9, 7, 5, 2, 4), element=(1, 4, 7, 3))),
        ("conv2d_grad_input", Options(shape=(2, 3, 9, 9, 40, 2, 4), element=(1, 2, 4, 4))),
        ("conv2d_grad_kernel", Options(shape=(7, 3, 9, 9, 4, 2, 3), element=(3, 2, 1, 2))),
        ("softmax_grad", Options(shape=(9, 70, 2), dim=1, element=(8, 1))),
        ("log_softmax_grad", Options(shape=(70, 9), dim=0, element=(8,))),
        ("batch_norm", Options(shape=(10, 3, 7, 2), element=(2,))),
        ("batch_norm", Options(shape=(32, 3, 2, 2), element=(2,), sum="variance")),
        ("batch_norm_grad", Options(shape=(10, 3, 7, 2), element=(2,), sum="weight")),
        ("addmm", Options(shape=(7, 300, 21), element=(6, 20))),
        ("weight_norm", Options(shape=(9, 70), element=(8,))),
        ("weight_norm", Options(shape=(70, 5, 2), dim=0, element=(4, 1))),
        ("weight_norm_grad", Options(shape=(3, 70, 5), dim=1, element=(2, 4))),
        ("layer_norm", Options(shape=(9, 70), element=(8,))),
        ("layer_norm", Options(shape=(9, 64), element=(8,), sum="variance")),
        ("layer_norm_grad", Options(shape=(70, 9), element=(8,), sum="weight")),
        ("layer_norm_grad", Options(shape=(9, 70), element=(8,), sum="a")),
        ("layer_norm_grad", Options(shape=(9, 70), element=(8,), sum="b")),
        ("rms_norm", Options(shape=(9, 64), element=(8,))),
        ("rms_norm_grad", Options(shape=(70, 9), element=(8,), sum="weight")),
        ("group_norm", Options(shape=(3, 4, 5, 7, 2), element=(2, 3))),
        ("group_norm", Options(shape=(3, 4, 16, 2, 2), element=(2, 3), sum="variance")),
        ("group_norm_grad", Options(shape=(10, 4, 3, 7), element=(3, 2), sum="weight")),
        ("group_norm_grad", Options(shape=(3, 4, 11, 7), element=(2, 3), sum="a")),
        ("group_norm_grad", Options(shape=(3, 4, 11, 7), element=(2, 3), sum="b")),
        ("cross_entropy", Options(shape=(5, 70), element=(4,))),
        ("cross_entropy", Options(shape=(5, 70), element=(4,), sum="classes")),
        ("cross_entropy", Options(shape=(5, 70), element=(4,), sum="smoothing")),
        ("cross_entropy_grad", Options(shape=(5, 70), element=(4,))),
        ("cross_entropy_grad", Options(shape=(5, 70), element=(4,), sum="classes")),
        ("cross_entropy_grad", Options(shape=(5, 70), element=(4,), sum="smoothing")),
    ],
)
def test_shape_and_place_do_not_show(op: str, options: Options) -> None:
    for order in ORDERS:
        what, tree = reveal_op(op, options, order)
        assert tree == contract(kind_of(op, options.sum), order, tree.n), what


@pytest.mark.parametrize("op", ["sum", "softmax", "mm"])
def test_of_each_few_terms_one_may_be_read(op: str) -> None:
    nodes = Nodes(19)
    if op == "mm":
        nodes.tree([nodes.chain(range(19)[start : start + 8]) for start in (0, 8, 16)])
    else:
        nodes.add(nodes.chain(range(0, 19, 2)), nodes.chain(range(1, 19, 2)))  # lanes 0 and 32
    assert reveal_op(op, Options(600, every=32), "blocked")[1] == Tree.of(19, nodes.nodes)


@pytest.mark.parametrize(
    ("op", "options"),
    [
        ("sum", Options(270)),
        ("mean", Options(270)),
        ("softmax", Options(140)),
        ("log_softmax", Options(140)),
        ("softmax_grad", Options(130)),
        ("log_softmax_grad", Options(130)),
        ("cross_entropy", Options(70)),
        *(("cross_entropy", Options(70, sum=name)) for name in ("classes", "smoothing", "samples", "weights")),
        ("cross_entropy_grad", Options(70)),
        *(("cross_entropy_grad", Options(70, sum=name)) for name in ("classes", "smoothing", "weights")),
        ("batch_norm", Options(270)),
        ("batch_norm", Options(70, sum="variance")),
        ("batch_norm_grad", Options(270)),
        ("batch_norm_grad", Options(130, sum="weight")),
        ("batch_norm_eval_grad", Options(270)),
        ("batch_norm_eval_grad", Options(130, sum="weight")),
        ("weight_norm", Options(70)),
        ("weight_norm_grad", Options(270)),
        ("layer_norm", Options(70)),
        ("layer_norm_grad", Options(70, sum="weight")),
        ("layer_norm_grad", Options(70, sum="a")),
        ("rms_norm", Options(20)),
        ("rms_norm_grad", Options(70, sum="b")),
        ("group_norm", Options(20, sum="variance")),
        ("group_norm_grad", Options(70, sum="weight")),
        ("mm", Options(shape=(3, 270, 5))),
        ("addmm", Options(shape=(3, 270, 5))),
        ("attention", Options(20, sum="softmax")),
        ("attention", Options(260, sum="output")),
        ("attention_grad", Options(70, sum="t")),
        ("attention_grad", Options(260, sum="key")),
        ("linear", Options(shape=(2, 270, 18))),
        ("conv2d", Options(shape=(1, 30, 5, 5, 3, 3, 3))),
        ("conv2d_grad_input", Options(shape=(1, 2, 5, 5, 30, 3, 3))),
        ("conv2d_grad_kernel", Options(shape=(3, 2, 12, 11, 3, 3, 2))),
    ],
)
@pytest.mark.parametrize("target", TARGETS)
def test_target_and_threads_do_not_show(op: str, options: Options, target: str) -> None:
    _core.set_target(target)
    for order, threads in zip(("blocked", "sequential", "blocked"), (1, 2, 3)):
        repdl.set_num_threads(threads)
        what, tree = reveal_op(op, options, order)
        assert tree == contract(kind_of(op, options.sum), order, tree.n), (what, threads)


# Others' orders.


def left_to_right(row: Row) -> np.float32:
    acc = np.float32(0)
    for term in row:
        acc += term
    return acc


def test_a_loop_is_a_chain() -> None:
    assert repdl.reveal(left_to_right, 50) == chain(50)
    assert repdl.reveal(lambda row: left_to_right(row[::-1]), 9).nodes[:2] == ((7, 8), (6, 9))


def test_a_shuffled_loop_is_a_chain_in_its_order() -> None:
    order = np.random.default_rng(3).permutation(40)
    nodes = Nodes(40)
    nodes.chain(order.tolist())
    tree = repdl.reveal(lambda row: left_to_right(row[order]), 40)
    assert tree == Tree.of(40, nodes.nodes)
    assert explain(tree).summary == "chain of 40 terms in another order"
    assert (
        str(tree).splitlines()[1].startswith(f"  in the order {order[0]}, {order[1]}, {order[2]}, ")
        or order[0] > order[1]
    )


def numpy_pairwise(nodes: Nodes, terms: Sequence[int]) -> int | None:
    """numpy.sum of one contiguous row, as its source (loops_utils.h.src) says."""
    if len(terms) < 8:
        return nodes.chain(terms)
    if len(terms) <= 128:
        whole = len(terms) - len(terms) % 8
        r = [nodes.chain(terms[j:whole:8]) for j in range(8)]
        acc = nodes.add(
            nodes.add(nodes.add(r[0], r[1]), nodes.add(r[2], r[3])),
            nodes.add(nodes.add(r[4], r[5]), nodes.add(r[6], r[7])),
        )
        for term in terms[whole:]:
            acc = nodes.add(acc, term)
        return acc
    half = len(terms) // 2 // 8 * 8
    return nodes.add(numpy_pairwise(nodes, terms[:half]), numpy_pairwise(nodes, terms[half:]))


@pytest.mark.parametrize("n", [5, 8, 30, 127, 128, 129, 300, 1000])
def test_numpy_sums_in_pairs(n: int) -> None:
    nodes = Nodes(n)
    numpy_pairwise(nodes, range(n))
    assert reveal_op("numpy.sum", Options(n))[1] == repdl.reveal(np.sum, n) == Tree.of(n, nodes.nodes)


def test_three_terms_added_at_once_are_one_node() -> None:
    def by_threes(row: Row, add: Callable[[list[Any]], Any]) -> np.float32:
        acc = np.float32(row[0])
        for k in range(1, len(row), 2):
            acc = np.float32(add([acc, *row[k : k + 2]]))
        return acc

    expected = Tree.of(9, [(0, 1, 2), (9, 3, 4), (10, 5, 6), (11, 7, 8)])
    assert repdl.reveal(lambda row: by_threes(row, lambda v: np.float64(v[0]) + v[1] + v[2]), 9) == expected
    assert repdl.reveal(lambda row: by_threes(row, math.fsum), 9) == expected
    assert repdl.reveal(lambda row: row.astype(np.float64).sum(), 100) == fused(100)
    assert reveal_op("math:fsum", Options(20))[1] == fused(20)


def kahan(row: Row) -> np.float32:
    acc = lost = np.float32(0)
    for term in row:
        term = term - lost
        new = acc + term
        lost = (new - acc) - term
        acc = new
    return acc


def test_a_compensated_sum_is_one_node() -> None:
    assert repdl.reveal(kahan, 24) == fused(24)  # it loses no small term beside great ones


def test_a_unit_that_aligns_and_cuts_off_is_one_node() -> None:
    """As matrix units of GPUs add: four products and the sum so far, cut to the places of the largest."""

    def at_once(values: list[float]) -> float:
        quantum = 2.0 ** (max(math.frexp(v)[1] for v in values) - 24)
        return quantum * sum(int(v / quantum) for v in values)

    def unit(row: Row) -> float:
        acc = 0.0
        for k in range(0, len(row), 4):
            acc = at_once([acc, *map(float, row[k : k + 4])])
        return acc

    assert repdl.reveal(unit, 12) == Tree.of(12, [(0, 1, 2, 3), (12, 4, 5, 6, 7), (13, 8, 9, 10, 11)])


@pytest.mark.parametrize(("op", "name"), readings({**TORCH, **NUMPY}))
def test_each_op_of_torch_and_numpy_is_read(op: str, name: str | None) -> None:
    torch.set_num_threads(1)
    for n in (1, 2, 45):
        if (op, name, n) == ("torch.nn.functional.batch_norm", "mean", 1):
            continue  # torch refuses a batch of one value
        what, tree = reveal_op(op, Options(n, sum=name))
        assert tree.n == n and op in what
    if op.endswith("cumsum"):
        assert tree == (fused(45) if op == "torch.cumsum" else chain(45))


# Any tree.


def evaluate(tree: Tree, row: Row, wide: bool) -> np.float32:
    """Nodes of several children are added exactly, or from left to right in float64."""
    values = list(row)
    for children in tree.nodes:
        terms = [values[child] for child in children]
        if len(terms) == 2:
            values.append(terms[0] + terms[1])
        else:
            values.append(np.float32(np.float64(terms[0]) + sum(map(float, terms[1:])) if wide else math.fsum(terms)))
    return values[-1]


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    n = draw(st.integers(1, 24))
    loose, nodes = list(range(n)), []
    while len(loose) > 1:
        count = min(draw(st.sampled_from([2, 2, 2, 3, 5])), len(loose))
        nodes.append([loose.pop(draw(st.integers(0, len(loose) - 1))) for _ in range(count)])
        loose.append(n + len(nodes) - 1)
    return Tree.of(n, nodes)


@settings(max_examples=100, deadline=None)
@given(trees(), st.booleans())
def test_any_tree_is_found(tree: Tree, wide: bool) -> None:
    assert repdl.reveal(lambda row: evaluate(tree, row, wide), tree.n) == tree
    assert repdl.reveal(lambda row: evaluate(tree, row, wide), tree.n, signed=False) == tree


@settings(max_examples=50, deadline=None)
@given(trees())
def test_any_tree_is_drawn(tree: Tree) -> None:
    leaves = [line.split()[0] for line in str(tree).splitlines()]
    assert sorted(map(int, leaves)) == list(range(tree.n))
    assert explain(tree).tree == tree
    ElementTree.fromstring(tree.svg("any"))


# What is no sum.


def in_random_order() -> Callable[[Row], np.float32]:
    rng = np.random.default_rng(0)
    return lambda row: left_to_right(rng.permutation(row))


@pytest.mark.parametrize(
    "function",
    [
        np.max,
        np.median,
        np.prod,
        np.linalg.norm,
        in_random_order(),
        lambda row: row[0],
        lambda row: row[1:].sum(),
        lambda row: 2 * row.sum(),
        lambda row: row.sum() + row[0] * row[1],
        lambda row: row.sum() if abs(row).max() < 2 else np.cumsum(row)[-1] + np.float32(1),
        lambda row: row.astype(np.float16).sum(),
        lambda row: np.float32(np.nan),
    ],
)
def test_what_is_no_sum_is_refused(function: Callable[[Row], Any]) -> None:
    with np.errstate(all="ignore"), pytest.raises(NotASumError, match="is no plain sum of its 24 terms"):
        repdl.reveal(function, 24)


def test_a_transformed_convolution_is_no_sum_of_its_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Winograd's for one row and a kernel of 3: of ones it gives the sum of the weights, but it is another."""

    def winograd(x: Row, w: Row, **_: Any) -> Row:
        d, g = x[0, 0, 0], w[0, 0, 0]
        m = [
            (d[0] - d[2]) * g[0],
            (d[1] + d[2]) * ((g[0] + g[1]) + g[2]) / 2,
            (d[2] - d[1]) * ((g[0] - g[1]) + g[2]) / 2,
        ]
        return np.float32((m[0] + m[1]) + m[2]).reshape(1, 1, 1, 1)

    options = Options(shape=(1, 1, 1, 3, 1, 1, 3))
    assert reveal_op("conv2d", options)[1] == chain(3)
    monkeypatch.setitem(registry, "conv2d", winograd)  # type: ignore[arg-type]
    with np.errstate(all="ignore"), pytest.raises(NotASumError):
        reveal_op("conv2d", options)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="n must be"):
        repdl.reveal(np.sum, 0)
    with pytest.raises(ValueError, match=r"one sum is expected of each call, got a result of shape \(3,\)"):
        repdl.reveal(lambda row: row, 3)
    with pytest.raises(ValueError, match="not one sum each"):
        repdl.reveal(lambda rows: rows, 3, batched=True)
    for nodes in ([(0, 1)], [(0, 1), (0, 3)], [(0, 1, 2), (3, 4)], [(0,), (1, 3), (2, 4)], [(0, 4), (1, 3), (2, 5)]):
        with pytest.raises(ValueError, match="tree of 3 terms"):
            Tree.of(3, nodes)


@pytest.mark.parametrize(
    ("op", "options", "message"),
    [
        ("relu", Options(), "relu sums nothing"),
        ("torch.relu", Options(), "torch.relu is not known. Known are"),
        ("nothing", Options(), "Known are sum, mean, mm"),
        ("no.such.module:f", Options(), "there is no no.such.module:f"),
        ("math:pi", Options(), "math:pi is no function"),
        ("mm", Options(shape=(3, 4)), "shape must be M,K,N"),
        ("mm", Options(element=(0, 99)), r"element must be one of a result of shape \(32, 32\)"),
        ("sum", Options(dim=1), "dimension 1 is none of shape"),
        ("conv2d", Options(shape=(1, 1, 2, 2, 1, 3, 3)), "larger than an image"),
        ("conv2d_grad_input", Options(shape=(1, 1, 4, 4, 1, 3, 3)), "does not lie below a whole kernel"),
        ("batch_norm", Options(shape=(4,)), "shape must be N,C"),
        ("batch_norm", Options(shape=(20, 4), sum="variance"), "a power of two of values in each channel"),
        ("batch_norm", Options(shape=(8, 4), sum="variance"), "N above 8"),
        ("softmax_grad", Options(shape=(1,)), "softmax_grad must be of more than 1 along dimension 0"),
        ("layer_norm", Options(shape=(4,)), "shape must be ROWS,N, each at least 1"),
        ("layer_norm", Options(shape=(4, 5, 6)), "shape must be ROWS,N, each at least 1"),
        ("layer_norm_grad", Options(shape=(4, 1), sum="a"), "is read of rows of more than 1 channel"),
        ("rms_norm", Options(shape=(2, 32)), "a power of four of values in each row, above 8"),
        ("rms_norm", Options(shape=(2, 4)), "a power of four of values in each row, above 8"),
        ("group_norm", Options(shape=(4, 4)), "shape must be N,G,K or N,G,K,…"),
        ("cross_entropy", Options(shape=(4,)), "shape must be N,C"),
        ("cross_entropy", Options(shape=(4, 1), sum="classes"), "C at least 2"),
        ("math:fsum", Options(shape=(3, 4)), "no shape, dim, element, every or sum can be chosen"),
        ("math:fsum", Options(sum="mean"), "no shape, dim, element, every or sum can be chosen"),
        ("os:getcwd", Options(3), r"must take a float32 array of shape \(3,\), but raises TypeError"),
        ("builtins:repr", Options(1), r"one sum is expected of each call, got 'array"),
    ],
)
def test_an_op_that_cannot_be_read_says_why(op: str, options: Options, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reveal_op(op, options)


OPTIONS: dict[str, Any] = {"shape": (3, 4), "dim": 0, "element": (0,), "sum": "mean"}


@pytest.mark.parametrize(("op", "name"), readings({**OURS, **TORCH, **NUMPY}))
def test_an_option_that_says_nothing_of_an_op_is_refused(op: str, name: str | None) -> None:
    known = {**OURS, **TORCH, **NUMPY}[op]
    adapter = known if isinstance(known, Adapter) else known[str(name)]
    for option in set(OPTIONS) - set(adapter.takes):
        with pytest.raises(ValueError, match=rf"{op} takes no {option}: leave it out\. .* is n, every"):
            reveal_op(op, Options(**{"sum": name, option: OPTIONS[option]}))
    for option in adapter.takes:
        assert option in OPTIONS


@pytest.mark.parametrize("op", [*PRODUCTS, "torch.mm", "numpy.matmul", "batch_norm", "cross_entropy"])
def test_a_dimension_is_for_ops_along_one(op: str) -> None:
    with pytest.raises(ValueError, match=f"{op} takes no dim: leave it out"):
        reveal_op(op, Options(dim=-1))


def test_a_sum_that_an_op_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="batch_norm has no sum 'var': choose one of mean, variance"):
        reveal_op("batch_norm", Options(sum="var"))
    with pytest.raises(ValueError, match="n and shape both say how many terms there are: give one of them"):
        Options(5, shape=(5,))


def test_an_order_is_for_ops_that_have_one() -> None:
    for op in ("torch.sum", "math:fsum"):
        with pytest.raises(ValueError, match="no order to choose"):
            reveal_op(op, Options(), "blocked")
    with pytest.raises(ValueError, match="max_pool2d_grad adds in one order only: leave order out"):
        reveal_op("max_pool2d_grad", Options(), "blocked")


# Drawings.


def test_a_small_tree_is_drawn_in_full() -> None:
    assert str(Tree.of(6, [(0, 3), (1, 6), (2, 4, 5), (7, 8)])) == "\n".join(
        ["0 ──┐", "3 ──┴─┐", "1 ────┴─┐", "2 ──┐   │", "4 ──┤   │", "5 ──┴───┴─"]
    )
    assert str(chain(1)) == "0  ─"


def test_large_trees_are_told_in_few_words() -> None:
    for tree, summary in {
        chain(512): "chain of 512 terms",
        fused(40): "fused sum of 40 terms",
        aligned(77): "aligned binary tree of 77 terms",
        halving(77): "77 terms folded by halving",
        contract("sum", "blocked", 512): "64 lanes folded by halving, each a chain of 8 terms",
        contract("product", "blocked", 10 * 256): "aligned binary tree of 10 parts, each a chain of 256 terms",
        contract("sum", "blocked", 5 * 4096): "aligned binary tree of 5 parts, each 64 lanes folded by halving, each "
        "a chain of 64 terms",
    }.items():
        assert explain(tree).summary == summary
    assert str(contract("sum", "blocked", 5000)).splitlines() == [
        "terms 0 … 4999: sum of 2 parts",
        "  terms 0 … 4095: 64 lanes folded by halving",
        "    64 lanes, the first terms 0, 64 … 4032: chain of 64 terms",
        "  terms 4096 … 4999: 64 lanes folded by halving",
        "    8 lanes, the first terms 4096, 4160 … 4992: chain of 15 terms",
        "    56 lanes, the first terms 4104, 4168 … 4936: chain of 14 terms",
    ]
    uneven = Nodes(40)
    uneven.add(uneven.chain([0, 1, 4, 9, 16]), uneven.chain([i for i in range(40) if i not in (0, 1, 4, 9, 16)]))
    assert str(Tree.of(40, uneven.nodes)).splitlines() == [
        "terms 0 … 39: sum of 2 parts",
        "  terms 0, 1, 4, 9, …: chain of 5 terms",
        "  terms 2, 3, 5, 6, …: chain of 35 terms",
    ]


@pytest.mark.parametrize(
    "tree", [chain(1), halving(40), chain(5000), contract("sum", "blocked", 904)], ids=lambda tree: str(tree.n)
)
def test_the_drawing_is_well_formed_and_always_the_same(tree: Tree) -> None:
    drawing = tree.svg("<title> & more")
    assert drawing == Tree.of(tree.n, tree.nodes).svg("<title> & more")
    root = ElementTree.fromstring(drawing)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "<title> & more"
    assert len(texts) == tree.n + 1 if tree.n <= 64 else len(texts) < 150


def test_the_digest_is_that_of_the_order_alone() -> None:
    assert Tree.of(3, [(1, 0), (2, 3)]).digest == Tree.of(3, [(4, 2), (0, 1)]).digest == chain(3).digest
    assert len({tree.digest for tree in (chain(4), halving(4), aligned(4), fused(4), chain(5))}) == 5


# The command.


def command(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["reveal", *arguments])


def test_the_command_draws(tmp_path: Path) -> None:
    result = command("sum", "--n", "16", "--svg", str(tmp_path / "sum.svg"), "--threads", "2", "--target", "scalar")
    assert result.exit_code == 0, result.output
    assert "sum of (16,) along dimension 0: 16 terms folded by halving" in result.output
    assert "15 ──┴─┴─┴─┴─" in result.output and halving(16).digest in result.output
    assert (tmp_path / "sum.svg").read_text().startswith("<svg")


def test_the_command_prints_json() -> None:
    result = command("mm", "--shape", "2,300,2", "--element", "1,1", "--order", "blocked", "--json")
    values = json.loads(result.output)
    assert Tree.of(300, values["nodes"]) == contract("product", "blocked", 300)
    assert values["digest"] == contract("product", "blocked", 300).digest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["relu"], "sums nothing"),
        (["mm", "--shape", "a,b"], "--shape takes numbers"),
        (["mm", "--n", "5", "--shape", "2,3,2"], "give one of them"),
        (["mm", "--order", "upward"], "order"),
        (["mm", "--target", "abacus"], "abacus"),
        (["sum", "--n", "0"], "n must be at least 1"),
        (["sum", "--n", "100000000000000000000"], "n must be at most 1048576"),
        (["mm", "--dim", "1"], "mm takes no dim"),
        (["conv2d", "--dim", "-1"], "conv2d takes no dim"),
        (["batch_norm", "--sum", "median"], "choose one of mean, variance"),
        (["numpy.sum", "--threads", "2"], "OPENBLAS_NUM_THREADS"),
        (["torch.mm", "--target", "avx2"], "ATEN_CPU_CAPABILITY"),
        (["numpy.sum", "--target", "avx2"], "NPY_DISABLE_CPU_FEATURES"),
        (["json:loads"], "raises TypeError"),
        (["sum", "--svg", "no/such/sum.svg"], "there is no folder"),
        (["sum", "--svg", "."], "directory"),
    ],
)
def test_the_command_says_what_is_wrong(arguments: list[str], message: str) -> None:
    result = command(*arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_the_command_tells_what_is_no_sum_by_its_status() -> None:
    result = command("numpy:max")
    assert result.exit_code == 1
    assert "no plain sum" in result.output


def test_the_command_finds_a_module_in_the_folder_it_is_called_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sums_of_mine.py").write_text("def add(terms):\n    return (terms[0] + terms[1]) + terms[2]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    result = command("sums_of_mine:add", "--n", "3")
    assert result.exit_code == 0, result.output
    assert chain(3).digest in result.output


@pytest.mark.skipif("avx2" not in TARGETS, reason="torch's target avx2 needs it")
def test_the_command_sets_the_target_of_torch() -> None:
    code = "import sys; from repdl.cli import main; sys.argv[0] = 'repdl'; main()"
    of = {
        target: run_python(code, "reveal", "torch.softmax", "--n", "64", "--target", target, "--threads", "1", "--json")
        for target in ("default", "avx2")
    }
    assert "chain of 64 terms" not in of["avx2"]
    assert json.loads(of["avx2"])["summary"].startswith("8 lanes")


def test_the_function_takes_the_place_of_its_package() -> None:
    code = "import repdl.reveal.fold, repdl; print(repdl.reveal(lambda x: x.sum(), 3).nodes)"
    assert run_python(code).strip() == "((0, 1), (3, 2))"


def test_the_record_has_one_order_of_ours_for_each_case() -> None:
    record = json.loads((ROOT / "docs/reveal.json").read_text(encoding="utf-8"))
    digests: dict[str, set[str]] = {}
    for setting in record["settings"]:
        if setting["whose"] == "ours":
            for name, found in setting["cases"].items():
                digests.setdefault(name, set()).add(found["digest"])
    assert digests.pop("sum") == digests.pop("softmax") == {contract("sum", "blocked", 100).digest}
    assert digests.pop("mm") == digests.pop("small-mm") == {contract("product", "blocked", 512).digest}
    assert digests.pop("linear") == digests.pop("linear-batch") == {contract("product", "blocked", 1000).digest}
    assert digests.pop("conv2d") == {contract("product", "blocked", 288).digest}
    assert digests.pop("conv2d-weight") == {contract("product", "blocked", 784).digest}
    assert len(digests.pop("long-sum")) == 1 and not digests
