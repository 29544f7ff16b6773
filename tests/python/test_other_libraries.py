# SPDX-License-Identifier: MIT
"""Compiled ops outside of aten raise, whenever their library was loaded, unless it was declared what they are."""

from __future__ import annotations

import _ctypes
import ctypes
import importlib.util
import os
import pickle
import subprocess
import sysconfig
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context, spawn
from pathlib import Path
from typing import Any

import pytest
import torch

import repdl
from repdl import conformance
from repdl.conformance import declared as checking
from repdl.conformance.settings import Setting, settings_here
from repdl.interception import declared, libraries, permissions, strict
from repdl.interception.exact import LAYOUTS
from support import CAPABILITIES, TARGETS, WITHOUT_KERNEL, run_python, without_kernel

SOURCES = Path(__file__).parent / "other_library"
TORCH = Path(torch.__file__).parent
SMALL = ("imported", "loaded", "opened", "unseen", "late", "recorded", "before", "replacing")

X = torch.tensor([[1.0, -2.0], [0.0, 3.0]])
OPS = torch.ops.repdl_test


def compiled(source: str, library: Path, *flags: str) -> Path:
    paths = [TORCH / "include", TORCH / "include/torch/csrc/api/include", sysconfig.get_paths()["include"]]
    subprocess.run(
        [
            os.environ.get("CXX", "c++") if source.endswith(".cc") else os.environ.get("CC", "cc"),
            *(["-std=c++20", "-DTORCH_TARGET_VERSION=0x020d000000000000"] if source.endswith(".cc") else []),
            *("-O0", "-shared", "-fPIC", "-w", *(f"-I{path}" for path in paths), *flags),
            *(str(SOURCES / source), "-o", str(library), f"-L{TORCH}/lib", "-ltorch_cpu", f"-Wl,-rpath,{TORCH}/lib"),
        ],
        check=True,
    )
    return library


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Libraries by name. That of ops.cc is loaded."""
    folder = tmp_path_factory.mktemp("libraries")
    with ThreadPoolExecutor(2) as pool:
        ops = pool.submit(compiled, "ops.cc", folder / "ops.so")
        small = {}
        for name in SMALL:
            flags = [f"-DMODULE=repdl_test_{name}", f"-D{name.upper()}"]
            small[name] = pool.submit(compiled, "small.c", folder / f"repdl_test_{name}.so", *flags)
        found = {name: job.result() for name, job in small.items()}
    torch.ops.load_library(str(ops.result()))
    return {"ops": ops.result(), **found}


@pytest.fixture(autouse=True)
def _nothing_is_left(built: dict[str, Path]) -> Iterator[None]:
    yield
    repdl.disable()
    declared.reasons.clear()
    permissions.clear()


def raises(function: Callable[..., Any], *args: Any, op: str) -> repdl.NotReproducibleError:
    with pytest.raises(repdl.NotReproducibleError) as caught:
        function(*args)
    assert (caught.value.op, caught.value.reason) == (op, "library")
    return caught.value


NAMES = "negated composite explicit autograd_only"


@pytest.mark.parametrize("name", NAMES.split())
def test_it_raises_by_the_level(name: str) -> None:
    op, full = getattr(OPS, name), f"repdl_test::{name}"
    repdl.enable()
    error = raises(op, X, op=full)
    assert error.tensors == ("float32[2, 2]",)
    assert f'repdl.declare("{full}", "why")' in str(error)
    assert pickle.loads(pickle.dumps(error)).args == error.args
    with repdl.allow_native("to see"):
        assert torch.equal(op(X), -X)
    assert permissions[strict.Permission(full, "to see")] == 1
    raises(op, X, op=full)
    repdl.enable(strict="off")
    assert torch.equal(op(X), -X)
    strict._warned.discard(full)
    repdl.enable(strict="warn")
    with pytest.warns(repdl.NotReproducibleWarning, match=full):
        assert torch.equal(op(X), -X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        op(X)
    repdl.disable()
    assert torch.equal(op(X), -X)


def test_a_factory_raises_and_what_has_no_tensor_runs() -> None:
    repdl.enable()
    raises(OPS.ones, 3, op="repdl_test::ones")
    assert OPS.answer() == 42
    repdl.disable()
    assert torch.equal(OPS.ones(3), torch.ones(3))


def test_autograd_goes_through_a_composite_that_is_permitted() -> None:
    repdl.enable()
    x = torch.randn(300, 300, requires_grad=True)
    with repdl.allow_native("made of calls"):
        product = OPS.product(x)
    expected = x @ x.T  # of ours: what the composite calls is dispatched
    assert torch.equal(product, expected)
    ones = torch.ones(300, 300)
    (gradient,) = torch.autograd.grad(product, x, ones)
    (of_calls,) = torch.autograd.grad(expected, x, ones)
    assert torch.equal(gradient, of_calls)


def test_a_tensor_without_numbers_passes() -> None:
    repdl.enable()
    assert OPS.product(X.to("meta")).shape == (2, 2)
    with torch._subclasses.FakeTensorMode() as mode:
        assert OPS.product(mode.from_tensor(X)).shape == (2, 2)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.ops.mkldnn._linear_pointwise(X, X, None, "none", [], ""),
        lambda: torch.ops.mkldnn._linear_pointwise.binary(X, X, X, None, "add"),
        lambda: torch.ops.quantized.linear_dynamic_fp16_unpacked_weight(X, X, None),
        lambda: torch.ops.quantized.add(*[torch._make_per_tensor_quantized_tensor(X.char(), 0.1, 0)] * 2, 0.2, 0),
        lambda: torch.ops.onednn.qmul(X.byte(), 0.1, 0, X.byte(), 0.1, 0, 0.1, 0, torch.uint8),
    ],
)
def test_those_of_torch_itself(call: Callable[[], Any]) -> None:
    repdl.enable()
    with pytest.raises(repdl.NotReproducibleError, match="compiled code of a library"):
        call()


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_a_quantised_model_is_loaded_and_then_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = "fbgemm" if "fbgemm" in torch.backends.quantized.supported_engines else "qnnpack"
    monkeypatch.setattr(torch.backends.quantized, "engine", engine)
    weight = torch._make_per_tensor_quantized_tensor(torch.ones(4, 4, dtype=torch.int8), 0.1, 0)
    x = torch._make_per_tensor_quantized_tensor(torch.ones(2, 4, dtype=torch.uint8), 0.1, 0)
    repdl.enable()
    packed = torch.ops.quantized.linear_prepack(weight, None)
    assert torch.equal(torch.ops.quantized.linear_unpack(packed)[0].int_repr(), weight.int_repr())
    raises(torch.ops.quantized.linear, x, packed, 0.1, 0, op="quantized::linear")
    with repdl.allow_native("takes an object too"):
        assert torch.ops.quantized.linear(x, packed, 0.1, 0).shape == (2, 4)


def import_it(path: Path) -> None:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    importlib.util.module_from_spec(spec)


WAYS: dict[str, Callable[[Path], object]] = {
    "imported": import_it,
    "loaded": lambda path: torch.ops.load_library(str(path)),
    "opened": lambda path: ctypes.CDLL(str(path)),
    "unseen": lambda path: _ctypes.dlopen(str(path), 0),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_library_loaded_while_it_is_enabled(built: dict[str, Path], way: str) -> None:
    repdl.enable()
    name = f"repdl_test_{way}::same"
    WAYS[way](built[way])
    assert libraries.is_held(name) == (way != "unseen")
    op = getattr(torch.ops, f"repdl_test_{way}").same
    raises(op, X, op=name)
    repdl.disable()
    assert torch.equal(op(X), X)
    repdl.enable()
    raises(op, X, op=name)


def test_a_library_loaded_while_it_is_disabled(built: dict[str, Path]) -> None:
    repdl.enable()
    repdl.disable()
    _ctypes.dlopen(str(built["before"]), 0)
    repdl.enable()
    raises(torch.ops.repdl_test_before.same, X, op="repdl_test_before::same")


def test_a_kernel_that_comes_later_for_an_op_that_is_there(built: dict[str, Path]) -> None:
    repdl.enable()
    raises(OPS.replaced, X, op="repdl_test::replaced")
    with pytest.raises(NotImplementedError):
        OPS.without_kernel(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, that a kernel is replaced
        ctypes.CDLL(str(built["late"]))
    for name in ("replaced", "without_kernel"):
        raises(getattr(OPS, name), X, op=f"repdl_test::{name}")
        with repdl.allow_native("the later kernel"):
            assert torch.equal(getattr(OPS, name)(X), X)
    repdl.disable()
    assert torch.equal(OPS.replaced(X), X)


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_library_that_replaces_kernels_of_torch(built: dict[str, Path], order: str) -> None:
    """`exp` is ours where the library came before; where it came after, it raises until it is enabled again."""
    load = f"warnings.simplefilter('ignore'); torch.ops.load_library({str(built['replacing'])!r}); "
    enable = "repdl.enable(); "
    code = f"""
