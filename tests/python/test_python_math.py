# SPDX-License-Identifier: MIT
"""Python's `**`, `math` and `cmath` under `repdl.enable()`: the bits of the ops of float64, and Python's own errors."""

from __future__ import annotations

import cmath
import ctypes
import itertools
import math
import platform
import random
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from mpmath import mp

import repdl
from repdl import _core
from repdl.interception import python_math
from support import compile_library, run_python

FUNCTIONS = [name for name in python_math._MATH if hasattr(math, name)]
TWO = ("atan2", "pow")
NUMBERS = [
    sign * x
    for sign in (1.0, -1.0)
    for x in (
        0.0, 5e-324, 2.0**-1022, 1e-300, 1e-20, 0.25, 1 / 3, 0.5, 1 - 2.0**-53, 1.0, 1 + 2.0**-52, 1.5, 2.0, 3.0, 27.3,
        36.8, 709.78, 709.79, 710.5, 745.2, 1023.0, 1024.0, 2.0**26, 1e9, 2.0**53, 1e22, 1e300, sys.float_info.max,
        math.inf, math.nan,
    )
]  # fmt: skip
FEW = (0.0, -0.0, 1.0, -1.0, 0.3, 3.7, 1e-300, 1e300, -1e308, math.inf, -math.inf, math.nan)
COMPLEX = [complex(*parts) for parts in itertools.product(FEW, FEW)]
OF_COMPLEX = [
    getattr(cmath, name)
    for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "log10", "phase", "polar",
        "sin", "sinh", "sqrt", "tan", "tanh",
    )
]  # fmt: skip
ERRORS = (ValueError, OverflowError, ZeroDivisionError)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except ERRORS as error:
        return type(error), str(error)


def bits(x: float) -> int | str:
    return "nan" if math.isnan(x) else struct.unpack("<q", struct.pack("<d", x))[0]


def power(x: Any, y: Any) -> Any:
    return x**y


def calls() -> Iterator[tuple[str, tuple[float, ...]]]:
    for name in FUNCTIONS:
        for args in itertools.product(NUMBERS, NUMBERS) if name in TWO else zip(NUMBERS):
            yield name, args


def of_op(name: str, operands: list[tuple[float, ...]]) -> list[float]:
    op = getattr(repdl.ops, name)
    return op(*(np.array(numbers) for numbers in zip(*operands))).tolist()  # type: ignore[no-any-return]


def test_functions_are_the_ops() -> None:
    numbers = [*NUMBERS, *(0.0173 * i - 8.6 for i in range(1000))]
    pairs = [*itertools.product(NUMBERS, NUMBERS), *((0.0171 * i, 0.9 - 0.013 * i) for i in range(1000))]
    for name in FUNCTIONS:
        operands: list[tuple[float, ...]] = pairs if name in TWO else list(zip(numbers))  # type: ignore[assignment]
        expected = of_op(name, operands)
        with python_math.ours():
            found = [outcome(getattr(math, name), *args) for args in operands]
        for args, ours, op in zip(operands, found, expected):
            if isinstance(ours, float):
                assert bits(ours) == bits(op), (name, args)
            else:
                assert not math.isfinite(op), (name, args)


def test_powers_are_the_op() -> None:
    pairs = list(itertools.product(NUMBERS, NUMBERS))
    expected = of_op("pow", pairs)
    with python_math.ours():
        found = [outcome(power, *args) for args in pairs]
        assert all(type(power(2, n)) is int for n in range(99))
        assert bits(2**-1074) == bits(5e-324)
    for args, ours, op in zip(pairs, found, expected):
        if isinstance(ours, float):
            assert bits(ours) == bits(op), args
        else:
            assert isinstance(ours, complex) or not math.isfinite(op), args


