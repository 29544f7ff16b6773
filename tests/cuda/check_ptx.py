# SPDX-License-Identifier: MIT
"""Fails on device code that could give other bits than the contract: what can be proven of CUDA kernels without a GPU.

    python tests/cuda/check_ptx.py FILE.ptx...

In PTX an instruction says how it rounds, and the assembler may not change that. So every floating-point instruction
must be one of a short list, each exact or rounded once to nearest with subnormals kept; nothing may be done atomically,
or called that is not defined in the file; and the kernel of an elementwise function has a fused multiply-add exactly if
its lane text says Fma.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

FLOAT = re.compile(r"\.(e\dm\d|[sbtu]?f(16|32|64|16x2)|bf16(x2)?)\b")

# A plain add.f32, without a rounding, may be fused by the assembler: it is not here.
ALLOWED = re.compile(
    r"(add|sub|mul|div|rcp|sqrt|fma)\.rn\.f(32|64)"
    r"|(mov|neg|abs|copysign|selp)\.f(32|64)"
    r"|setp\.(eq|ne|lt|le|gt|ge|num|nan|equ|neu|ltu|leu|gtu|geu)(\.(and|or|xor))?\.f(32|64)"
    r"|(ld|st)(\.(param|global|shared|local|const))?(\.nc)?(\.v[24])?\.f(32|64)"
    r"|cvt\.rn\.f32\.f64|cvt\.f64\.f32|cvt\.r[nm]i\.f(32\.f32|64\.f64)"
    # Whole numbers as integers and back; and a choice, which the compiler makes of a comparison of what is not NaN.
    r"|cvt\.rzi\.[su](32|64)\.f(32|64)|cvt\.rn\.f(32|64)\.[su](32|64)|(min|max)\.f(32|64)"
)
FORBIDDEN = re.compile(r"(atom|red|multimem|wgmma|wmma|mma|tcgen05)\b.*")

_INSTRUCTION = re.compile(r"\s*(?:@!?%\w+\s+)?(?P<name>[a-z][\w.:]*)(?=[\s;])")
_FUNCTION = re.compile(r"\s*(?:\.visible |\.weak |\.extern )*\.(?:entry|func)\b.*?(?P<name>[\w$]+)\s*\(")
_CALL = re.compile(r"\bcall(?:\.uni)?\s+(?:\([^)]*\)\s*,\s*)?(?P<callee>[\w$%]+)")
_DEFINITION = re.compile(
    r"(?:\b(?:REPDL_LANE(?:_RARE)? \w+|struct) |^REPDL_POLYNOMIAL\()(?!operator)(\w+)\b", re.MULTILINE
)
_USE = re.compile(r"\w+(?=[(<]|(?:, \w+)*>\()")  # what is called, or an argument of the template that is called
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LANE = re.compile(r"\d(?P<function>[A-Z][A-Za-z0-9]*)Lane(?![a-z])")


def instructions(ptx: str) -> dict[str, list[str]]:
    """The names of the instructions of each function."""
    functions: dict[str, list[str]] = {}
    current: list[str] = []
    for line in re.sub(r"//[^\n]*", "", ptx).splitlines():
        if header := _FUNCTION.match(line):
            current = functions.setdefault(header["name"], [])
        elif instruction := _INSTRUCTION.match(line):
            current.append(instruction["name"])
    return functions


def called(ptx: str) -> dict[str, set[str]]:
    """The functions that each function calls, and those that they call."""
    texts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in re.sub(r"//[^\n]*", "", ptx).splitlines():
        if header := _FUNCTION.match(line):
            current = texts.setdefault(header["name"], [])
        else:
            current.append(line)
    reached = {name: set(_CALL.findall("\n".join(lines))) for name, lines in texts.items()}
    for callees in reached.values():
        waiting = list(callees)
        while waiting:
            more = reached.get(waiting.pop(), set()) - callees
            callees |= more
            waiting += more
    return reached


def lane_functions() -> dict[str, bool]:
    """The functions of the elementwise ops, and whether the lane text of each, with what it uses, has the word Fma."""
    lists = "".join(path.read_text() for path in (ROOT / "src/ops/elementwise").glob("*.def"))
    texts = [path.read_text() for path in (ROOT / "src/numerics").rglob("*.lane.h")]
    definitions = [
        part for text in texts for part in re.split(r"^(?=template|struct|REPDL_POLYNOMIAL)", text, flags=re.MULTILINE)
    ]
    home = {name: part for part in definitions for name in _DEFINITION.findall(part)}

    def is_fused(text: str, seen: set[str]) -> bool:
        if "Fma(" in text:
            return True
        used = {word for word in _USE.findall(_COMMENT.sub("", text)) if word in home and word not in seen}
        seen |= used
        return any(is_fused(home[word], seen) for word in sorted(used))

    return {
        function: function in home and is_fused(home[function], {function})
        for function in re.findall(r"^REPDL_(?:UNARY|BINARY)\(\w+, (\w+)", lists, re.MULTILINE)
    }


def findings(ptx: str) -> Iterator[str]:
    """What is wrong in a file."""
    fused = lane_functions()
    functions, reached = instructions(ptx), called(ptx)
    if not functions:
        yield "no function: is this PTX?"
    for callee in sorted(set(_CALL.findall(re.sub(r"//[^\n]*", "", ptx)))):
        if not functions.get(callee):
            yield f"{callee} is called, and not defined here"
    for name, body in functions.items():
        for instruction in sorted(set(body)):
            if FORBIDDEN.fullmatch(instruction) or (FLOAT.search(instruction) and not ALLOWED.fullmatch(instruction)):
                yield f"{name}: {instruction}: not one exact or once-rounded operation"
        if (lane := _LANE.search(name)) and lane["function"] in fused:
            bodies = [body, *(functions.get(callee, []) for callee in sorted(reached[name]))]
            has_fma = any(instruction.startswith("fma.") for one in bodies for instruction in one)
            if has_fma != fused[lane["function"]]:
                yield f"{name}: {'an' if has_fma else 'no'} fma, but its lane text has {'none' if has_fma else 'one'}"


def main() -> None:
    paths = [Path(argument) for argument in sys.argv[1:]]
    if not paths:
        sys.exit(__doc__)
    found = [f"{path}: {finding}" for path in paths for finding in findings(path.read_text())]
    text = "".join(path.read_text() for path in paths)
    for function in lane_functions():
        if not re.search(rf"\.entry \w*\d{function}Lane", text):
            found.append(f"{function} has no kernel")
    print("\n".join(found), end="\n" if found else "")
    print(f"{len(re.findall(r'[.]entry ', text))} kernels in {len(paths)} files: {len(found)} findings")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
