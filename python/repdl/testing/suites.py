# SPDX-License-Identifier: MIT
"""What holds of every op, from its declaration; `repdl.testing` says how to run it.

A test file takes them by `from repdl.testing.suites import *`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from torch.autograd import forward_ad

import repdl
from repdl import _core, _torch
from repdl._op import Op, registry
from repdl.conformance.layouts import LAYOUTS
from repdl.testing import Reference, each_op
from repdl.testing.calls import digest, golden_lines, has_bfloat16, results_of, same_bits, to_numpy, to_torch
from repdl.testing.case_texts import numel, sizes_of, with_generators, with_sizes

AnyOp: TypeAlias = Op[..., Any]

TARGETS = _core.supported_targets()

# What tests of accuracy and gradients must know of an op, by its name. A test file adds its own.

DOMAIN: dict[str, tuple[float, float]] = {}
"""Where a function of one tensor and its gradient are neither NaN nor huge; samples are moved there."""

AWAY_FROM_ZERO: set[str] = set()
"""Ops whose operands are moved away from zero."""

CONSTANT: dict[str, set[str]] = {}
"""Arguments by which an op has no gradient."""

HAS_NUMBERS: dict[str, Callable[[dict[str, Any]], bool]] = {}
"""Whether the result of a call has numbers that can be compared."""


@each_op()
def test_numpy_arrays_give_the_golden_digests(op: AnyOp) -> None:
    for expected, text in golden_lines(op.name):
        _, arguments = _core.read_case(text)
        if has_bfloat16(arguments):
            continue
        results = results_of(op, arguments)
        assert all(isinstance(r, np.ndarray) for r in results)
        assert digest(results) == expected, text


@each_op()
def test_torch_tensors_give_the_golden_digests(op: AnyOp) -> None:
    for expected, text in golden_lines(op.name):
        _, arguments = _core.read_case(text)
        results = results_of(op, to_torch(arguments))
        assert digest([to_numpy(r) for r in results]) == expected, text


@each_op()
def test_golden_files_hold_the_declared_samples(op: AnyOp) -> None:
    assert op.make_samples is not None
    declared = len(list(op.make_samples())) * (2 if op.takes_order else 1)
    assert len(golden_lines(op.name)) == declared, "make the golden file anew"


@each_op()
def test_golden_files_have_every_dtype(op: AnyOp) -> None:
    """In each order, since `Op.cases` writes every sample in both."""
    texts = [text for _, text in golden_lines(op.name)]
    arrays = [v for text in texts for v in _core.read_case(text)[1].values() if isinstance(v, np.ndarray)]
    found = {"bfloat16" if array.dtype == np.uint16 else str(array.dtype) for array in arrays}
    assert not set(_core.dtypes[op.name]) - found, "declare samples of these, and make the golden file anew"


@each_op()
def test_every_target_gives_the_golden_digests(op: AnyOp) -> None:
    for expected, text in golden_lines(op.name):
        for target in TARGETS:
            for threads in (1, 2, 3, 7):
                assert _core.run_case(text, target, threads) == expected, f"{text} on {target}, {threads} threads"


@each_op(lambda op: not op.mutates)
def test_every_layout_gives_the_golden_digests(op: AnyOp) -> None:
    for expected, text in golden_lines(op.name):
        tensors = to_torch(_core.read_case(text)[1])
        for layout, change in LAYOUTS.items():
            changed = {k: change(v) if isinstance(v, torch.Tensor) else v for k, v in tensors.items()}
            results = [to_numpy(r) for r in results_of(op, changed)]
            assert digest(results) == expected, f"{text}, {layout}"


@each_op()
def test_the_reference_gives_the_golden_digests(op: AnyOp, reference_digests: Reference) -> None:
    lines = golden_lines(op.name)
    assert list(reference_digests([text for _, text in lines])) == [expected for expected, _ in lines]


def broadcast_rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    """The rows of an op that works element by element."""
    tensors = {k: v for k, v in arguments.items() if isinstance(v, np.ndarray)}
    shape = np.broadcast_shapes(*(v.shape for v in tensors.values()))
    if not shape:
        return None
    return {**arguments, **{k: np.broadcast_to(v, shape)[rows] for k, v in tensors.items()}}


def run(op: AnyOp, arguments: Mapping[str, Any]) -> list[np.ndarray[Any, Any]]:
    """The results from copies of the arguments, some of which the op may change."""
    own = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
    return [to_numpy(result) for result in results_of(op, to_torch(own))]


@each_op()
def test_rows_alone_give_the_bits_of_the_batch(op: AnyOp) -> None:
    take = op.take_rows or broadcast_rows
    checked = 0
    for _, text in golden_lines(op.name):
        _, arguments = _core.read_case(text)
        if sum(v.size for v in arguments.values() if isinstance(v, np.ndarray)) > 70_000:
            continue
        with_rows = take(arguments, slice(0, 1))
        if with_rows is None:
            continue
        for number, target in enumerate(TARGETS):
            _core.set_target(target)
            repdl.set_num_threads(number % 3 + 1)
            batch = run(op, take(arguments, slice(None)))  # type: ignore[arg-type]
            size = len(batch[0])
            for start, stop in {(0, 1), (size - 1, size), (size // 3, size // 3 + 1), (size // 2, size)}:
                if not 0 <= start < stop <= size:
                    continue
                alone = run(op, take(arguments, slice(start, stop)))  # type: ignore[arg-type]
                expected = [result[start:stop] for result in batch]
                assert digest(alone) == digest(expected), f"{text}, rows {start} to {stop}, {target}"
                checked += 1
    assert checked > 0 or not any(_has_rows(op)), "no row was tried"


def _has_rows(op: AnyOp) -> list[bool]:
    take = op.take_rows
    return [take is None or take(_core.read_case(t)[1], slice(0, 1)) is not None for _, t in golden_lines(op.name)]


EXTRAORDINARY = ("special", "bits", "sweep", "infinite", "zeros", "tiny", "wide", "float16", "nonnegative", "few")


def ordinary_calls(op: AnyOp, *, ordinary: bool = True, limit: int = 20000) -> Iterator[dict[str, Any]]:
    """The arguments of the samples of an op; ordinary ones hold no infinities, NaN or ties, and no wide range."""
    assert op.make_samples is not None
    for sample in op.make_samples():
        text = sample.text(op.name)
        if ordinary and any(kind in text for kind in EXTRAORDINARY):
            continue
        _, arguments = _core.read_case(text)
        if has_bfloat16(arguments):
            continue
        if all(v.size <= limit for v in arguments.values() if isinstance(v, np.ndarray)):
            yield moved_into_domain(op.name, arguments) if ordinary else arguments


def moved_into_domain(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name in DOMAIN:
        low, high = (np.float32(bound) for bound in DOMAIN[name])
        arguments["input"] = np.asarray(np.clip(arguments["input"], low, high))
    if name in AWAY_FROM_ZERO:
        for k, v in arguments.items():
            arguments[k] = np.where(np.abs(v) < 0.01, np.float32(0.01), v)
    return arguments


def has_numbers(op: AnyOp, arguments: dict[str, Any]) -> bool:
    """Something to compare."""
    if any(v.size == 0 for v in arguments.values() if isinstance(v, np.ndarray)):
        return False
    return op.name not in HAS_NUMBERS or HAS_NUMBERS[op.name](arguments)


def floats_of(op: AnyOp, arguments: dict[str, Any]) -> list[str]:
    """The arguments by which an op has gradients."""
    tensors = {k: v for k, v in arguments.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f"}
    return [k for k in tensors if k not in CONSTANT.get(op.name, set())]


@each_op(lambda op: op.compute_oracle is not None)
def test_results_are_accurate(op: AnyOp) -> None:
    assert op.compute_oracle is not None
    checked = 0
    for arguments in ordinary_calls(op):
        if not has_numbers(op, arguments):
            continue
        for order in ("blocked", "sequential") if op.takes_order else ("blocked",):
            with repdl.order(order):
                results = results_of(op, arguments | ({"order": None} if op.takes_order else {}))
            wide = {
                k: v.astype(np.float64) if getattr(v, "dtype", None) == np.float32 else v for k, v in arguments.items()
            }
            wide.pop("order", None)
            expected = op.compute_oracle(**wide)
            expected = expected if isinstance(expected, tuple) else (expected,)
            for got, want in zip(results, expected, strict=True):
                assert got.shape == np.shape(want)
                scale = np.abs(want)[np.isfinite(want)].max(initial=1e-30)
                rtol = 1e-12 if got.dtype == np.float64 else 2e-5
                np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol / 10 * scale, err_msg=str(order))
            checked += 1
    assert checked > 0


def slope(op: AnyOp, arguments: dict[str, Any], name: str, direction: Any, cotangents: Any) -> float:
    """Difference quotient of the oracle's outputs, summed with weights, as one argument moves in a direction."""
    assert op.compute_oracle is not None and op.gradient is not None
    oracle, without = op.compute_oracle, op.gradient.non_differentiable

    def weighted_sum(t: float) -> float:
        outputs = oracle(**(arguments | {name: arguments[name] + t * direction}))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        differentiable = [o for o, of in zip(outputs, op.outputs, strict=False) if of not in without]
        return float(sum((c * o).sum() for c, o in zip(cotangents, differentiable, strict=True)))

    h = 1e-6
    return (weighted_sum(h) - weighted_sum(-h)) / (2 * h)