def alike(stock: Any, ours: Any) -> bool:
    """The same error; or nearly the same number, of the same kind."""
    if type(stock) is not type(ours):
        return False
    if isinstance(stock, complex):
        return alike(stock.real, ours.real) and alike(stock.imag, ours.imag)
    if isinstance(stock, tuple) and isinstance(stock[0], float):
        return all(map(alike, stock, ours))
    if not isinstance(stock, float) or not math.isfinite(stock) or stock == 0:
        return repr(stock) == repr(ours)
    return abs(stock - ours) <= 1e-13 * abs(stock) + 4 * math.ulp(stock)


def test_errors_are_pythons() -> None:
    def all_outcomes() -> list[tuple[Any, Any]]:
        found: list[tuple[Any, Any]] = [((name, args), outcome(getattr(math, name), *args)) for name, args in calls()]
        found += [(("**", x, y), outcome(power, x, y)) for x in NUMBERS for y in NUMBERS if x >= 0 or y == int_of(y)]
        found += [((f.__name__, z), outcome(f, z)) for f in OF_COMPLEX for z in COMPLEX]
        found += [(("rect", z), outcome(cmath.rect, z.real, z.imag)) for z in COMPLEX]
        found += [(("abs", z), outcome(abs, z)) for z in COMPLEX]
        found += [((f.__name__, x), outcome(f, x)) for f in (math.gamma, math.lgamma) for x in NUMBERS]
        return found

    def int_of(y: float) -> float:
        return math.floor(y) if math.isfinite(y) else y

    stock = all_outcomes()
    with python_math.ours():
        ours = all_outcomes()
    different = {call: (a, b) for (call, a), (_, b) in zip(stock, ours) if not alike(a, b)}
    # glibc says of an angle that underflows what some versions of Python take for an overflow.
    different.pop(("phase", complex(1e300, 1e-300)), None)
    assert not different


def test_errors_of_complex_powers_are_pythons() -> None:
    def kinds() -> list[Any]:
        found = [outcome(power, *z) for z in itertools.product(COMPLEX, COMPLEX[::5])]
        found += [
            outcome(power, -8.0, 1 / 3),
            outcome(power, 0j, -1),
            outcome(power, 0j, 1j),
            outcome(power, 1e200j, 2.5),
        ]
        return [type(z) if isinstance(z, complex) else z for z in found]

    stock = kinds()
    assert len(set(map(repr, stock))) >= 3
    with python_math.ours():
        assert kinds() == stock


X = [0.0037 * i for i in range(1, 5000)]


def values() -> list[float]:
    return [
        f(x) for x in X for f in (math.exp, math.log, math.tan, math.sinh, math.cbrt if hasattr(math, "cbrt") else abs)
    ]


def test_it_holds_while_enabled() -> None:
    stock = values()
    with python_math.ours():
        ours = values()
    assert values() == stock
    repdl.enable()
    assert values() == ours
    with pytest.raises(ZeroDivisionError), repdl.reproducible():
        0.0**-1
    assert values() == ours
    repdl.enable()
    repdl.disable()
    assert values() == stock
    with repdl.reproducible():
        with repdl.reproducible():
            repdl.disable()
        assert values() == ours
    assert values() == stock