import warnings, torch, repdl
def told(op):
    try:
        return op(torch.ones(2)).tolist()
    except repdl.NotReproducibleError as error:
        return error.op, error.reason
{load + enable if order == "before" else enable + load}
print(told(torch.deg2rad), told(torch.exp), type(told(torch.rad2deg)) is list)
repdl.disable()
repdl.enable()
print(told(torch.deg2rad), told(torch.exp))
"""
    e = "[2.7182817459106445, 2.7182817459106445]"
    first, again = run_python(code).splitlines()
    assert first == f"('aten::deg2rad', 'library') {e if order == 'before' else ('aten::exp', 'library')} True"
    assert again == f"('aten::deg2rad', 'library') {e}"


def test_nothing_is_left_of_the_watch() -> None:
    watched = [
        lambda: importlib.machinery.ExtensionFileLoader.create_module,
        lambda: importlib.machinery.ExtensionFileLoader.exec_module,
        lambda: ctypes.CDLL.__init__,
        lambda: torch._ops._OpNamespace.__getattr__,
    ]
    before = [method() for method in watched]
    repdl.enable()
    assert all(method() is not was for method, was in zip(watched, before, strict=True))
    repdl.disable()
    assert [method() for method in watched] == before


def test_python_ops_need_nothing() -> None:
    library = torch.library.Library("repdl_test_python", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CPU")
    library.define("refused(Tensor x) -> Tensor")
    library.impl("refused", without_kernel, "CompositeImplicitAutograd")

    @torch.library.custom_op("repdl_test_python::tripled", mutates_args=())
    def tripled(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    repdl.enable()
    assert torch.equal(torch.ops.repdl_test_python.twice(X), X + X)
    assert torch.equal(tripled(X), X * 3)
    with pytest.raises(repdl.NotReproducibleError, match=WITHOUT_KERNEL):
        torch.ops.repdl_test_python.refused(X)
    report = repdl.audit(lambda: (torch.ops.repdl_test_python.twice(X), tripled(X)))
    assert report.ok
    assert {"repdl_test_python::twice", "repdl_test_python::tripled", "aten::add.Tensor"} <= {r.op for r in report}
    library._destroy()


def test_declared_ops_run() -> None:
    repdl.enable()
    repdl.declare("repdl_test::negated", "changes a sign")
    assert torch.equal(OPS.negated(X), -X)
    raises(OPS.composite, X, op="repdl_test::composite")
    repdl.declare("repdl_test::composite.default", "changes a sign")
    assert torch.equal(OPS.composite(X), -X)
    repdl.disable()
    repdl.enable()
    assert torch.equal(OPS.negated(X), -X)
    assert not permissions


def test_an_op_of_torch_that_raises_can_be_declared() -> None:
    repdl.declare(WITHOUT_KERNEL, "runs on one machine only")
    repdl.enable()
    with repdl.reproducible():
        without_kernel(X)
    with pytest.raises(repdl.NotReproducibleError):
        torch._masked_softmax(X, X > 0)
    report = repdl.audit(without_kernel, X)
    (row,) = [row for row in report if row.op == WITHOUT_KERNEL]
    assert (row.kind, row.reason) == ("guarded", "declared: runs on one machine only")


@pytest.mark.parametrize(
    ("op", "reason", "words"),
    [
        ("repdl_test::negated", " ", "reason must say"),
        ("repdl_test::negated", None, "reason must say"),
        ("negated", "why", 'must be "library::name"'),
        ("repdl_test::", "why", 'must be "library::name"'),
        ("repdl_test::negatd", "why", "did you mean repdl_test::negated?"),
        ("repdl_test::negated.out", "why", "there are: negated.default"),
        ("repdl::exp", "why", "needs no declaration"),
        ("aten::mul", "why", "needs no declaration: it runs with torch's own kernel"),
        ("aten::no_such_op", "why", "is no op of aten"),
    ],
)
def test_what_cannot_be_declared(op: str, reason: Any, words: str) -> None:
    with pytest.raises(ValueError, match="declare") as caught:
        repdl.declare(op, reason)
    assert words in str(caught.value)
    assert not declared.reasons


def test_a_library_that_is_not_loaded_yet_can_be_declared() -> None:
    repdl.declare("repdl_test_none::op", "whatever")
    assert declared.why_declared("repdl_test_none::op.out") == "whatever"


def negated_there(queue: Any) -> None:
    queue.put((repdl.is_enabled(), dict(declared.reasons)))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_know_what_was_declared(method: str) -> None:
    repdl.declare("repdl_test::negated", "changes a sign")
    repdl.enable()
    if method == "spawn":  # what such a child is sent and reads first
        sent = pickle.loads(pickle.dumps(spawn.get_preparation_data("child")["repdl"].__reduce__()[1]))
        assert sent == ("error", repdl.get_order(), "philox", {"repdl_test::negated": "changes a sign"})
        return
    context = get_context(method)
    queue = context.SimpleQueue()
    child = context.Process(target=negated_there, args=(queue,))
    child.start()
    assert queue.get() == (True, {"repdl_test::negated": "changes a sign"})
    child.join()


def test_audit_tells_compiled_ops_in_every_thread(built: dict[str, Path]) -> None:
    repdl.declare("repdl_test::explicit", "changes a sign")

    def program() -> None:
        OPS.negated(X)
        OPS.explicit(X)
        thread = threading.Thread(target=OPS.composite, args=(X,))
        thread.start()
        thread.join()
        torch.ops.load_library(str(built["recorded"]))
        torch.ops.repdl_test_recorded.same(X)
        with repdl.allow_native("to see"):
            OPS.product(X)
        torch.ops.mkldnn._reorder_linear_weight(X)

    report = repdl.audit(program)
    found = {row.op: (row.kind, row.reason, row.permission, row.count) for row in report if "aten" not in row.op}
    why = strict.REASONS["library"]
    assert found == {
        "repdl_test::negated": ("not", why, None, 1),
        "repdl_test::explicit": ("guarded", "declared: changes a sign", None, 1),
        "repdl_test::composite": ("not", why, None, 1),
        "repdl_test_recorded::same": ("not", why, None, 1),
        "repdl_test::product": ("not", why, "to see", 1),
        "mkldnn::_reorder_linear_weight": ("exact", libraries.why_runs("mkldnn::_reorder_linear_weight"), None, 1),
    }
    assert not report.ok
    assert torch.equal(OPS.negated(X), -X)


def test_converted_models() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return OPS.negated(x.exp())  # type: ignore[no-any-return]

    model = repdl.from_torch_module(Model())
    raises(model, X, op="repdl_test::negated")
    assert torch.equal(OPS.negated(X), -X)
    repdl.declare("repdl_test::negated", "changes a sign")
    assert torch.equal(model(X), -repdl.ops.exp(X))


def test_every_listed_op_is_there() -> None:
    there = {name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    listed = {op.partition(".")[0] for op in libraries._reasons()}
    assert {op for op in listed - there if "c10d" not in op and "dtensor" not in op} == set()


def test_every_compiled_op_of_torch_is_held_or_listed() -> None:
    """By the file names that the dispatcher prints, for each key at which there can be tensors on the CPU."""
    repdl.enable()
    held = {name for _, name in libraries.held()}
    repdl.disable()
    keys = ("CPU", *LAYOUTS, "Composite", "Autograd", "BackendSelect")
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith(("aten::", "prims::", "repdl", "static_runtime::")):
            continue
        lines = [line for line in torch._C._dispatch_dump(name).splitlines() if line.startswith(keys)]
        if any(".cpp:" in line or ".cc:" in line or ".h:" in line for line in lines):
            schema = torch._C._dispatch_dump(name).splitlines()[1]
            assert name in held or libraries.why_runs(name) or "Tensor" not in schema.replace("NestedTensor", ""), name


def test_settings_are_those_of_this_cpu() -> None:
    found = settings_here()
    assert {setting.environment["REPDL_TARGET"] for setting in found[:-1]} == set(TARGETS)
    assert found[-1].environment["MKL_CBWR"] == "COMPATIBLE"
    assert {setting.environment["ATEN_CPU_CAPABILITY"] for setting in found[:-1]} == set(CAPABILITIES)
    with repdl.reproducible():  # programs see no instruction set there
        assert settings_here() == found


def test_a_claim_is_tried(built: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each false one is found by what is false in it, and the true ones are not."""
    here = settings_here()
    monkeypatch.setattr(checking, "settings_here", lambda: [here[0], here[-1]])
    x = torch.randn(1500, 5)
    grad = x[:50].clone().requires_grad_()
    false = {
        "sum_by_threads": "sample 0: other bits with other threads",
        "negated_memory": "sample 0, transposed, 1 threads: other bits than of packed tensors",
        "less_first": "sample 0, row 1: other bits alone than in the batch",
        "counted": "sample 0: other bits in a second run",
    }
    by_setting = {
        "thirds_by_machine": "sample 0: 2 results",
        "positive_zeros": "sample 0, zeros of both signs: 2 results",
    }
    if not torch.cpu._is_avx2_supported():  # then "default" is all that there is
        by_setting = {}
    true = {"negated": [(x,), ((), {"x": x})], "product": [(grad,)], "autograd_only": [(x,)]}
    claims = [conformance.Claim(f"repdl_test::{name}", [(x,)], [0] if name == "less_first" else ()) for name in false]
    claims += [conformance.Claim(f"repdl_test::{name}", [(x,)]) for name in by_setting]
    claims += [conformance.Claim(f"repdl_test::{name}", samples) for name, samples in true.items()]
    claims.append(conformance.Claim("repdl_test::negated", [(x, x)]))
    checks = conformance.check_claims(claims)
    for check, words in zip(checks, [*false.values(), *by_setting.values()], strict=False):
        assert not check.passed
        assert any(failure.startswith(words) for failure in check.failures), str(check)
    for check in checks[len(false) + len(by_setting) : -1]:
        assert check.passed, str(check)
        assert check.runs > 100
    assert "does not run" in str(checks[-1])


def test_declare_with_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "settings_here", lambda: [Setting("as it is")])
    with pytest.raises(ValueError, match=r"repdl_test::counted does not give the same bits:\n.*second run"):
        repdl.declare("repdl_test::counted", "adds one", samples=[(X,)])
    assert not declared.reasons
    with pytest.raises(ValueError, match="no sample"):
        repdl.declare("repdl_test::counted", "adds one", samples=[])
    with pytest.raises(ValueError, match="a sample of repdl_test::counted must be a tuple"):
        repdl.declare("repdl_test::counted", "adds one", samples=[X])


def test_what_was_looked_through_is_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer than all else that `repdl.enable` does."""
    with repdl.reproducible():
        pass
    calls: list[str] = []
    monkeypatch.setattr(libraries, "_found", lambda: calls.append("found") or {})
    with repdl.reproducible():
        pass
    assert not calls
