# SPDX-License-Identifier: MIT
"""What a program does besides ops: steps of optimizers, results of models, batches of a DataLoader, and waiting for
collectives.

It is recorded in all steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules.module import register_module_forward_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.data.dataloader import _BaseDataLoaderIter

from repdl import _content as content
from repdl.runs import batches

if TYPE_CHECKING:
    from repdl.runs.recorder import Recorder


@contextmanager
def followed(recorder: Recorder) -> Iterator[None]:
    with ExitStack() as stack:
        before = register_optimizer_step_pre_hook(lambda optimizer, *_: _begin(recorder, optimizer))
        stack.callback(before.remove)
        after = register_optimizer_step_post_hook(lambda optimizer, *_: _end(recorder, optimizer))
        stack.callback(after.remove)
        result = register_module_forward_hook(lambda module, _, output: _result(recorder, module, output))
        stack.callback(result.remove)
        stack.enter_context(_batches(recorder))
        yield


def _begin(recorder: Recorder, optimizer: torch.optim.Optimizer) -> None:
    if get_ident() != recorder.thread:
        return
    recorder.phase = "optimizer"
    texts, tensors = [], []
    for number, group in enumerate(optimizer.param_groups):
        for name, value in group.items():
            if isinstance(value, torch.Tensor):
                tensors.append(value)
            elif name != "params":
                texts.append(f"{name}={value}" if number == 0 else f"{number}.{name}={value}")
    parameters = _parameters(optimizer)
    texts += [f"parameter {number} without gradient" for number, p in enumerate(parameters) if p.grad is None]
    recorder.event(f"options of {type(optimizer).__name__}", ", ".join(texts), tensors)


def _end(recorder: Recorder, optimizer: torch.optim.Optimizer) -> None:
    """The parameters and the state of the optimizer, then the end of the step."""
    if get_ident() != recorder.thread:
        return
    texts: list[str] = []
    values: list[Any] = []
    for number, parameter in enumerate(_parameters(optimizer)):
        texts.append(str(number))
        values.append(parameter)
        for name, value in optimizer.state.get(parameter, {}).items():
            texts.append(f"{number}.{name}")
            values.append(value if isinstance(value, torch.Tensor) else content.of_object(value))
    text = ", ".join(texts)
    if len(text) > 1000:
        text = f"{text[:1000]}… {content.digest(text.encode()).hex()}"
    recorder.event(f"state of {type(optimizer).__name__}", text, (), values)
    recorder.phase = None
    recorder.log.end_step()
    recorder.begin_step()


def _parameters(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _result(recorder: Recorder, module: torch.nn.Module, output: Any) -> None:
    """Of a module that no other one has called."""
    if get_ident() == recorder.thread and not recorder.modules.stack and not recorder.is_inside:
        tensors = [leaf for leaf in content.leaves(output) if isinstance(leaf, torch.Tensor)]
        recorder.event(f"result of {type(module).__name__}", outputs=tensors)


@contextmanager
def _batches(recorder: Recorder) -> Iterator[None]:
    take = _BaseDataLoaderIter.__next__

    def take_and_record(self: Any) -> Any:
        if get_ident() != recorder.thread:
            return take(self)
        outer, recorder.phase = recorder.phase, "data loading"
        try:
            worker = _worker(self)
            recorder.note_state()
            with recorder.hidden(self._num_workers > 0):  # when tensors arrive from workers depends on their speed
                batch = take(self)
            leaves = content.leaves(batch)
            values = [leaf if isinstance(leaf, torch.Tensor) else content.of_object(leaf) for leaf in leaves]
            number = recorder.event(batches.NAME, outputs=values, by=worker)
            with recorder.hidden(True), torch.no_grad():
                entries = batches.entries(leaves)
            recorder.event(batches.ENTRIES, outputs=entries, is_evidence=True)
            recorder.wrote(number, (leaf for leaf in leaves if isinstance(leaf, torch.Tensor)))
        finally:
            recorder.phase = outer
        return batch

    _BaseDataLoaderIter.__next__ = take_and_record  # type: ignore[method-assign]
    try:
        yield
    finally:
        _BaseDataLoaderIter.__next__ = take  # type: ignore[method-assign]


def _worker(loading: Any) -> str:
    """That makes the next batch, as "worker 1 of 2"."""
    task = getattr(loading, "_task_info", {}).get(getattr(loading, "_rcvd_idx", None))
    return f"worker {task[0]} of {loading._num_workers}" if task else ""


def wait(result: Any) -> None:
    """Until the tensors of a collective hold its result."""
    for leaf in content.leaves(result):
        if isinstance(leaf, torch.ScriptObject):
            torch.distributed.Work.unbox(leaf).wait()