def test_threads_compute_while_it_is_turned_on_and_off() -> None:
    def pairs() -> set[tuple[float, float]]:
        return {(math.exp(1.7), 1.7**0.3)}

    either = pairs()
    with python_math.ours():
        either |= pairs()
    exps, powers = ({pair[i] for pair in either} for i in range(2))
    found: set[tuple[float, float]] = set()
    stop = threading.Event()

    def compute() -> None:
        while not stop.is_set():
            found.update(pairs())

    threads = [threading.Thread(target=compute) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        with python_math.ours():
            assert math.exp(1.7) in exps
    stop.set()
    for thread in threads:
        thread.join()
    assert all(a in exps and b in powers for a, b in found)


class Exact(float):
    """A number whose powers are exact, rounded once."""

    def __pow__(self, other: Any, _: None = None) -> float:  # type: ignore[override]
        return exact(lambda: mp.mpf(float(self)) ** mp.mpf(float(other)))

    def __rpow__(self, other: Any, _: None = None) -> float:  # type: ignore[override]
        return exact(lambda: mp.mpf(float(other)) ** mp.mpf(float(self)))


def exact(compute: Callable[[], Any]) -> float:
    with mp.workdps(60):
        return float(compute())


def trained(number: type[float]) -> list[float]:
    """Learning rates and momenta of schedules, and weights of Adam, whose bias corrections are powers in Python."""
    found = []
    schedules: list[Callable[[torch.optim.Optimizer], Any]] = [
        lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=37),
        lambda o: torch.optim.lr_scheduler.OneCycleLR(o, max_lr=0.3, total_steps=61),
        lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda epoch: number(0.93) ** epoch),
        lambda o: torch.optim.lr_scheduler.PolynomialLR(o, total_iters=61, power=number(0.9)),
        lambda o: torch.optim.lr_scheduler.ExponentialLR(o, gamma=number(0.97)),
    ]
    for schedule in schedules:
        weight = torch.nn.Parameter(torch.linspace(-1, 1, 7, dtype=torch.float64))
        optimizer = torch.optim.Adam([weight], lr=0.1, betas=(number(0.9), number(0.999)), foreach=False)
        scheduler = schedule(optimizer)
        for _ in range(60):
            weight.grad = weight.detach().clone()
            optimizer.step()
            scheduler.step()
            group = optimizer.param_groups[0]
            found += [float(group["lr"]), *map(float, group["betas"])]
        found += weight.tolist()
    return found


def test_learning_rates_are_those_of_exact_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    with repdl.reproducible():
        ours = trained(float)
        exact_math = SimpleNamespace(**vars(math) | {"cos": lambda x: exact(lambda: mp.cos(mp.mpf(x)))})
        monkeypatch.setattr(torch.optim.lr_scheduler, "math", exact_math)
        assert ours == trained(Exact)


ELSEWHERE = """
import cmath, hashlib, importlib.util, math, random, sys
spec = importlib.util.spec_from_file_location("repdl._core", sys.argv[1])
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
import _statistics

def digest():
    random.seed(5)
    functions = math.exp, math.cos, math.log, math.tan, math.sinh, math.gamma
    found = [f(i / 977) for i in range(1, 9000) for f in functions]
    found += [0.999**i for i in range(9000)] + [(i / 977) ** 0.3 for i in range(9000)]
    found += [random.gauss(0, 1) for _ in range(3000)] + [random.betavariate(2, 3) for _ in range(3000)]
    found += [_statistics._normal_dist_inv_cdf(i / 3000, 0.0, 1.0) for i in range(1, 3000)]
    z = [(0.3 + i / 977 * 1j) ** (0.7 + 0.1j) for i in range(1, 3000)] + [cmath.exp(i / 977 * 1j) for i in range(3000)]
    found += [x for c in z for x in (c.real, c.imag, abs(c))]
    return hashlib.sha256(" ".join(map(float.hex, found)).encode()).hexdigest()

stock = digest()
core.replace_math([float, math.sqrt, cmath.sqrt, _statistics._normal_dist_inv_cdf])
ours = digest()
core.restore_math()
assert digest() == stock
print(stock, ours)
"""

WITHOUT_FMA = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable,-FMA4_Usable"
"""As new and old versions of glibc call these features."""


