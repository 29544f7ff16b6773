# SPDX-License-Identifier: MIT
"""tools/lint_interception.py: the layer computes nothing but what is excepted, and the lint sees what computes."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys

import pytest

from support import ROOT

PROGRAM = ROOT / "tools/lint_interception.py"
_spec = importlib.util.spec_from_file_location("lint_interception", PROGRAM)
assert _spec is not None and _spec.loader is not None
lint = importlib.util.module_from_spec(_spec)
sys.modules["lint_interception"] = lint
_spec.loader.exec_module(lint)

COMPUTES = [
    "return x * 2",
    "return x + y",
    "return 1 - x",
    "return (x.mT @ y)",
    "x += y",
    "x *= 2.0",
    "return x.mul(y)",
    "return torch.exp(x)",
    "return torch.nn.functional.softplus(x)",
    "return x.reshape(-1).reciprocal()",
    "z = x.clone()\nreturn z / 3",
    "a, b = x, 2\nreturn a - b",
    "a, b = parts\nreturn a ** 2",
    "return [part + 1 for part in parts]",
    "for i, part in enumerate(parts):\n    y = part * i",
    'return ops["log"](x) + x',
    "return helper(x) * 2",
    "return x.amax(1) - y",
    "return [a * b for a, b in zip(parts, parts)]",
    "return (lambda: x * 2)()",
    "return torch.where(x > 0, x, x * 2)",
]
MAPS = [
    'return ops["add"](x, y)',
    "return -x",
    "return torch.mm(x, y)",
    "return x.sum(-1)",
    "return x.shape[0] * x.numel() + x.dim() - 1",
    "return torch.where(x > y, x, y)",
    "return x.to(torch.int64) + 1",
    "return torch.arange(3) * 2",
    "return x.argsort() + 1",
    "return n * 2 + n % 3",
    "for i, part in enumerate(parts):\n    n = i * 2",
    "return [part.shape[i] + 1 for i, part in enumerate(parts)]",
    "return [n * 2 for part, n in zip(parts, range(3))]",
    "return places * 3  # integers",
    "x = n\nreturn x * 2",
    "return torch.finfo(x.dtype).eps * 2",
    "return torch.broadcast_shapes(x.shape, y.shape) + (1,)",
    "return bool((x == y).all())",
]
SIGNATURE = (
    "def helper(x: torch.Tensor) -> torch.Tensor:\n    return x\n\n\ndef kernel(x: torch.Tensor, y: torch.Tensor, \
places: torch.Tensor, parts: list[torch.Tensor], n: int):\n"
)


def _found(body: str) -> list[tuple[str, str, list[int]]]:
    text = SIGNATURE + "".join(f"    {line}\n" for line in body.split("\n"))
    module = lint.Module(lint.LAYER / "aten/some.py", ast.parse(text), text.split("\n"))
    return list(lint.findings([module]))


@pytest.mark.parametrize("body", COMPUTES)
def test_what_computes_is_found(body: str) -> None:
    found = _found(body)
    assert [(path, name) for path, name, _ in found] == [("aten/some.py", "kernel")], found


@pytest.mark.parametrize("body", MAPS)
def test_what_maps_is_not_found(body: str) -> None:
    assert _found(body) == []


def test_an_inner_function_is_found_by_its_own_name() -> None:
    found = _found("def inner():\n    return x * 2\nreturn inner")
    assert [name for _, name, _ in found] == ["kernel.inner"]


def test_the_layer_has_only_its_exceptions() -> None:
    result = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_an_exception_that_nothing_needs_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(lint.EXCEPTIONS, "aten/none.py::kernel", "it is not there")
    with pytest.raises(SystemExit) as end:
        lint.main()
    assert end.value.code == 1
    assert "aten/none.py::kernel is no exception any more" in capsys.readouterr().out
