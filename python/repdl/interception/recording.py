# SPDX-License-Identifier: MIT
"""Lists the ops of a program and what is known of their bits.

Recorded is at torch's CPU keys, below autograd, by kernels that pass on to ours or to torch's own: what arrives there
is what arrives without an audit. A dispatch mode, which changes some of what autograd calls, sees only what does not
come by there: ops of other libraries that are written in Python, and tensors that are not on the CPU.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from repdl.interception import classes, distributed, extensions, libraries, places, settings, strict, switch
from repdl.interception.exact import LAYOUTS, why_exact
from repdl.interception.native import native_of, qualified, registered_names
from repdl.interception.override import layouts
from repdl.interception.registration import register
from repdl.interception.report import Report
from repdl.interception.untraced import UntracedMode

_lock = threading.Lock()


@places.edge
def audit(fn_or_model: Callable[..., Any], *inputs: Any, backward: bool = True) -> Report:
    """Calls a function or model under `repdl.reproducible()` and tells which ops it calls, and what is known of them.

    Nothing raises: an op without a reproducible kernel runs with torch's own and is reported as "not". Gradients, the
    buffers of a model and torch's generator are left as they were. It records the whole process, every thread of it;
    ops of other libraries that are written in Python are told in this thread alone. It does not see other processes,
    workers of a DataLoader among them.

    Args:
        fn_or_model: called with the inputs.
        inputs: its arguments.
        backward: whether to call backward, on the sum of the floating-point outputs that require a gradient.

    Raises:
        RuntimeError: if an audit is running already.
        TypeError: for what cannot be called.
    """
    if not callable(fn_or_model):
        raise TypeError(f"[audit] fn_or_model must be a function or a module, got {type(fn_or_model).__name__}")
    buffers = fn_or_model.buffers() if isinstance(fn_or_model, torch.nn.Module) else ()
    before = [(buffer, buffer.clone()) for buffer in buffers]
    try:
        with torch.random.fork_rng(devices=[]), recording() as recorder:
            outputs = fn_or_model(*inputs)
            wanted = [t for t in tree_leaves(outputs) if isinstance(t, torch.Tensor) and t.requires_grad]
            if backward and wanted:
                with recorder.hidden():
                    ones = [torch.ones_like(t) for t in wanted]
                with _gradients_given_back(wanted):
                    torch.autograd.backward(wanted, ones)
    finally:
        with torch.no_grad():
            for buffer, value in before:
                buffer.copy_(value)
    return recorder.report


@contextmanager
def _gradients_given_back(outputs: list[torch.Tensor]) -> Iterator[None]:
    """Those of the leaves that a backward pass from these outputs reaches."""
    nodes = [t.grad_fn for t in outputs]
    seen, leaves = set(nodes), [t for t in outputs if t.grad_fn is None]
    while nodes:
        node = nodes.pop()
        if node is None:
            continue
        if isinstance(leaf := getattr(node, "variable", None), torch.Tensor):
            leaves.append(leaf)
        found = {function for function, _ in node.next_functions} - seen
        seen |= found
        nodes += found
    before = [(leaf, leaf.grad) for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    try:
        yield
    finally:
        for leaf, grad in before:
            leaf.grad = grad


@contextmanager
def recording(order: str | None = None, rng: str | None = None) -> Iterator[Recorder]:
    """Records in a block, which runs enabled; the report is complete when it ends."""
    if not _lock.acquire(blocking=False):
        raise RuntimeError("[audit] an audit is running already; one at a time")
    recorder = Recorder()
    try:
        with switch.reproducible(strict="off", order=order, rng=rng or switch.rng_in_force()):
            recorder.check_settings()
            recorder.register()
            try:
                strict.watch, settings.watch = recorder.refused, recorder.compiled
                switch.over_all.append(recorder.register)
                extensions.recorded = recorder.extension
                libraries.on_new.append(recorder.register_libraries)
                with _OtherOps(recorder):
                    yield recorder
            finally:
                strict.watch = settings.watch = extensions.recorded = None
                switch.over_all.remove(recorder.register)
                libraries.on_new.remove(recorder.register_libraries)
                recorder.undo.close()
    finally:
        _lock.release()


class _Call:
    """A call that is under way in this thread.

    inner: what becomes of the calls that it makes: "told", in a kernel of torch; "refused", in one of ours, if only
    those that are not reproducible are told; "hidden", once it is known as not reproducible itself.
    """

    def __init__(self, inner: str) -> None:
        self.inner = inner
        self.refusal: tuple[str, str, str | None] | None = None


class Recorder:
    def __init__(self) -> None:
        self.report = Report()
        self.lock = threading.Lock()
        self.here = threading.local()
        self.undo = ExitStack()

    def register(self) -> None:
        kernels = {key: dict(self.of_layout(key)) for key in LAYOUTS} | {"CPU": dict(self.kernels())}
        self.undo.callback(register(kernels)._destroy)
        self.register_libraries(libraries.held())

    def register_libraries(self, ops: Iterable[libraries.Op]) -> None:
        stubs = libraries.held()
        kernels = {}
        for op in ops:
            name = op[1]
            why, inner = classes.always("not", strict.REASONS["library"]), "told"
            if op[0] == "CPU" and libraries.has_kernel(name):
                why, inner = classes.always("reproducible", classes.KERNEL), "refused"
            kernels[op] = self.passing(name, stubs[op], why, inner)
        for library in libraries.registered(kernels):
            self.undo.callback(library._destroy)

    def extension(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.passing(name, function, classes.always("not", strict.REASONS["extension"]), "told")

    def kernels(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        """For each overload, one that records and passes on to ours or to torch's own."""
        ours, declared = switch.kernels()["CPU"], classes.declared()
        for name in registered_names():
            if name in ours:
                inner = "refused" if name in declared else "hidden"  # a stub says so itself, by `refused`
                yield name, self.passing(name, ours[name], classes.classifier(name), inner)
            elif name != "detach":  # of which torch needs its own kernel
                yield name, self.exact(name, "CPU")

    def of_layout(self, key: str) -> Iterator[tuple[str, Callable[..., Any]]]:
        """The same for tensors that are not dense."""
        ours = switch.kernels()[key]
        for name in {*registered_names(key), *ours} - {"detach"}:
            if name in ours:
                inner = "refused" if name in layouts.get(key, {}) else "hidden"
                yield name, self.passing(name, ours[name], classes.classifier(name, key), inner)
            else:
                yield name, self.exact(name, key)

    def exact(self, name: str, key: str) -> Callable[..., Any]:
        native = native_of(name, key)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            with self.hidden():
                given = native.with_tensors(args)
            return native.run(args, given, kwargs)

        return self.passing(name, kernel, classes.classifier(name, key), "told")

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """What is called in this block, in this thread, is not the program's."""
        outer = getattr(self.here, "call", None)
        self.here.call = _Call("hidden")
        try:
            yield
        finally:
            self.here.call = outer

    def passing(
        self, name: str, kernel: Callable[..., Any], classify: Callable[[Any], tuple[str, str]], inner: str
    ) -> Callable[..., Any]:
        def record(*args: Any, **kwargs: Any) -> Any:
            outer = getattr(self.here, "call", None)
            told = "told" if outer is None else outer.inner
            call = self.here.call = _Call(inner if told == "told" else told)
            result = None
            try:
                result = kernel(*args, **kwargs)
            finally:
                self.here.call = outer
                values = [*args, *kwargs.values()]
                if call.refusal is not None:
                    kind, reason, permission = call.refusal
                    if told == "told" or (told == "refused" and kind == "not"):
                        self.tell(qualified(name), kind, reason, values, result, permission)
                elif told == "told":
                    self.tell(qualified(name), *classify(values), values, result)
            return result

        return record

    def refused(self, reason: str, permission: str | None, claim: str | None) -> None:
        """From `strict`: the call under way has no reproducible kernel, or was declared to need none."""
        call = getattr(self.here, "call", None)
        if call is not None and claim is not None:
            call.refusal = "guarded", f"declared: {claim}", None
        elif call is not None:
            call.refusal, call.inner = ("not", strict.REASONS[reason], permission), "hidden"

    def tell(
        self, op: str, kind: str, reason: str, values: list[Any], result: Any, permission: str | None = None
    ) -> None:
        dtypes = _dtypes(values) or _dtypes([result])
        place = places.place()
        with self.lock:
            self.report.row(op, kind, reason, permission).met(place, dtypes)

    def compiled(self, function: str) -> None:
        with self.lock:
            self.report.compiled[function] += 1

    def check_settings(self) -> None:
        try:
            settings.check()
        except ValueError as error:
            self.report.settings.append(str(error))


