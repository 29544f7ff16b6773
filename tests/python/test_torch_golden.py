# SPDX-License-Identifier: MIT
"""The golden lines of torch's ops: they pass here and with torch's other instruction sets; a wrong kernel is found."""

from __future__ import annotations

import importlib
import json
import sys
import tomllib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import repdl.interception.exact as exact
import torch_golden_elsewhere
from repdl import _core
from repdl._op import registry
from repdl.cli.main import app
from repdl.conformance import digests
from repdl.conformance.report import Report
from repdl.conformance.torch_case import FLOATS, INTEGERS, PARTS, float8_values, read_torch_case
from repdl.conformance.torch_golden import TORCH_GOLDEN, as_read, run_torch_golden, sparse_of, tensor_of
from repdl.interception.machine import CAPABILITY
from repdl.interception.native import is_there, native_of
from repdl.interception.override import (
    ForComplex,
    Kernel,
    composites,
    composites_on_devices,
    kernels_on_devices,
    layouts,
    overrides,
)
from repdl.interception.registration import register
from repdl.interception.variants import variants
from support import CAPABILITIES, ROOT, run_with_capability

SHARES = 6
"""Into which all lines are cut, to run side by side."""


def failures(report: Report) -> list[str]:
    return [f"{failure.case}: {failure.detail}" for failure in report.failures]


@pytest.mark.parametrize("part", range(SHARES))
def test_every_line_passes(part: int) -> None:
    report = run_torch_golden(sorted(path.stem for path in TORCH_GOLDEN.glob("*.txt"))[part::SHARES])
    assert failures(report) == []
    without_kernel = {result.case for result in report.results if result.status == "no kernel"}
    assert not [case for case in without_kernel if is_there(case.removeprefix("aten::").partition("(")[0])]


@pytest.mark.parametrize("capability", [name for name in CAPABILITIES if name != CAPABILITY])
def test_every_line_passes_with_other_instruction_sets(capability: str) -> None:
    found = json.loads(run_with_capability(capability, torch_golden_elsewhere.__file__, "1", timeout=600))
    assert found["failures"] == [], found["capability"]
    assert found["passed"] > 0


def line_with(op: str, text: str) -> str:
    return next(line for line in (TORCH_GOLDEN / f"{op}.txt").read_text().splitlines() if text in line)


@pytest.mark.parametrize(
    ("is_wrong", "form"),
    [
        (lambda x: torch.get_num_threads() == 2, "2 threads, operands packed"),
        (lambda x: x.stride(-1) == 2, "1 threads, operands stepped"),
        (lambda x: x.data_ptr() % 16 != 0, "1 threads, operands misaligned"),
        (lambda x: x.dim() == 3 and x.stride(0) == 1, "1 threads, operands reversed"),
    ],
)
def test_a_wrong_kernel_is_found(tmp_path: Path, is_wrong: Any, form: str) -> None:
    """One that has the other sign of zero in its last elements, in some layout or with some threads alone."""
    (tmp_path / "hardshrink.txt").write_text(line_with("hardshrink", "zeros[5, 7, 3]#4") + "\n")
    right = native_of("hardshrink")

    def wrong(self: torch.Tensor, lambd: Any = 0.5) -> torch.Tensor:
        result = right(self, lambd).contiguous()
        if is_wrong(self):
            result.view(-1)[-2:] = -0.0
        return result

    assert run_torch_golden(golden=tmp_path).passed
    library = register({"CPU": {"hardshrink": wrong}})
    try:
        report = run_torch_golden(golden=tmp_path)
    finally:
        library._destroy()
    (failure,) = failures(report)
    assert f"{form}: the first difference is among elements 10" in failure
    assert run_torch_golden(golden=tmp_path).passed


def test_a_form_that_is_wrong_is_found(tmp_path: Path) -> None:
    """In place alone."""
    (tmp_path / "floor.txt").write_text(line_with("floor", "self=ties[67]#3") + "\n")
    library = register({"CPU": {"floor_": lambda self: self}})
    try:
        (failure,) = failures(run_torch_golden(golden=tmp_path))
    finally:
        library._destroy()
    assert "floor_: the first difference" in failure


def test_an_op_that_torch_does_not_have_has_no_kernel(tmp_path: Path) -> None:
    line = line_with("floor", "self=ties[67]#3").replace("aten::floor", "aten::floor.of_tomorrow")
    (tmp_path / "floor.txt").write_text(line + "\n")
    assert [result.status for result in run_torch_golden(golden=tmp_path).results] == ["no kernel"]