@each_op(lambda op: op.gradient is not None and op.compute_oracle is not None)
def test_gradients_agree_with_differences_of_the_oracle(op: AnyOp) -> None:
    """Along random directions, in float64: a grad_fn alone proves nothing. test_nn.py has the others, against torch."""
    random = np.random.default_rng(0)
    checked = 0
    for arguments in ordinary_calls(op, limit=2000):
        floats = floats_of(op, arguments)
        if not has_numbers(op, arguments):
            continue
        tensors = to_torch(arguments)
        for k in floats:
            tensors[k].requires_grad_()
        outputs = op(**tensors)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        outputs = tuple(o for o in outputs if o.requires_grad)
        cotangents = [random.standard_normal(o.shape).astype(o.detach().numpy().dtype) for o in outputs]
        grads = torch.autograd.grad(outputs, [tensors[k] for k in floats], [torch.from_numpy(c) for c in cotangents])

        plain = {k: v.astype(np.float64) if k in floats else v for k, v in arguments.items() if k != "order"}
        for k, grad in zip(floats, grads, strict=True):
            direction = random.standard_normal(plain[k].shape)
            expected = slope(op, plain, k, direction, cotangents)
            got = float((grad.double().numpy() * direction).sum())
            scale = float(np.abs(grad.double().numpy() * direction).sum()) + 1e-3
            assert math.isclose(got, expected, rel_tol=1e-3, abs_tol=1e-3 * scale), (op.name, k, got, expected)
        checked += 1
    assert checked > 0


