# SPDX-License-Identifier: MIT
"""What a program does besides ops: steps of optimizers, batches of a DataLoader, and waiting for collectives."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from repdl import _steps
from repdl._steps import Take
from repdl.runs import content

if TYPE_CHECKING:
    from repdl.runs.recorder import Recorder


def followed(recorder: Recorder) -> AbstractContextManager[None]:
    return _steps.followed(partial(_begin, recorder), partial(_end, recorder), partial(_batch, recorder))


def _begin(recorder: Recorder, optimizer: torch.optim.Optimizer) -> None:
    recorder.phase = "optimizer"
    texts, tensors = [], []
    for number, group in enumerate(optimizer.param_groups):
        for name, value in group.items():
            if isinstance(value, torch.Tensor):
                tensors.append(value)
            elif name != "params":
                texts.append(f"{name}={value}" if number == 0 else f"{number}.{name}={value}")
    recorder.event(f"options of {type(optimizer).__name__}", ", ".join(texts), tensors)


def _end(recorder: Recorder, optimizer: torch.optim.Optimizer) -> None:
    """The state of the optimizer, then the end of the step."""
    texts, values = [], []
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for number, parameter in enumerate(parameters):
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


def _batch(recorder: Recorder, loader: Any, take: Take) -> Any:
    outer, recorder.phase = recorder.phase, "data loading"
    try:
        with recorder.hidden(loader._num_workers > 0):  # when tensors arrive from workers depends on their speed
            batch = take(loader)
        leaves = content.leaves(batch)
        values = [leaf if isinstance(leaf, torch.Tensor) else content.of_object(leaf) for leaf in leaves]
        number = recorder.event("batch of DataLoader", outputs=values)
        recorder.wrote(number, (leaf for leaf in leaves if isinstance(leaf, torch.Tensor)))
    finally:
        recorder.phase = outer
    return batch


def wait(result: Any) -> None:
    """Until the tensors of a collective hold its result."""
    for leaf in content.leaves(result):
        if isinstance(leaf, torch.ScriptObject):
            torch.distributed.Work.unbox(leaf).wait()
