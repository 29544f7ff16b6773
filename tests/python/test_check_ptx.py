# SPDX-License-Identifier: MIT
"""The check of the CUDA kernels' code sees what it must."""

from __future__ import annotations

import sys

import pytest

from support import ROOT

sys.path.append(str(ROOT / "tests/cuda"))
from check_ptx import findings, lane_functions


def kernel(function: str, *body: str) -> str:
    name = f"_ZN5repdl4cuda9MapKernelILi1ENS0_{len(function) + 4}{function}LaneEEEvNS_7MapArgsE"
    lines = "".join(f"\t{line};\n" for line in (".reg .f32 \t%f<3>", *body, "ret"))
    return f".visible .entry {name}(\n\t.param .align 8 .b8 {name}_param_0[232]\n)\n{{\n{lines}}}\n"


def test_exact_code_passes() -> None:
    body = (
        "@%p1 bra \t$L__BB0_2",
        "ld.global.f32 \t%f1, [%rd1]",
        "sqrt.rn.f32 \t%f2, %f1",
        "st.global.f32 \t[%rd1], %f2",
    )
    assert list(findings(kernel("Sqrt", *body))) == []
    assert list(findings(kernel("Exp", "fma.rn.f64 \t%fd1, %fd2, %fd3, %fd4", "cvt.rn.f32.f64 \t%f1, %fd1"))) == []


@pytest.mark.parametrize(
    "instruction",
    [
        "add.f32 \t%f1, %f1, %f2",  # may be fused later
        "add.rn.ftz.f32 \t%f1, %f1, %f2",
        "add.rz.f32 \t%f1, %f1, %f2",
        "mul.rn.sat.f32 \t%f1, %f1, %f2",
        "div.approx.f32 \t%f1, %f1, %f2",
        "div.full.f32 \t%f1, %f1, %f2",
        "sqrt.approx.f32 \t%f1, %f1",
        "rcp.approx.ftz.f64 \t%fd1, %fd2",
        "ex2.approx.ftz.f32 \t%f1, %f2",
        "cvt.ftz.f64.f32 \t%fd1, %f1",
        "setp.lt.ftz.f32 \t%p1, %f1, %f2",
        "@%p3 fma.rn.ftz.f32 \t%f1, %f1, %f2, %f3",
        "red.global.add.f32 \t[%rd1], %f1",
        "atom.global.add.u32 \t%r1, [%rd1], 1",
        "call.uni (retval0), __internal_accurate_pow, (param0)",
    ],
)
def test_other_code_is_found(instruction: str) -> None:
    found = list(findings(kernel("Sqrt", "sqrt.rn.f32 \t%f1, %f2", instruction)))
    assert len(found) == (2 if "fma" in instruction else 1), found


def test_an_fma_stands_exactly_where_the_lane_text_has_one() -> None:
    assert lane_functions()["Exp"]
    assert lane_functions()["Gelu"]  # whose text names what has one as arguments of a template
    assert not lane_functions()["Div"]
    assert len(list(findings(kernel("Div", "fma.rn.f32 \t%f1, %f1, %f2, %f3")))) == 1
    assert len(list(findings(kernel("Exp", "mul.rn.f64 \t%fd1, %fd1, %fd2")))) == 1


def test_an_fma_may_stand_in_a_function_that_is_called() -> None:
    head = ".func  (.param .b64 retval0) {}(\n\t.param .b64 p0\n)\n{{\n"
    inner = head.format("inner") + "\tfma.rn.f64 \t%fd1, %fd2, %fd3, %fd4;\n\tret;\n}\n"
    outer = head.format("outer") + "\t{ call.uni (retval0),\n\tinner,\n\t(p0);\n\tret;\n}\n"
    call = "{ call.uni (retval0),\n\touter,\n\t(param0)"
    assert list(findings(inner + outer + kernel("Exp", call))) == []
    assert len(list(findings(inner + outer + kernel("Div", call)))) == 1


def test_a_file_of_something_else_is_found() -> None:
    assert list(findings("")) == ["no function: is this PTX?"]