def test_an_op_that_raises_fails_by_name(tmp_path: Path) -> None:
    line = line_with("floor", "self=ties[67]#3").replace("aten::floor(self", "aten::floor(other")
    (tmp_path / "floor.txt").write_text(line + "\n")
    (failure,) = failures(run_torch_golden(golden=tmp_path))
    assert "TypeError" in failure or "RuntimeError" in failure


FLOAT8 = {"float8_e4m3fn", "float8_e5m2"}


@pytest.mark.parametrize("dtype", sorted(FLOAT8))
def test_generators_of_float8(dtype: str) -> None:
    every = torch.arange(256, dtype=torch.uint8).view(getattr(torch, dtype)).float()
    assert torch.equal(torch.tensor(float8_values(dtype)).nan_to_num(1e9), every.nan_to_num(1e9))
    ties, finite, some = (made(f"{name}.{dtype}[50, 40]#1").float() for name in ("ties", "finite", "bits"))
    assert set(ties.flatten().tolist()) == {i / 2 for i in range(-8, 9)}
    assert finite.isfinite().all() and len(finite.unique()) == 223
    assert some.isnan().any()
    with pytest.raises(ValueError, match="generator of float8"):
        made("finite[3]#1")


@pytest.mark.parametrize("dtype", [dtype for dtype in (*FLOATS, *INTEGERS) if dtype not in FLOAT8])
def test_generators_give_the_bits_that_the_core_gives(dtype: str) -> None:
    generator = "bits" if dtype in FLOATS else "classes100"
    text = read_torch_case(f"aten::neg(self={generator}.{dtype}[7, 5]#3)").arguments["self"]
    of_core = f".{dtype}" if dtype in FLOATS and dtype != "float32" else ""
    _, arguments = _core.read_case(f"relu(input={generator}{of_core}[7, 5]#3)")
    tensor = tensor_of(text)
    assert tensor.shape == (7, 5)
    assert str(tensor.dtype) == f"torch.{dtype}"
    if dtype not in FLOATS:
        assert np.array_equal(tensor.numpy(), arguments["input"].astype(dtype))
    else:
        assert tensor.view(torch.uint8).numpy().tobytes() == arguments["input"].tobytes()


def made(text: str) -> torch.Tensor:
    return tensor_of(read_torch_case(f"aten::neg(self={text})").arguments["self"])


@pytest.mark.parametrize(("dtype", "parts"), PARTS.items())
def test_complex_numbers_have_the_parts_of_pairs(dtype: str, parts: str) -> None:
    text = "" if parts == "float32" else f".{parts}"
    assert torch.equal(torch.view_as_real(made(f"wide.{dtype}[3, 4]#5")), made(f"wide{text}[3, 4, 2]#5"))
    turned = made(f"wide.{dtype}[2, 3, 4]#5.mT")
    assert turned.is_contiguous()
    assert torch.equal(turned, made(f"wide.{dtype}[2, 3, 4]#5").mT)


def test_matrices_have_large_diagonals() -> None:
    assert (made("dominant[2, 3, 5]#1").diagonal(dim1=1, dim2=2) >= 5).all()
    pairs = made("dominant_pairs.complex64[3, 3]#1")
    assert (pairs.diagonal().real >= 3).all()
    assert (pairs.real.triu(1).abs() < 3).all()


def test_sizes_fall_and_zeros_have_both_signs() -> None:
    assert made("falling.int64[5]#0").tolist() == [3, 2, 2, 1, 1]
    assert made("signed[50]#1").signbit().unique().tolist() == [False, True]
    assert not made("signed[50]#1").any()


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_sparse_tensors_have_the_elements_that_the_text_says() -> None:
    places = "values=normal[6]#1, indices=[classes2[6]#2, classes3[6]#3], size=[2, 3]"
    coo, csr = (
        sparse_of(read_torch_case(f"aten::neg(self={kind}({places}))").arguments["self"]) for kind in ("coo", "csr")
    )
    values, rows, columns = (made(text).tolist() for text in ("normal[6]#1", "classes2[6]#2", "classes3[6]#3"))
    assert coo._indices().tolist() == [rows, columns]
    assert coo._values().tolist() == values
    expected = torch.zeros(2, 3)
    for row, column, value in reversed(list(zip(rows, columns, values, strict=True))):
        expected[row, column] = value
    assert csr._nnz() == len(set(zip(rows, columns, strict=True))) < 6  # some place comes twice
    assert torch.equal(csr.to_dense(), expected)