def test_other_code_of_the_c_library_does_not_show() -> None:
    """Nor does the CPU target, nor an interpreter that holds the modules itself, as Debian's."""
    system = Path(f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")
    stock, ours = run_python(ELSEWHERE, _core.__file__, GLIBC_TUNABLES="").split()
    others = [
        run_python(ELSEWHERE, _core.__file__, GLIBC_TUNABLES=WITHOUT_FMA, REPDL_TARGET="scalar").split(),
        run_python(ELSEWHERE, _core.__file__, interpreter=str(system) if system.exists() else sys.executable).split(),
    ]
    assert [other[1] for other in others] == [ours, ours]
    assert stock != ours or platform.libc_ver()[0] != "glibc"


LIBRARY = """
#include <math.h>
static double (*volatile table[])(double) = {&exp};
double by_call(double x) { return exp(x); }
double by_address(double x) { double (*volatile f)(double) = &exp; return f(x); }
double by_table(double x) { return table[0](x); }
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="imports are replaced on Linux")
@pytest.mark.parametrize(
    "flags", [("-fno-plt", "-Wl,-z,now,-z,relro"), ("-Wl,-z,lazy,-z,norelro",)], ids=["now", "lazy"]
)
def test_imports_of_every_kind_are_replaced(flags: tuple[str, ...], tmp_path: Path) -> None:
    """Calls through a table, addresses that code takes, and those in data; and memory stays as protected as it was."""
    path = compile_library(tmp_path, LIBRARY, *flags, "-lm")
    library = ctypes.CDLL(path)
    functions = [getattr(library, name) for name in ("by_call", "by_address", "by_table")]
    for function in functions:
        function.argtypes, function.restype = [ctypes.c_double], ctypes.c_double

    def protections() -> list[str]:
        return [line.split()[1] for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(path)]

    before, ours = protections(), of_op("exp", [(x,) for x in X])
    stock = [[f(x) for x in X] for f in functions[1:]]  # the first call through the table comes when it is replaced
    address = ctypes.cast(functions[0], ctypes.c_void_p).value or 0
    for _ in range(2):
        assert _core.replace_math([address, object()]) == [["exp"], []]
        try:
            assert [[f(x) for x in X] for f in functions] == [ours] * 3
            assert protections() == before
        finally:
            _core.restore_math()
        assert [[f(x) for x in X] for f in functions] == [stock[0], *stock]


def test_what_stays_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_math, "_told", False)
    monkeypatch.setattr(_core, "replace_math", lambda objects: [["exp"], [name for name in FUNCTIONS if name != "sin"]])
    with pytest.warns(UserWarning, match=r"the C library's, .*: \*\* of floats, math\.sin\."), python_math.ours():
        pass
    with python_math.ours():
        pass


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_numbers_of_torchscript_are_ours() -> None:
    source = "def f(x: float, y: float) -> float:\n    return math.exp(x) + 64 * math.cos(x) + 256 * x ** y\n"
    scripted = torch.jit.CompilationUnit(source).f
    expected = [math.exp(x) + 64 * math.cos(x) + 256 * x**0.3 for x in X]
    with python_math.ours():
        assert [scripted(x, 0.3) for x in X] == [math.exp(x) + 64 * math.cos(x) + 256 * x**0.3 for x in X]
    assert [scripted(x, 0.3) for x in X] == expected


def test_numpy_stays_as_it_is() -> None:
    def results() -> list[Any]:
        x = np.array(X)
        return [np.exp(x), np.cos(x), x**0.3, np.arctan2(x, 0.7), [np.float64(y) ** 0.3 for y in X]]

    stock = results()
    with python_math.ours():
        assert all(np.array_equal(a, b) for a, b in zip(stock, results()))


def test_random_numbers_are_drawn_by_them() -> None:
    """`random` took its functions from `math` when it was imported."""
    with python_math.ours():
        uniform, gauss = random.Random(3), random.Random(3)
        for _ in range(500):
            angle, radius = uniform.random() * 2 * math.pi, uniform.random()
            length = math.sqrt(-2.0 * of_op("log", [(1.0 - radius,)])[0])
            assert gauss.gauss(0, 1) == of_op("cos", [(angle,)])[0] * length
            assert gauss.gauss(0, 1) == of_op("sin", [(angle,)])[0] * length
