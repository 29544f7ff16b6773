# SPDX-License-Identifier: MIT
"""`repdl.enable` and what it promises of a process: on and off, nested, in threads; what raises and what may run."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import threading
import warnings
from contextlib import contextmanager, nullcontext
from fractions import Fraction

import numpy as np
import pytest
import torch

import repdl
from complex_places import at_places
from repdl import _core, _order
from repdl._symbols import addresses
from repdl.interception import permissions
from repdl.interception.override import composites, composites_on_devices, kernels_on_devices, overrides
from support import WITHOUT_KERNEL, run_python, without_kernel


@pytest.fixture(autouse=True)
def _off():
    assert not repdl.is_enabled()
    yield
    repdl.disable()
    assert not repdl.is_enabled()


def bessel(x):
    return without_kernel(x)


X = torch.linspace(-3, 3, 1000)


def test_disable_restores_torchs_bits():
    def results():
        return [f(X) for f in (torch.sigmoid, torch.sqrt, torch.exp, torch.sum)] + [
            X.reshape(20, 50) @ X.reshape(50, 20)
        ]

    before = results()
    repdl.enable()
    assert repdl.is_enabled()
    ours = results()
    repdl.disable()
    after = results()
    assert all(torch.equal(a, b) or bool(a.isnan().any()) for a, b in zip(before, after, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(before, ours, strict=True))
    assert torch.equal(ours[0], repdl.ops.sigmoid(X))


def test_one_disable_ends_any_number_of_calls():
    repdl.enable(order="sequential")
    repdl.enable(strict="off")
    bessel(X)
    assert repdl.get_order() == "sequential"
    repdl.disable()
    assert not repdl.is_enabled()
    assert repdl.get_order() == "blocked"
    repdl.disable()


def test_blocks_are_counted():
    with repdl.reproducible():
        with repdl.reproducible(strict="off"):
            bessel(X)
            repdl.enable()
        repdl.disable()
        with pytest.raises(repdl.NotReproducibleError):
            bessel(X)
    assert not repdl.is_enabled()
    bessel(X)


def test_the_stream_is_given_back():
    model = repdl.from_torch_module(torch.nn.Dropout())

    def dropped():
        torch.manual_seed(0)
        return model(torch.ones(100))

    before = dropped()
    repdl.enable(rng="torch")
    repdl.disable()
    assert torch.equal(dropped(), before)


def test_the_latest_level_in_force_counts():
    repdl.enable(strict="error")
    with repdl.reproducible(strict="off"):
        bessel(X)
    with pytest.raises(repdl.NotReproducibleError):
        bessel(X)


def test_out_takes_the_shape_of_the_result():
    repdl.enable()
    out = torch.empty(0)
    assert torch.exp(X, out=out) is out
    assert torch.equal(out, repdl.ops.exp(X))


def test_results_can_be_resized():
    with repdl.reproducible():
        result = torch.exp(X)
        assert result.resize_(9, 9).shape == (9, 9)
        result = torch.exp(X[:1])
        with pytest.warns(UserWarning, match="was resized"):
            torch.exp(X, out=result)
    assert torch.equal(result, repdl.ops.exp(X))


def test_a_resized_result_is_told_at_the_programs_line_once():
    def run(times):
        for _ in range(times):
            torch.sort(X, out=(torch.ones(7), torch.ones(7, dtype=torch.int64)))
            torch.cumsum(X, 0, out=torch.ones(7))

    for reproducible in (False, True):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default")
            with repdl.reproducible() if reproducible else nullcontext():
                run(3)
        assert {each.filename for each in told} == {__file__}
        assert len(told) == 2  # of sort's two results the texts are one


def test_old_calls_are_told_as_torch_tells_them():
    program = """
import sys, warnings
import torch
if sys.argv[1:]:
    import repdl
    repdl.enable()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for _ in range(2):
        torch.cholesky(torch.eye(2)) if hasattr(torch.ops.aten, "cholesky") else None
        torch.triangular_solve(torch.ones(2, 1), torch.eye(2))
