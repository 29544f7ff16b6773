# SPDX-License-Identifier: MIT
"""Fails on what could make the bits of a result depend on a machine, a compiler or a library.

    python tools/lint_numerics.py

Reads the numeric paths (src/numerics, src/drivers, src/ops; not their tests) and the build files. A finding names the
file, the line and the remedy. What docs/arithmetic.md promises is proven elsewhere, by the golden digests and
tools/prove; this catches at once what those notice late, or on another machine only.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SOURCES = {".h", ".cc", ".cu", ".cuh", ".def"}

ANY = r".*"
KERNELS = r".*(\.lane\.h|-inl\.h|_cpu\.cc|\.cuh?)"
LANES = r"src/numerics/lanes/scalar\.h:"
"""The file that gives the lane words for one number their meaning."""
FUSED = r"src/numerics/lanes/highway-inl\.h:.*// lint: allowed"
"""Where the lane word Fma is known to be the instruction."""

LIBM = (
    "exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|cbrt|hypot|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|asinh|"
    "acosh|atanh|erf|erfc|tgamma|lgamma|fma|fmod|remainder|rint|nearbyint|fmin|fmax"
)


@dataclass(frozen=True)
class Rule:
    name: str
    pattern: str
    """What must not be found in a line without its comments and the insides of its strings."""
    remedy: str
    files: str = ANY
    allowed: str = r"(?!)"
    """Exempts a line, where it matches at the beginning of "path:line", comments included."""


def call(names: str) -> str:
    """A function of C or std, called or named; not a method and not a function of another namespace."""
    return rf"\b(std::|__builtin_)({names})[fl]?\b|(?<![\w.:>])(::)?({names})[fl]?\s*\("


SOURCE_RULES = (
    Rule(
        "libm",
        call(LIBM),
        "use a lane function of src/numerics; a library's bits follow its version",
        allowed=f"{LANES}|{FUSED}",
    ),
    Rule("sqrt", call("sqrt"), "in a kernel write the lane word Sqrt", files=KERNELS, allowed=LANES),
    Rule(
        "fused",
        r"\b(Neg)?Mul(Add|Sub)(Add|Sub)?\s*\(|\bReorderWidenMulAccumulate|\bSumOfMulQuadAccumulate|\bWidenMulPairwiseAdd",
        "write Fma, or Mul and Add: Highway fuses where the target can",
        allowed=FUSED,
    ),
    Rule(
        "horizontal",
        r"\bReduce(Sum|Min|Max)\b|\b(Sum|Min|Max)OfLanes\b|\bSumsOf\w+",
        "fold the lanes in the contract's order (src/drivers/sum_cpu-inl.h): Highway's order follows the target",
        allowed=r"src/ops/amax/amax_cpu\.cc:.*\b(Min|Max)OfLanes\b",  # of numbers that are not equal: in any order
    ),
    Rule("approximate", r"\bApproximateReciprocal\w*|\brsqrtf?\s*\(|\b__frcp_|\b__fsqrt_r[uzd]", "write Div and Sqrt"),
    Rule(
        "intrinsic",
        r"\b(_mm\d*_\w+|v(fm[as]|ml[as]|recp|rsqrt|addv|paddq?)\w*_[fs]\d\w*|__svml\w*)\b",
        "write lane words: they mean the same on every target",
        allowed=r"src/numerics/lanes/look_up-inl\.h:",
    ),
    Rule(
        "CUDA intrinsic",
        r"\b__[fd]\w+_r[nuzd]\b|\b__fmaf?\w*_r[nuzd]\b|"
        r"\b__(exp|exp10|log|log2|log10|pow|sin|cos|tan|sincos|fdivide|tanh)f\b|\b__saturatef\b|\basm\b",
        "write lane words: a plain a * b + c or an intrinsic is for src/numerics/lanes/scalar.h to choose",
        allowed=LANES,
    ),
    Rule(
        "atomic",
        r"\batomic(_ref)?\s*<\s*(float|double)\b|\batomic(Add|Sub|Min|Max|CAS|Exch)\w*|\bred\.",
        "give every sum one owner and the order of the tree: atomics add in the order of arrival",
    ),
    Rule(
        "library sum",
        r"\bstd::(reduce|transform_reduce|accumulate|inner_product|partial_sum|(transform_)?(in|ex)clusive_scan)\b",
        "write the sum in the contract's order (src/drivers/sum_cpu-inl.h)",
    ),
    Rule(
        "type",
        r"\blong\s+double\b|\b_Float(16|32x?|64x?|128)\b|\b__float128\b|\b__fp16\b|\b(float|double)_t\b|\bFLT_EVAL_METHOD\b",
        "use float or double: the width of other types follows the machine",
    ),
    Rule(
        "pragma",
        r"#\s*pragma\s+(omp\b|STDC\b|clang\s+fp\b|GCC\s+(optimize|target)\b|.*float_control|.*fenv)|\b_Pragma\b|"
        r"\boptimize\s*\(",
        "flags stand in cmake/flags.cmake, threads come through ParallelFor (src/base/parallel.h)",
    ),
    Rule(
        "environment",
        r"\b_MM_SET_\w+|\bfe(setround|setenv|setexcept|holdexcept)\b|\b__builtin_ia32_ldmxcsr\b",
        "leave the modes to FpEnvGuard (src/base/fp_env.h)",
    ),
    Rule(
        "include",
        r"#\s*include\s*[<\"](hwy/contrib/|omp\.h|execution>|cblas|mkl|cublas|cudnn|cutlass|cub/|dnnl|torch|ATen)",
        "no mathematical library in a numeric path",
    ),
)

BUILD_RULES = (
    Rule(
        "flags",
        r"-Ofast|-f(fast-math|unsafe-math|associative-math|reciprocal-math|finite-math|no-signed-zeros|openmp\b)|"
        r"-ffp-(contract=(on|fast)|model=(fast|aggressive))|-mfpmath|-m(arch|cpu|recip)=|-mdaz-ftz|/fp:fast|"
        r"use_fast_math|fmad=true|ftz=true|prec-(div|sqrt)=false",
        "take the flag out: it changes bits, or lets them follow the machine (cmake/flags.cmake)",
    ),
)

REQUIRED_FLAGS = (
    "-ffp-contract=off", "-fno-fast-math", "--fmad=false", "-prec-div=true", "-prec-sqrt=true", "-ftz=false",
)  # fmt: skip
"""What cmake/flags.cmake must say."""

# A comment, a string or a character, in this order where they begin; a quote between digits is a separator.
_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)


def code_of(text: str) -> str:
    """C++ source with comments and the insides of strings blanked; its lines stay where they are."""

    def blank(match: re.Match[str]) -> str:
        token = match.group()
        if text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip().removeprefix("#").strip() == "include":
            return token
        return re.sub(r"[^\n]", " ", token)

    return _TOKEN.sub(blank, text)


def build_code_of(text: str) -> str:
    return re.sub(r"#[^\n]*", "", text)


def findings(path: str, text: str) -> Iterator[str]:
    """What is wrong in a file; its path, relative to the repository, says which rules hold for it."""
    is_source = Path(path).suffix in SOURCES
    code = code_of(text) if is_source else build_code_of(text)
    for number, (line, raw) in enumerate(zip(code.split("\n"), text.split("\n"), strict=True), start=1):
        for rule in SOURCE_RULES if is_source else BUILD_RULES:
            found = re.search(rule.pattern, line)
            if found and re.fullmatch(rule.files, path) and not re.match(rule.allowed, f"{path}:{raw}"):
                yield f"{path}:{number}: {rule.name}: {found.group().strip()}: {rule.remedy}"
    if path == "cmake/flags.cmake":
        for flag in REQUIRED_FLAGS:
            if flag not in code:
                yield f"{path}:1: flags: {flag} is missing: put it back"


def files(root: Path) -> Iterator[Path]:
    for folder in ("numerics", "drivers", "ops"):
        for path in sorted((root / "src" / folder).rglob("*")):
            if path.suffix in SOURCES and not path.stem.endswith("_test"):
                yield path
    for pattern in ("CMakeLists.txt", "CMakePresets.json", "pyproject.toml", "Makefile", "cmake/**/*.cmake"):
        yield from sorted(root.glob(pattern))
    for folder in ("bench", "examples", "python", "src", "tests", "tools"):
        yield from sorted((root / folder).rglob("CMakeLists.txt"))


def main() -> None:
    found = [line for path in files(ROOT) for line in findings(path.relative_to(ROOT).as_posix(), path.read_text())]
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