@each_op(lambda op: op.gradient is not None)
def test_registration_passes_opcheck(op: AnyOp) -> None:
    tests = ("test_schema", "test_autograd_registration", "test_faketensor")
    cases = [arguments for arguments in ordinary_calls(op, limit=2000) if has_numbers(op, arguments)]
    assert cases
    for number, arguments in enumerate(cases[:3]):
        tensors = to_torch(arguments)
        for k, value in tensors.items():
            if (
                isinstance(value, torch.Tensor)
                and value.dtype == torch.float32
                and k not in CONSTANT.get(op.name, set())
            ):
                value.requires_grad_()
        compiled = () if number else ("test_aot_dispatch_static",)  # takes ten times as long as the others
        torch.library.opcheck(
            _torch.torch_ops[op.name].dispatched, tuple(tensors.values()), test_utils=tests + compiled
        )


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch's own, of forward mode
@each_op(lambda op: op.gradient is not None)
def test_transforms_of_torch_func(op: AnyOp) -> None:
    """torch.func.grad gives the bits of backward; forward mode, which ops do not have, raises and loses no tangent."""
    cases = [arguments for arguments in ordinary_calls(op, limit=2000) if has_numbers(op, arguments)]
    assert cases
    for arguments in cases[:2]:
        tensors, names = to_torch(arguments), floats_of(op, arguments)
        operands = tuple(tensors[k] for k in names)
        loss = partial(weighted_loss, op, tensors, names)
        watched = tuple(t.clone().requires_grad_() for t in operands)
        expected = torch.autograd.grad(loss(*watched), watched, allow_unused=True, materialize_grads=True)
        got = torch.func.grad(loss, argnums=tuple(range(len(names))))(*operands)
        assert all(same_bits(a, b) for a, b in zip(got, expected, strict=True)), arguments
        with forward_ad.dual_level(), pytest.raises(NotImplementedError, match=rf"\[{op.name}\] .* forward mode"):
            loss(*(forward_ad.make_dual(t, torch.ones_like(t)) for t in operands))


def weighted_loss(op: AnyOp, tensors: dict[str, Any], names: list[str], *values: torch.Tensor) -> torch.Tensor:
    """A number that all outputs with gradients have a part in; `values` take the places of the tensors named."""
    assert op.gradient is not None
    outputs = op(**(tensors | dict(zip(names, values, strict=True))))
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    parts = [
        (output * torch.arange(1, output.numel() + 1, dtype=output.dtype).reshape(output.shape)).sum()
        for name, output in zip(op.outputs, outputs, strict=True)
        if name not in op.gradient.non_differentiable
    ]
    return torch.stack(parts).sum()