def test_results_are_read_as_the_words_say() -> None:
    words = "['left out', 'columns', 'int64', 'blocks', 'info', 'order']"
    case = read_torch_case(f"aten::neg(self=normal[2, 4, 3]#1, read={words})")
    pivots = torch.tensor([1, -3, -3, 4, -6, -6], dtype=torch.int32)
    results = [torch.ones(9), torch.arange(6).reshape(2, 3), torch.arange(2, dtype=torch.int32), pivots]
    assert [t.tolist() for t in as_read(results, case)] == [
        [[0, 3], [1, 4], [2, 5]],
        [0, 1],
        [1, 9, 0, 4, 12, 0],
        [0, 0],
        [[0, 1, 2], [0, 1, 2]],
    ]
    assert all(t.dtype == torch.int64 for t in as_read(results, case))


def test_digest_and_marks_are_those_of_the_core() -> None:
    """Of results whose blocks end in the midst of one."""
    for expected, marks, case in _core.read_golden(str(TORCH_GOLDEN.parent / "philox_bits.txt")):
        name, arguments = _core.read_case(case)
        registry[name](**arguments)
        results = [digests.with_one_nan(arguments["tensor"], "int64")]
        assert (digests.digest(results), digests.marks(results)) == (expected, marks)
        middle = results[0].size // 3
        parts = [results[0].reshape(-1)[:middle], results[0].reshape(-1)[middle:]]
        assert (digests.digest(parts), digests.marks(parts)) == (expected, marks)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mul(self=normal[3]#1)", "not `aten::name"),
        ("aten::mul(self=normal.float8[3]#1)", "no dtype 'float8'"),
        ("aten::mul(self=__import__('os'))", "not a value"),
        ("aten::mul(normal[3]#1)", "every argument needs its name"),
        ("aten::mul(self=normal[3]#1,,)", "invalid syntax"),
    ],
)
def test_what_is_no_case_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"case `(aten::)?mul") as error:
        read_torch_case(text)
    assert message in str(error.value)


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["conformance", "--torch", "--lines", *arguments], env={"COLUMNS": "200"})


def test_the_command_says_what_ran() -> None:
    result = call("--op", "floor", "--op", "mul", "--threads", "1")
    assert result.exit_code == 0, result.output
    assert f"torch {torch.__version__}" in result.output
    assert "Every digest is the golden one." in result.output


