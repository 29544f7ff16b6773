# SPDX-License-Identifier: MIT
"""What a program does besides ops: steps of optimizers, results of models, batches of a DataLoader, and waiting for
collectives.

It is recorded in all steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules.module import register_module_forward_hook

from repdl import _content as content, _steps
from repdl._steps import Take
from repdl.runs import batches

if TYPE_CHECKING:
    from repdl.runs.recorder import Recorder


@contextmanager
def followed(recorder: Recorder) -> Iterator[None]:
    with ExitStack() as stack:
        stack.callback(register_module_forward_hook(partial(_result, recorder)).remove)
        of_steps = partial(_begin, recorder), partial(_end, recorder), partial(_batch, recorder)
        stack.enter_context(_steps.followed(*of_steps))
        yield


def _begin(recorder: Recorder, optimizer: torch.optim.Optimizer) -> None:
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


def _result(recorder: Recorder, module: torch.nn.Module, _inputs: Any, output: Any) -> None:
    """Of a module that no other one has called."""
    if get_ident() == recorder.thread and not recorder.modules.stack and not recorder.is_inside:
        tensors = [leaf for leaf in content.leaves(output) if isinstance(leaf, torch.Tensor)]
        recorder.event(f"result of {type(module).__name__}", outputs=tensors)


def _batch(recorder: Recorder, loader: Any, take: Take) -> Any:
    outer, recorder.phase = recorder.phase, "data loading"
    try:
        worker = _worker(loader)
        recorder.note_state()
        with recorder.hidden(loader._num_workers > 0):  # when tensors arrive from workers depends on their speed
            batch = take(loader)
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


def _worker(loading: Any) -> str:
    """That makes the next batch, as "worker 1 of 2"."""
    task = getattr(loading, "_task_info", {}).get(getattr(loading, "_rcvd_idx", None))
    return f"worker {task[0]} of {loading._num_workers}" if task else ""


def wait(result: Any) -> None:
    """Until the tensors of a collective hold its result."""
    for leaf in content.leaves(result):
        if isinstance(leaf, torch.ScriptObject):
            torch.distributed.Work.unbox(leaf).wait()