@each_op()
def test_shapes_are_known_without_data(op: AnyOp) -> None:
    for count, arguments in enumerate(ordinary_calls(op, ordinary=False)):
        if count == 10:
            break
        results = results_of(op, arguments)
        inferred = _core.infer(op.name, *arguments.values())
        returned = results[len(results) - len(inferred) :]
        assert [(str(r.dtype), r.shape) for r in returned] == [(d, tuple(s)) for d, s in inferred]


BOUNDARIES = [
    0, 1, 2, 3, 5, 7, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 131, 255, 256, 257, 509, 511, 512, 513, 769, 1021,
]  # fmt: skip
"""Around vectors, tiles, lanes and chunks, and primes."""

LONG = [4093, 4095, 4096, 4097, 8191, 8193, 12289]
"""Around the chunk of a sum."""

KINDS = ["uniform", "normal", "wide", "tiny", "positive", "unit", "bits", "special", "infinite", "zeros", "nonnegative"]
LIMIT = 15_000
"""Numbers in the arguments of a call."""

MOST_RESULTS = 200_000
"""Of a call: distances of thousands of rows from each other would take half a minute of the reference."""

EXAMPLES = int(os.environ.get("REPDL_EXAMPLES", "0"))
"""Random calls of each op; without it 20 which are always the same."""


def library_digest(case: str) -> str | None:
    """None if the library refuses the case, with an error that names the op, or it is too large, or there is none."""
    try:
        name, arguments = _core.read_case(case)
    except ValueError:
        return None  # classes0[…]
    try:
        results = results_of(registry[name], to_torch(arguments))
    except (ValueError, TypeError) as error:
        if f"[{name}]" not in str(error):
            raise
        return None
    if sum(result.numel() for result in results) > MOST_RESULTS:
        return None
    return digest([to_numpy(result) for result in results])


def check(cases: list[str], reference_digests: Reference) -> int:
    """Compares what the library takes with the reference, on each target. Returns how many there were."""
    accepted: list[str] = []
    expected: dict[str, str | None] = {}
    for number, target in enumerate(TARGETS):
        _core.set_target(target)
        repdl.set_num_threads((1, 3, 2, 7)[number % 4])
        found = {case: library_digest(case) for case in (accepted if number else cases)}
        if number == 0:
            accepted = [case for case in cases if found[case] is not None]
            expected = dict(zip(accepted, reference_digests(accepted), strict=True))
        for case in accepted:
            assert found[case] == expected[case], f"{case} on {target}"
    return len(accepted)


def samples(name: str) -> list[str]:
    return [text for _, text in golden_lines(name) if numel(text) <= LIMIT]


@each_op()
def test_sizes_around_every_boundary(op: AnyOp, reference_digests: Reference) -> None:
    """Each size of two samples in turn, in each order, through all boundaries."""
    all_samples = samples(op.name)
    boundaries = [*BOUNDARIES, *LONG] if op.takes_order else BOUNDARIES
    cases = set()
    for text in all_samples[: 2 if op.takes_order else 1] + all_samples[-1:]:
        for size in sizes_of(text):
            cases |= {with_sizes(text, {size: n}) for n in boundaries}
    chosen = sorted(case for case in cases if numel(case) <= LIMIT)
    assert check(chosen, reference_digests) >= len(BOUNDARIES) // 3, "hardly any case was valid"


@st.composite
def random_calls(draw: Any, name: str) -> str:
    case = draw(st.sampled_from(samples(name)))
    changed = draw(st.lists(st.sampled_from(sizes_of(case) or [1]), max_size=3, unique=True))
    number = st.one_of(st.sampled_from(BOUNDARIES), st.integers(0, 300))
    case = with_sizes(case, {size: draw(number) for size in changed})
    assume(numel(case) <= 2000)
    kinds = draw(st.lists(st.sampled_from([*KINDS, ""]), min_size=1, max_size=3))
    dtypes = draw(st.sampled_from([[], [""], [".bfloat16"], [".float16"], [".bfloat16", ""], [".float64"]]))
    return with_generators(case, kinds, dtypes, draw(st.integers(0, 999)))


@each_op()
def test_any_call(op: AnyOp, reference_digests: Reference) -> None:
    valid = 0

    @settings(
        max_examples=EXAMPLES or 20, derandomize=not EXAMPLES, deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=random_calls(op.name))
    def compare(case: str) -> None:
        nonlocal valid
        valid += check([case], reference_digests)

    compare()
    assert valid >= 4, "hardly any call was valid"


__all__ = [name for name in dir() if name.startswith("test_")]