print(*sorted(str(each.message).split()[0] + each.filename for each in told))
"""
    stock, ours = run_python(program), run_python(program, "enabled")
    assert ours == stock
    assert "torch.triangular_solve" in ours


def test_decorator():
    @repdl.reproducible()
    def exp(x):
        assert repdl.is_enabled()
        return x.exp()

    assert torch.equal(exp(X), repdl.ops.exp(X))
    assert torch.equal(exp(X), repdl.ops.exp(X))
    assert not repdl.is_enabled()


def test_decorator_of_what_runs_later():
    def generator():
        yield

    async def coroutine():
        pass

    async def both():
        yield

    for function in (generator, coroutine, both):
        with pytest.raises(
            TypeError, match=rf"\[reproducible\] .*{function.__name__} is .*`with repdl.reproducible\(\):`"
        ):
            repdl.reproducible()(function)


def test_decorator_without_parentheses():
    with pytest.raises(TypeError, match=r"\[reproducible\] .* parentheses: @repdl.reproducible\(\)"):

        @repdl.reproducible
        def exp(x):
            return x.exp()


def test_a_block_is_entered_again():
    block = repdl.reproducible()
    with block, block:
        assert repdl.is_enabled()
    with block:
        assert repdl.is_enabled()
    assert not repdl.is_enabled()


def test_order():
    with repdl.reproducible(order="sequential"):
        assert repdl.get_order() == "sequential"
        assert torch.equal(X.sum(), repdl.ops.sum(X, order="sequential"))
    assert repdl.get_order() == "blocked"
    with repdl.reproducible():
        assert torch.equal(X.sum(), repdl.ops.sum(X))


def test_error_says_what_and_why():
    repdl.enable()
    with pytest.raises(repdl.NotReproducibleError) as raised:
        without_kernel(X[:6].reshape(2, 3))
    error = raised.value
    assert (error.op, error.device, error.tensors) == (WITHOUT_KERNEL, "cpu", ("float32[2, 3]", "float32[2, 2]"))
    assert "allow_native" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.__dict__) == (str(error), error.__dict__)


class AtWork(torch.utils.data.Dataset):
    """Its elements are results of an operation that raises."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return bessel(X)


@pytest.mark.parametrize("workers", [0, 1])
def test_error_keeps_its_class_where_others_make_it_again(workers):
    """From a text of theirs, as a DataLoader does, or pyro with the shapes of the samples."""
    repdl.enable()
    with pytest.raises(repdl.NotReproducibleError, match=WITHOUT_KERNEL + ".*allow_native"):
        next(iter(torch.utils.data.DataLoader(AtWork(), num_workers=workers)))
    again = repdl.NotReproducibleError("while sampling")
    assert (str(again), again.op, again.tensors, again.reason) == ("while sampling", "", (), "unknown")


def test_wide_numbers_raise_where_they_are_not_exact():
    repdl.enable()
    double = X.double()
    assert (double + double).dtype == torch.float64
    with pytest.raises(repdl.NotReproducibleError) as raised:
        at_places()
    assert raised.value.reason == "dtype"


NUMBERS = {
    "plus": lambda x: x + 0.1,
    "minus": lambda x: x - 0.1,
    "from": lambda x: 0.1 - x,
    "times": lambda x: x * 0.1,
    "times a large one": lambda x: x * 1e300,
    "times an integer": lambda x: x * (2**40 + 1),
    "over": lambda x: x / 0.3,
    "over, down": lambda x: torch.div(x, 0.1, rounding_mode="floor"),
    "rest": lambda x: x % 0.1,
    "larger": lambda x: x > 0.3,
    "in place": lambda x: x.clone().mul_(0.1) if x.is_floating_point() else x,
    "out": lambda x: torch.div(x, 0.3, out=x.new_empty(x.shape)) if x.is_floating_point() else x,
}


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (dtype, name)
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8)
        for name in NUMBERS
        if (dtype, name) != (torch.uint8, "times an integer")  # which torch refuses
    ],
)
def test_a_python_number_keeps_its_digits(dtype, name):
    """What torch makes of a number beside a tensor of a type, also of a single one, and also while an audit records."""

    def results():
        return [NUMBERS[name](x) for x in ((X[::9].abs() * 50).to(dtype), (X[-1] * 50).to(dtype))]

    stock, audited = results(), []
    with repdl.reproducible():
        ours = results()
    repdl.audit(lambda: audited.extend(results()))
    assert len(audited) == len(ours)
    for result, expected in zip([*ours, *audited], [*stock, *stock], strict=True):
        assert result.dtype == expected.dtype
        assert torch.allclose(result, expected, rtol=0, atol=0, equal_nan=True)


def test_powers_of_wide_numbers():
    """Of float64 they are rounded once; of complex numbers they are products."""
    double = X.double()

    def exact(power: int) -> torch.Tensor:
        return torch.tensor([float(Fraction(x) ** power) for x in double.tolist()], dtype=torch.float64)

    with repdl.reproducible():
        for power in (2, 5, 8, 9):
            assert torch.equal(double**power, exact(power))
        assert torch.equal(double**3, double * double * double)
        assert torch.equal(double**-1, 1 / double)
        assert torch.equal(double**0, torch.ones_like(double))
        # The gradient takes the next power.
        z = torch.view_as_complex(X.reshape(-1, 2)).requires_grad_()
        (z**-1).abs().sum().backward()
        assert torch.isfinite(torch.view_as_real(z.grad)).all()
        assert torch.equal(double.abs() ** 0.5, torch.from_numpy(np.sqrt(double.abs().numpy())))
        for power in (0.5, 2.5, 9):
            expected = z.detach().numpy() ** power
            assert np.allclose((z.detach() ** power).numpy(), expected, rtol=1e-5)