def test_the_command_names_a_failure(tmp_path: Path) -> None:
    digest, rest = line_with("mul", "self=special[203]#1").split("  ", 1)
    (tmp_path / "mul.txt").write_text(f"{'0' if digest[0] != '0' else '1'}{digest[1:]}  {rest}\n")
    result = call("--golden", str(tmp_path))
    assert result.exit_code == 1
    assert "1 of 1 cases failed." in result.output
    assert "1 threads, operands packed: the marks are equal" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--op", "flor"], "did you mean"),
        (["--target", "scalar"], "leave out --target"),
    ],
)
def test_the_command_refuses(arguments: list[str], message: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


# Of what torch's own kernels compute by themselves, that which has no golden line, and why.
WITHOUT_LINES = {
    "asserts; gives no number": "_assert_async _assert_scalar _assert_tensor_metadata _functional_assert_async "
    "_functional_assert_scalar",
    "the inside of cummax and cummin": "_cummax_helper _cummin_helper",
    "no reference; test_exact_ops compares layouts and threads": "fractional_max_pool2d fractional_max_pool3d "
    "unique_dim_consecutive hash_tensor",
}


def test_every_exact_op_has_golden_lines() -> None:
    """Those that compute. An in-place form, and a foreach form of one operand, are run with the op itself."""
    groups = tomllib.loads(Path(exact.__file__).with_name("exact.toml").read_text())
    exact_ops = {op.partition(".")[0] for g in ("selects", "rounds", "in_order") for op in groups[g]["ops"].split()}
    there = {path.stem for path in TORCH_GOLDEN.glob("*.txt")}
    there |= {f"{op}_" for op in there} | {op.removesuffix("_") for op in there} | {"__ilshift__", "__irshift__"}
    assert exact_ops - there == {op for ops in WITHOUT_LINES.values() for op in ops.split()}


# Of what is ours, that which has no golden line, by the dispatch key, if it is not that of dense tensors, and why.
WITHOUT_LINES_OF_OURS = {
    "reads memory as it lies, whatever the tensor; test_index_sums has it": "as_strided_scatter",
    "made of _fft_r2c and _fft_c2c, which have lines; test_fourier has its `out`": "fft_ihfft2.out fft_ihfftn.out",
    "takes blocks in LAPACK's words, which those of the core cannot all be put into; test_ldl": "linalg_ldl_solve",
    "made of eigenvalues or singular values and products, which have lines; test_linalg": "linalg_matrix_sqrth "
    "linalg_pinv.atol_rtol_tensor linalg_polar",
    "that of COO tensors, of values or as of matrices, which have lines; test_sparse_compressed": "SparseCPU:bmm "
    "SparseCsrCPU:add.Tensor SparseCsrCPU:sum",
    "_sparse_csr_sum, which has lines": "SparseCsrCPU:sum.dim_IntList",
    "the inside of cummax and cummin": "_cummax_helper _cummin_helper",
    "torch's own but where its gradient is recorded, which no line does; test_products": "cumprod_backward",
    "the composites of devices, of ops that have lines; tests/cuda/torch": "dropout gru_cell lstm_cell",
    "torch's own on the CPU, without a line; tests/cuda/torch has that of devices": "round.decimals "
    "scatter.value_reduce unique_dim_consecutive",
}

_KINDS_OF_TENSORS = {"SparseCPU": "coo(", "SparseCsrCPU": "csr(", "QuantizedCPU": "quantized("}
"""By the dispatch key of a kernel, what a case of it has."""


def _with_lines(text: str) -> set[str]:
    """The overloads of lines that have a text, and of those that write into a tensor, which run with them."""
    found = set()
    for path in TORCH_GOLDEN.glob("*.txt"):
        for line in path.read_text().splitlines():
            if "  aten::" in line and text in line:
                found.add(line.partition("  aten::")[2].partition("(")[0])
    return found | {name for overload in found for name, *_ in variants(overload)}


def _ours() -> Iterator[tuple[str, str]]:
    """Everything that is ours, and what a golden line of it has; but what stands below torch.func alone, which gives no
    call of an overload, and which test_vmap and test_torch_func have."""
    dense: list[dict[str, Kernel]] = [composites, composites_on_devices, kernels_on_devices]
    for table in (overrides, *dense):
        for name in table:
            yield name, "("
    yield from ((name, "complex") for name, override in overrides.items() if isinstance(override, ForComplex))
    for key, kernels in layouts.items():
        for name in kernels:
            yield f"{key}:{name}", _KINDS_OF_TENSORS[key]


def test_every_override_has_golden_lines_or_a_reason() -> None:
    """A new one needs either."""
    with_lines = {text: _with_lines(text) for text in {text for _, text in _ours()}}
    without = {name for name, text in _ours() if name.rpartition(":")[2] not in with_lines[text]}
    assert without == {name for names in WITHOUT_LINES_OF_OURS.values() for name in names.split()}


def test_the_reference_gives_the_golden_files() -> None:
    """Of a few ops, in seconds; `make golden` makes all."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        reference = importlib.import_module("aten_reference")
    finally:
        sys.path.pop(0)
    reference.load()
    ops = ("kthvalue", "mv", "_fused_sgd_", "segment_reduce", "bitwise_not", "erf", "_coalesce", "linalg_det", "geqrf")
    for op, lines in reference.golden_lines(ops).items():
        assert [line for line in (TORCH_GOLDEN / f"{op}.txt").read_text().splitlines() if line[0] != "#"] == lines


@pytest.mark.parametrize("module", ["numbers", "sums"])
def test_steps_of_the_reference_are_exact(module: str) -> None:
    """Against fractions: fma and rounding of hard sums."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        numbers = importlib.import_module("aten_reference.numbers")
        sums = importlib.import_module("aten_reference.sums")
    finally:
        sys.path.pop(0)
    bits = read_torch_case("aten::neg(self=bits[3000]#5)").arguments["self"]
    values = [float(x) for x in tensor_of(bits).tolist() if abs(x) < float("inf")]
    if module == "sums":
        terms = values[:300]
        total = 0.0
        for x in terms:
            total = (
                numbers.nearest(Fraction(total) + Fraction(x), "float32") if abs(total) < float("inf") else total + x
            )
        assert sums.in_order(terms) == total or total != total
        return
    for a, b, c in zip(values, values[1:], values[2:], strict=False):
        exact_value = Fraction(a) * Fraction(b) + Fraction(c)
        if exact_value:
            assert numbers.fma(a, b, c) == numbers.nearest(exact_value, "float32")
            near = float(numbers.float32(-(a * b)))  # a difference that cancels
            if abs(near) < float("inf") and Fraction(a) * Fraction(b) + Fraction(near):
                want = numbers.nearest(Fraction(a) * Fraction(b) + Fraction(near), "float32")
                assert numbers.fma(a, b, near) == want
        for dtype in ("float32", "bfloat16", "float16"):
            assert numbers.ROUND[dtype](a) == numbers.nearest(Fraction(a), dtype)
