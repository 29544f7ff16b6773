# SPDX-License-Identifier: MIT
"""Records what a program computes: `with repdl.record(path):`."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import count
from pathlib import Path
from threading import get_ident
from time import perf_counter
from typing import Any

import torch

from repdl import _content as content
from repdl._core import __version__
from repdl._leaving import written_before
from repdl._telling import tell
from repdl.interception import places, switch
from repdl.interception.machine import CAPABILITY
from repdl.interception.origins import Origins
from repdl.interception.untraced import UntracedMode
from repdl.runs import events, ops, randomness, settings
from repdl.runs.columns import COLLECTIVE
from repdl.runs.file import Writer
from repdl.runs.log import ALL_STEPS, Log
from repdl.runs.memory import Memory, is_of_others, memory_of, storage, value_of, watched
from repdl.runs.window import ALL_OPS, SAMPLE, Window

_active: Recorder | None = None
_epochs = count()


class Recorder(UntracedMode):
    """Sees each op of this thread, below autograd, in the order of the calls; backward passes too."""

    def __init__(self, log: Log, steps: range, window: Window = ALL_OPS) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.log = log
        self.steps, self.window = steps, window  # whose ops are recorded
        self.seen = 0  # ops, recorded or not
        self.edge = window.first or window.end  # where it begins or ends to record
        self.next_sample = window.sample or sys.maxsize
        self.thread = get_ident()
        self.origins = Origins(has_plain_model=True)
        self.modules = self.origins.modules
        self.epoch = next(_epochs)  # changes where ops went by unseen, as between two recordings of a process
        self.is_recording = False  # ops of this step
        self.settings: tuple[object, ...] = ()  # as they were last recorded
        self.is_inside = False  # an op, or the recorder itself
        self.phase: str | None = None  # None goes by what runs
        self.own = 0.0  # seconds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.is_inside or self.log.is_closed or func.namespace == "profiler":
            return func(*args, **kwargs)
        if self.seen == self.edge:
            self.edge = self.window.end
            self.begin_step()
        self.seen += 1
        is_recorded = self.is_recording or func in ops.READ_OUT
        result = self._recorded(func, args, kwargs) if is_recorded else func(*args, **kwargs)
        if self.seen >= self.next_sample:
            self._sample(ops.of(func), result)
        return result

    def _recorded(self, func: Any, args: Any, kwargs: Any) -> Any:
        start = perf_counter()
        self.is_inside = True
        try:
            self._look()
            call = Recorded(self, ops.of(func), args, kwargs)
            before = perf_counter()
            result = self.make(call, func, args, kwargs)
            after = perf_counter()
            call.end(result)
        finally:
            self.is_inside = False
        self.own += before - start + perf_counter() - after
        return result

    def make(self, call: Recorded, func: Any, args: Any, kwargs: Any) -> Any:
        return func(*args, **kwargs)

    def _sample(self, op: ops.Op, result: Any) -> None:
        """Of the next op whose result is all there."""
        tensors = [leaf for leaf in content.leaves(result) if isinstance(leaf, torch.Tensor)]
        if tensors and op.is_settled:
            self.next_sample = self.window.sample_after(self.seen)
            self.event(SAMPLE, f"{self.seen} ops, the last of them {op.name}", outputs=tensors)

    def where(self) -> tuple[str, str, str]:
        """The phase, the module and the line of what runs now."""
        phase, node = self.phase, torch._C._current_autograd_node()
        if phase is None or (phase == "optimizer" and self.modules.stack):  # a closure
            phase = "forward" if node is None else "backward"
        module, line = self.origins.here(node)
        return phase, module, line

    @contextmanager
    def hidden(self, is_hidden: bool) -> Iterator[None]:
        """Ops of a block are not recorded, if so."""
        was_inside, self.is_inside = self.is_inside, self.is_inside or is_hidden
        try:
            yield
        finally:
            self.is_inside = was_inside

    def event(
        self,
        name: str,
        text: str = "",
        inputs: Any = (),
        outputs: Any = (),
        is_evidence: bool = False,
        by: str = "",
    ) -> int:
        """Records something that is no op. Values are tensors, or pairs of what they are and their hash.

        by: what has made it, in the place of a module.
        """
        if self.log.is_closed:
            return -1
        start = perf_counter()
        self._look()
        with self.hidden(True):
            with torch.no_grad():
                read = [self._of_event(value) for value in inputs]
                made = [self._of_event(value) for value in outputs]
            phase, module, line = self.where()
            wrote = [value[:2] for value in made]
            number = self.log.op(name, text, phase, by or module, line, read, wrote, None, is_evidence)
        self.own += perf_counter() - start
        return number

    def _of_event(self, value: Any) -> tuple[str, bytes, int]:
        if isinstance(value, torch.Tensor):
            memory = memory_of(value, self.epoch)
            return *value_of(value, memory), memory.writer
        return *value, -1

    def wrote(self, number: int, tensors: Any) -> None:
        """What an event has made, such as a batch."""
        for tensor in tensors:
            memory_of(tensor, self.epoch).writer = number

    def begin_step(self) -> None:
        if not self.is_recording:
            self.epoch = next(_epochs)
        self.is_recording = self.log.step in self.steps and self.window.first <= self.seen < self.window.end
        self.settings = settings.now()
        self.note_state()

    def _look(self) -> None:
        """Of memory that ops may have written unseen nothing is known; settings that were changed are noted."""
        if not self.is_recording:
            self.epoch = next(_epochs)
        elif (now := settings.now()) != self.settings:
            self.settings = now
            self.note_state()

    def when_at_rest(self, action: Callable[[], None]) -> Callable[[], None]:
        """An action that is left out in other threads and amid a call, where the log is not whole."""

        def act() -> None:
            if get_ident() == self.thread and not self.is_inside:
                action()

        return act

    def note_state(self) -> None:
        """What is no difference by itself, but may explain one."""
        self.event("random generators", settings.text(self.settings), randomness.of_process(), is_evidence=True)


class Recorded:
    """An op under way: what it reads is hashed when it begins, what it writes when it has ended."""

    __slots__ = (
        "device",
        "generator",
        "inputs",
        "memories",
        "names",
        "op",
        "recorder",
        "sizes",
        "texts",
        "where",
        "written",
    )

    def __init__(self, recorder: Recorder, op: ops.Op, args: Any, kwargs: Any) -> None:
        self.recorder, self.op = recorder, op
        self.texts: list[str] = []
        self.inputs: list[tuple[str, bytes, int]] = []
        self.names: list[str] = []  # of the arguments that are written
        self.written: list[torch.Tensor] = []
        self.sizes: list[int] = []
        self.memories: list[Memory] = []  # of all tensors, if the op may write what its schema does not say
        self.device: torch.device | None = None
        for name, value in zip(op.names, args, strict=False):
            if isinstance(value, torch.Tensor):
                self._tensor(name, value)
            elif value is not None:
                self._argument(name, value)
        for name, value in kwargs.items():
            self._argument(name, value)
        self.generator = randomness.of_torch(kwargs.get("generator"), self.device) if op.is_seeded else None
        self.where = recorder.where()
        if op.is_collective:
            self.where = (COLLECTIVE, *self.where[1:])

    def _argument(self, name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            self._tensor(name, value)
        elif isinstance(value, _SEQUENCES) and not _are_numbers(value) and any(isinstance(v, _NESTED) for v in value):
            for v in content.leaves(value):
                if isinstance(v, torch.Tensor):
                    self._tensor(name, v)
            if any(v is None for v in value):  # an index that is left out
                self.texts.append(f"{name}=[{', '.join('None' if v is None else '_' for v in value)}]")
        elif value is not None:
            self.texts.append(f"{name}={_text(value)}")

    def _tensor(self, name: str, tensor: torch.Tensor) -> None:
        op = self.op
        memory = memory_of(tensor, self.recorder.epoch)
        if not op.is_reading:
            if op.is_seeded and self.device is None:
                self.device = tensor.device
            if op.is_handed:
                return
            if not op.is_of_torch:
                self.memories.append(memory)
            if name in op.writes:
                self.names.append(name)
                self.written.append(tensor)
                self.sizes.append(_bytes_behind(tensor) if op.is_resize else 0)
            if name in op.overwrites:
                return
            if op.is_view and not tensor.is_contiguous():
                self.inputs.append((content.kind(tensor), content.UNHASHED, memory.writer))
                return
        what, value = value_of(tensor, memory)
        self.inputs.append((what, value, memory.writer))

    def end(self, result: Any) -> None:
        recorder, op = self.recorder, self.op
        if op.is_collective and not op.is_point_to_point:
            events.wait(result)
        number, epoch = recorder.log.ops, recorder.epoch
        outputs = []
        for memory in self.memories:
            memory.forget()
        for name, tensor, size in zip(self.names, self.written, self.sizes, strict=True):
            memory = memory_of(tensor, epoch)
            memory.written(number, 0 if op.is_resize else tensor.nbytes)
            memory.is_workspace = name in op.workspaces
            if op.is_resize:
                memory.unwritten += max(0, _bytes_behind(tensor) - size)
            outputs.append(self._output(tensor, memory))
            memory.version = None  # torch counts this write after us
        for i, tensor in enumerate(self.results(result)[len(outputs) :]):
            memory = self._made(tensor, number)
            memory.is_workspace |= i in op.workspaces
            outputs.append(self._output(tensor, memory))
        recorder.log.op(op.name, ", ".join(self.texts), *self.where, self.inputs, outputs, self.generator, False)

    def results(self, result: Any) -> list[torch.Tensor]:
        """What it has written, and then what else it gave."""
        if isinstance(result, torch.Tensor):
            given = [result]
        else:
            given = [leaf for leaf in content.leaves(result) if isinstance(leaf, torch.Tensor)]
        if not self.written:
            return given
        known = {id(tensor) for tensor in self.written}
        return self.written + [tensor for tensor in given if id(tensor) not in known]

    def _made(self, tensor: torch.Tensor, number: int) -> Memory:
        """Of new memory; or of that of an argument, where the op gave a view of it."""
        found, epoch = storage(tensor), self.recorder.epoch
        memory = getattr(found, "_repdl_memory", None)
        if memory is not None:
            return memory_of(tensor, epoch)
        memory = Memory(epoch, number, is_of_others(tensor, found))
        if found is not None:
            found._repdl_memory = memory
            if self.op.is_uninitialised:
                memory.unwritten = found.nbytes()
        return memory

    def _output(self, tensor: torch.Tensor, memory: Memory) -> tuple[str, bytes]:
        if self.op.is_hashed or (self.op.is_view and tensor.is_contiguous()):
            return value_of(tensor, memory)
        return content.kind(tensor), content.UNHASHED


def _bytes_behind(tensor: torch.Tensor) -> int:
    found = storage(tensor)
    return 0 if found is None else int(found.nbytes())


_LONGEST = 200

# Tuples, since a union is made anew at each call.
_SEQUENCES, _NESTED = (list, tuple), (torch.Tensor, list)
_NUMBERS, _NUMBERS_OF_PYTHON = (int, float, complex), {bool, int, float, complex}
_SHOWN = (str, torch.dtype, torch.device, torch.layout, torch.memory_format)


def _are_numbers(values: Any) -> bool:
    return _NUMBERS_OF_PYTHON.issuperset(map(type, values))


def _text(value: Any) -> str:
    """Of an argument; of an object, whose text has its address, the type alone."""
    if isinstance(value, _NUMBERS):
        text = repr(value)
    elif isinstance(value, _SEQUENCES):
        text = repr([*value]) if _are_numbers(value) else f"[{', '.join(map(_text, value))}]"
    elif isinstance(value, _SHOWN):
        text = str(value)
    else:
        text = type(value).__name__
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}… {content.digest(text.encode()).hex()}"
    return text


def record(path: str | os.PathLike[str], every: int = 1, quiet: bool = False) -> AbstractContextManager[Recorder]:
    """Records each op of a block into a file, with hashes of what it reads and writes; `repdl diff` compares two.

    It records this thread and the backward passes that it starts, of programs of stock torch and under
    `repdl.enable()` alike. Bits, random numbers and layouts of the program stay as they are. A process that the
    program forks does not write into the file. docs/record.md says what is hashed, and what it costs.

    Args:
        path: the file, written anew.
        every: of how many steps one is recorded op by op; of the others only batches and the state of optimizers.
            A step ends when an optimizer steps.
        quiet: does not print the summary.

    Raises:
        ImportError: if the libraries of the extra `record` are missing; the message says how to install them.
        OSError: if the file cannot be written. A disk that fills up later warns, and ends the recording.
        RuntimeError: if something is being recorded already.
        TypeError: for what is no path, or if every is no whole number.
        ValueError: if every is not a positive number.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"[record] path must be a text or a path, got {type(path).__name__}")
    if not isinstance(every, int):
        raise TypeError(f"[record] every must be a whole number, got {type(every).__name__}")
    if every < 1:
        raise ValueError(f"[record] every must be at least 1, got {every}")
    return recording(path, ALL_STEPS[::every], quiet)


