# SPDX-License-Identifier: MIT
"""tools/lint_numerics.py: the tree is clean, and every rule fires where it should and nowhere else."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from support import ROOT

PROGRAM = ROOT / "tools/lint_numerics.py"
_spec = importlib.util.spec_from_file_location("lint_numerics", PROGRAM)
assert _spec is not None and _spec.loader is not None
lint = importlib.util.module_from_spec(_spec)
sys.modules["lint_numerics"] = lint
_spec.loader.exec_module(lint)

KERNEL = "src/ops/gelu/gelu_cpu.cc"
HOST = "src/ops/gelu/gelu.cc"
LANE = "src/numerics/gelu.lane.h"
CUDA = "src/ops/gelu/gelu_cuda.cu"
WORDS = "src/numerics/lanes/scalar.h"
HIGHWAY = "src/numerics/lanes/highway-inl.h"

BAD = [
    ("libm", LANE, "y = std::exp(x);"),
    ("libm", KERNEL, "float y = expf(x);"),
    ("libm", HOST, "double y = ::pow(x, 2);"),
    ("libm", HOST, "std::transform(a, b, c, std::tanh<float>);"),
    ("libm", KERNEL, "return __builtin_fmaf(a, b, c);"),
    ("libm", HOST, "double y = std::fma(a, b, c);"),
    ("sqrt", KERNEL, "y = std::sqrt(x);"),
    ("sqrt", LANE, "y = sqrtf(x);"),
    ("fused", KERNEL, "acc = hn::MulAdd(a, b, acc);"),
    ("fused", KERNEL, "acc = NegMulSub(a, b, acc);"),
    ("fused", HIGHWAY, "return hn::MulAdd(a, b, c);"),
    ("horizontal", KERNEL, "return hn::ReduceSum(d, v);"),
    ("horizontal", KERNEL, "v = SumOfLanes(d, v);"),
    ("horizontal", KERNEL, "v = hn::SumsOf4(v);"),
    ("approximate", KERNEL, "y = hn::ApproximateReciprocalSqrt(x);"),
    ("approximate", CUDA, "y = rsqrtf(x);"),
    ("intrinsic", KERNEL, "y = _mm512_fmadd_ps(a, b, c);"),
    ("intrinsic", KERNEL, "y = vfmaq_f32(c, a, b);"),
    ("CUDA intrinsic", CUDA, "y = __fmaf_rn(a, b, c);"),
    ("CUDA intrinsic", CUDA, "y = __fmul_rz(a, b);"),
    ("CUDA intrinsic", CUDA, "y = __expf(x);"),
    ("atomic", KERNEL, "std::atomic<float> total;"),
    ("atomic", KERNEL, "std::atomic_ref<double> total(x);"),
    ("atomic", CUDA, "atomicAdd(&total, x);"),
    ("library sum", HOST, "return std::accumulate(x, x + n, 0.0f);"),
    ("library sum", KERNEL, "return std::reduce(std::execution::par, x, x + n);"),
    ("type", HOST, "long  double x = 0;"),
    ("type", KERNEL, "_Float16 x;"),
    ("pragma", KERNEL, "#pragma STDC FP_CONTRACT ON"),
    ("pragma", KERNEL, "#pragma omp parallel for reduction(+ : sum)"),
    ("pragma", KERNEL, '#pragma GCC optimize("fast-math")'),
    ("pragma", KERNEL, '__attribute__((optimize("fast-math"))) void F();'),
    ("environment", HOST, "_MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);"),
    ("environment", HOST, "std::fesetround(FE_UPWARD);"),
    ("include", KERNEL, '#include "hwy/contrib/math/math-inl.h"'),
    ("include", CUDA, "#include <cublas_v2.h>"),
    ("flags", "CMakeLists.txt", "target_compile_options(repdl PRIVATE -ffast-math)"),
    ("flags", "src/CMakeLists.txt", "set(CMAKE_CXX_FLAGS -march=native)"),
    ("flags", "cmake/library.cmake", "add_compile_options(-ffp-contract=fast)"),
    ("flags", "CMakePresets.json", '"CMAKE_CUDA_FLAGS": "--use_fast_math"'),
]

GOOD = [
    (WORDS, "float Fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }"),
    (WORDS, "float Fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }"),
    (HIGHWAY, "return hn::MulAdd(a, b, c);  // lint: allowed here, where it is known to be fused"),
    (HOST, "const double s = std::sqrt(1.0 - x);  // IEEE-754 rounds it once everywhere"),
    (KERNEL, "y = Exp(x);  // not std::exp(x)"),
    (KERNEL, "/* std::exp(x),\n   hn::ReduceSum(d, x) */ y = Exp(x);"),
    (KERNEL, 'Check("std::exp(x) \\" expf(x)");'),
    (KERNEL, "y = table.exp(x) + mine::log(x) + SumOf(x) + expansion(x);"),
    (KERNEL, "const int n = 1'000'000;  std::atomic<int64_t> next;"),
    (KERNEL, "#pragma GCC unroll 8"),
    (KERNEL, "return Fma(a, b, Sqrt(c));"),
    ("cmake/library.cmake", "add_compile_options(-fno-fast-math)  # never -ffast-math"),
]


def test_the_tree_is_clean() -> None:
    result = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("rule", "path", "code"), BAD)
def test_a_rule_fires(rule: str, path: str, code: str) -> None:
    comment = "#" if rule == "flags" else "//"
    found = list(lint.findings(path, f"{comment} first line\n\n{code}\n"))
    assert [line.split(": ")[:2] for line in found] == [[f"{path}:3", rule]], found


@pytest.mark.parametrize(("path", "code"), GOOD)
def test_what_is_allowed_passes(path: str, code: str) -> None:
    assert list(lint.findings(path, code)) == []


def test_every_rule_is_tried() -> None:
    rules = {rule.name for rule in (*lint.SOURCE_RULES, *lint.BUILD_RULES)}
    assert rules == {rule for rule, _, _ in BAD}


def test_the_flags_of_the_contract_must_stand() -> None:
    text = (ROOT / "cmake/flags.cmake").read_text()
    for flag in lint.REQUIRED_FLAGS:
        assert any(flag in line for line in lint.findings("cmake/flags.cmake", text.replace(flag, "")))


def test_the_lint_reads_what_it_should() -> None:
    read = {path.relative_to(ROOT).as_posix() for path in lint.files(ROOT)}
    assert {WORDS, HIGHWAY, "src/drivers/tile_cpu-inl.h", "src/ops/mm/mm_cpu.cc", "cmake/flags.cmake"} <= read
    assert "src/ops/mm/mm_test.cc" not in read