def test_warn_once():
    repdl.enable(strict="warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bessel(X)
        bessel(X)
    assert len([w for w in caught if w.category is repdl.NotReproducibleWarning]) == 1


def test_the_environment_variable_is_read_once():
    code = """
import os, warnings, torch, repdl
try:
    repdl.enable()
except ValueError as error:
    print(error)
    raise SystemExit
os.environ["REPDL_STRICT"] = "loud"
repdl.enable()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    try:
        torch._compute_linear_combination(torch.ones(2), torch.ones(1, 2))
        print(len(told), "warnings")
    except repdl.NotReproducibleError:
        print("raised")
"""
    said = {level: run_python(code, REPDL_STRICT=level).strip() for level in ("error", "warn", "off", "loud")}
    assert said.pop("loud").startswith("the environment variable REPDL_STRICT must be one of")
    assert said == {"error": "raised", "warn": "1 warnings", "off": "0 warnings"}


def test_allow_native_is_counted_and_local_to_its_thread():
    repdl.enable()
    permissions.clear()
    with repdl.allow_native("a plot"):
        bessel(X)
    assert [(p.reason, n) for p, n in permissions.items()] == [("a plot", 1)]
    with pytest.raises(ValueError, match="why"), repdl.allow_native(" "):
        pass
    failures = []

    def other():
        try:
            bessel(X)
        except repdl.NotReproducibleError as error:
            failures.append(error)

    with repdl.allow_native("here only"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(failures) == 1


def test_allow_native_of_a_suspended_generator_is_not_its_callers():
    repdl.enable()

    def plots():
        with repdl.allow_native("a plot"):
            for _ in range(3):
                yield bessel(X)

    running = plots()
    for _ in range(2):
        next(running)
        with pytest.raises(repdl.NotReproducibleError):
            bessel(X)
    with repdl.allow_native("here too"):
        bessel(X)
    next(running)

    @contextmanager
    def plotting():
        with repdl.allow_native("a plot"):
            yield

    with plotting():
        bessel(X)

    @repdl.allow_native("a plot")
    def plot():
        return bessel(X)

    plot()
    with pytest.raises(repdl.NotReproducibleError):
        bessel(X)


def test_threads_may_enable_at_once():
    failures = []

    def work():
        try:
            for _ in range(20):
                with repdl.reproducible():
                    assert torch.equal(X.exp(), EXPECTED)
        except BaseException as error:
            failures.append(error)

    EXPECTED = repdl.ops.exp(X)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert not repdl.is_enabled()


@pytest.mark.parametrize("name", ["mkldnn.matmul", "mkldnn.conv", "mkldnn.rnn", "cuda.matmul"])
def test_fewer_bits_by_newer_names_are_refused(name: str) -> None:
    """In a process of its own: torch does not tell of the older ones thereafter."""
    value = "tf32" if name == "cuda.matmul" else "bf16"
    code = f"import torch, repdl\ntorch.backends.{name}.fp32_precision = {value!r}\nrepdl.enable()"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert f"ValueError: torch.backends.{name}.fp32_precision is {value!r}" in told


def test_settings_that_change_bits_are_refused():
    torch.set_float32_matmul_precision("high")
    try:
        with pytest.raises(ValueError, match="float32_matmul_precision"):
            repdl.enable()
        assert not repdl.is_enabled()
    finally:
        torch.set_float32_matmul_precision("highest")
    if torch.set_flush_denormal(True):
        try:
            with pytest.raises(ValueError, match="subnormal"):
                repdl.enable()
        finally:
            torch.set_flush_denormal(False)
    with repdl.reproducible(), pytest.raises(RuntimeError, match="set_flush_denormal"):
        torch.set_flush_denormal(True)


@pytest.mark.parametrize(("name", "value"), [("strict", "loud"), ("order", "random"), ("rng", "dice")])
def test_bad_settings(name, value):
    with pytest.raises(ValueError, match=value):
        repdl.enable(**{name: value})
    assert not repdl.is_enabled()
    assert repdl.get_order() == "blocked"


def test_compile_taken_by_name_before_runs_eagerly_too():
    code = """
from torch import compile
import sys, torch, repdl
def backend(graph, inputs):
    print("compiled")
    return graph.forward
for _ in range(2):
    repdl.enable()
    assert _ or "torch._dynamo" not in sys.modules
    f = compile(torch.nn.Sequential(torch.nn.Sigmoid()), backend=backend)
    x = torch.linspace(-3, 3, 100)
    assert torch.equal(f(x), repdl.ops.sigmoid(x))
    print("eager")
    repdl.disable()
    f(x)
    print("end")
assert not any(type(finder).__module__.startswith("repdl.") for finder in sys.meta_path)
"""
    assert run_python(code).split() == ["eager", "compiled", "end", "eager", "end"]


def test_a_process_may_end_enabled():
    code = "import torch._dynamo, repdl; repdl.enable()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_first_call_imports_little():
    code = """
import sys, torch, repdl
before = set(sys.modules)
repdl.enable()
print(*{name.partition(".")[0] for name in set(sys.modules) - before} & {"rich", "numpy", "pygments"})
assert "torch._dynamo" not in sys.modules
"""
    assert run_python(code).split() == []


@pytest.mark.skipif(not addresses("torch_python", "_Z16THPVariable_WrapON2at10TensorBaseE"), reason="lacks the name")
def test_results_are_made_without_python():
    code = """
import torch, repdl
from repdl import _core
x = torch.arange(16.0)  # whose results are exact
dtypes = torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64, torch.complex128
functions = torch.sum, lambda t: torch.add(t, t, alpha=2)
results = lambda: [f(x.to(dtype)) for dtype in dtypes for f in functions]
expected = results()
def make(*args):
    raise RuntimeError("called")
_core.set_maker(torch.Tensor, make, torch)
repdl.enable()
print(all(a.dtype == b.dtype and torch.equal(a, b) for a, b in zip(expected, results())))
"""
    assert run_python(code).strip() == "True"


def test_in_place_of_what_is_no_plain_target():
    """Of strides, of memory that another operand has, and misaligned."""
    bytes_of = np.zeros(4 * 12 + 1, np.uint8)
    misaligned = torch.from_numpy(bytes_of[1:].view(np.float32)).view(3, 4)
    with repdl.reproducible():
        for make, other in [
            (lambda: X[:12].clone().view(3, 4), X[:4]),
            (lambda: X[:12].clone().view(4, 3).t(), X[:12].view(3, 4)),
            (lambda: X[:24].clone().view(3, 8)[:, ::2], X[:12].view(3, 4)),
            (lambda: misaligned.copy_(X[:12].view(3, 4)), X[:12].view(3, 4)),
            (lambda: X[:12].clone().view(3, 4), 2.0),
        ]:
            target = make()
            expected = torch.add(target.clone(), other, alpha=3)
            assert target.add_(other, alpha=3) is target
            assert torch.equal(target, expected)
        memory = X[:13].clone()
        expected = torch.addcmul(memory[1:].clone(), memory[:-1].clone(), memory[1:].clone())
        assert torch.equal(memory[1:].addcmul_(memory[:-1], memory[1:]), expected)
        for other in (torch.ones(1, 3), torch.ones(1, 6)[:, ::2], torch.ones(3, 1).expand(3, 3).t()):
            with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
                torch.zeros(3).add_(other, alpha=2)


def test_a_short_cut_leaves_to_its_fallback_only_what_the_op_refuses():
    """Anything else, an interrupt say, would be forgotten, or a random key drawn twice."""
    function = _core.make_override("sum", _core.OverrideTarget.NEW, lambda *args: "fallback")
    assert function(X.int()) == "fallback"
    assert function(X, "no dimension") == "fallback"

    def interrupted():
        raise KeyboardInterrupt

    _core.set_order_source(interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            function(X)
    finally:
        _core.set_order_source(_order.of_this_context)
    assert isinstance(function(X), torch.Tensor)


def test_kernels_take_calls_that_leave_out_what_has_a_default() -> None:
    """torch leaves out last arguments that equal their defaults: `torch.histogram(x, 100)` has one."""
    functions = [
        *(
            (name, function)
            for name, declared in overrides.items()
            for function in (declared.compute, declared.refused)
        ),
        *(item for table in (composites, composites_on_devices, kernels_on_devices) for item in table.items()),
    ]
    for name, function in functions:
        schemas = torch._C._jit_get_schemas_for_operator("aten::" + name.partition(".")[0])
        for schema in (s for s in schemas if s.overload_name == name.partition(".")[2] and function is not None):
            needed = [a for a in schema.arguments if not a.has_default_value()]
            by_place = [a for a in needed if not a.kwarg_only]
            inspect.signature(function).bind(*by_place, **{a.name: a for a in needed if a.kwarg_only})
    x = torch.arange(200.0)
    with repdl.reproducible():
        assert torch.histogram(x, 100)[0].tolist() == torch.histogram(x)[0].tolist() == [2.0] * 100