@contextmanager
@places.edge
def recording(
    path: str | os.PathLike[str],
    steps: range = ALL_STEPS,
    quiet: bool = False,
    program: Mapping[str, Any] | None = None,
    kind: Callable[[Log, range, Window], Recorder] = Recorder,
    window: Window = ALL_OPS,
) -> Iterator[Recorder]:
    """As `record`. steps, window: whose ops are recorded. program: what has to be run to have this run again."""
    global _active
    if _active is not None:
        raise RuntimeError("[record] a run is being recorded already; one at a time")
    log = Log(Writer(Path(path)), _header(steps, window) | dict(program or {}))
    recorder = _active = kind(log, steps, window)
    begin, status = perf_counter(), "raised"

    def end(status: str = "left") -> None:
        if not log.is_closed:
            log.close(status, perf_counter() - begin, recorder.own)
            if not quiet:
                tell(f"repdl record: {log.summary(perf_counter() - begin, recorder.own)}")

    leave, write = recorder.when_at_rest(end), recorder.when_at_rest(log.write)
    try:
        with ExitStack() as stack:
            stack.enter_context(written_before(lambda status: leave(), write))
            stack.enter_context(watched(lambda: recorder.is_inside))
            stack.enter_context(recorder.origins.followed())
            stack.enter_context(events.followed(recorder))
            recorder.begin_step()
            stack.enter_context(recorder)
            yield recorder
        status = "ended"
    finally:
        _active = None
        end(status)


def _build_of_torch() -> str:
    """What torch says of how it was built, without the instruction set that this process takes of it."""
    return "\n".join(line for line in torch.__config__.show().splitlines() if "CPU capability usage" not in line)


def _header(steps: range, window: Window) -> dict[str, Any]:
    return {
        "repdl": __version__,
        "torch": str(torch.__version__),
        "build": content.digest(_build_of_torch().encode()).hex()[:8],
        "python": platform.python_version(),
        "machine": platform.machine(),
        "capability": CAPABILITY.upper(),
        "threads": torch.get_num_threads(),
        "enabled": switch.is_enabled(),
        "environment": settings.environment(),
        "first_step": steps.start,
        "end_step": steps.stop,
        "every": steps.step,
        **{f"window_{name}": number for name, number in window._asdict().items()},
        "arguments": [str(argument)[:1000] for argument in sys.argv[:100]],
    }


def _leave_to_parent() -> None:
    """In a forked child: the file is the parent's."""
    global _active
    if _active is not None:
        _active.log.leave()
        _active = None


os.register_at_fork(after_in_child=_leave_to_parent)