def _dtypes(values: list[Any]) -> set[str]:
    return {str(t.dtype).removeprefix("torch.") for t in tree_leaves(values) if isinstance(t, torch.Tensor)}


class _OtherOps(UntracedMode):
    """Records what does not come by at the CPU key."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.recorder = recorder

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        values = [*args, *kwargs.values()]
        if (found := _class_of_other(func, values)) is not None:
            name = func.name()
            self.recorder.tell(name, *found, values, result)
        return result


def _class_of_library(op: str) -> tuple[str, str]:
    """Of an op outside of aten that no kernel of ours tells."""
    if (why := libraries.why_runs(op)) is not None:
        return "exact", why
    return "guarded", "in Python: what it calls of torch is told by itself"


def _class_of_other(func: Any, values: list[Any]) -> tuple[str, str] | None:
    """None for what is told elsewhere, or computes nothing."""
    if func.namespace == "repdl":
        return "reproducible", classes.KERNEL
    if func.namespace == "profiler":
        return None
    on_cpu = all(t.device.type == "cpu" for t in tree_leaves(values) if isinstance(t, torch.Tensor) and not t.is_meta)
    if func.namespace in ("c10d", "_c10d_functional") and on_cpu:
        return ("guarded", "added in the order of the ranks") if distributed.computes(func.name()) else None
    if func.namespace not in ("aten", "prims"):
        return None if libraries.is_held(func.name()) else _class_of_library(func.name())
    if on_cpu or why_exact(func.name().removeprefix("aten::")) is not None:
        return None
    return "not", "only kernels for the CPU are taken over"
