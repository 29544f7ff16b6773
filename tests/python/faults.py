# SPDX-License-Identifier: MIT
"""Faults of programs, planted one by one: `repdl diff` names the first op in which each shows, and its cause."""

from __future__ import annotations

import ctypes
import itertools
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset

import planted_ops
from repdl.experiments.rounding import ROUNDINGS
from repdl.interception import choices
from repdl.interception.native import native_of
from repdl.interception.registration import register
from repdl.runs import difference
from repdl.runs.difference import Difference
from repdl.runs.sentence import sentence
from runs import Program, recorded, train_transformer, with_threads

planted = torch.ops.planted_ops
Kernel = Callable[..., torch.Tensor]


def compared(
    folder: Path, a: Program, b: Program, header: Mapping[str, str] = MappingProxyType({})
) -> tuple[Difference | None, str]:
    """header: what that of B has otherwise."""
    runs = recorded(folder / "a", a), recorded(folder / "b", b)
    runs[1].header |= header
    found = difference.find(*runs)
    return found, sentence(found, *runs)


@contextmanager
def replaced(name: str, kernel_of: Callable[[Kernel], Kernel]) -> Iterator[None]:
    """Another kernel in the place of torch's."""
    library = register({"CPU": {name: kernel_of(native_of(name))}})
    try:
        yield
    finally:
        library._destroy()


def changed(name: str, change: Callable[[torch.Tensor], object], call: int = 0) -> AbstractContextManager[None]:
    """torch's kernel, but one of its results is changed."""

    def kernel_of(native: Kernel) -> Kernel:
        calls = itertools.count()

        def kernel(*args: Any) -> torch.Tensor:
            result = native(*args)
            if next(calls) == call:
                change(result)
            return result

        return kernel

    return replaced(name, kernel_of)


def on_rounded(rounding: str) -> Callable[[Kernel], Kernel]:
    return lambda native: lambda *args: native(*map(ROUNDINGS[rounding], args))


def one_ulp(result: torch.Tensor) -> None:
    result.view(torch.int16 if result.itemsize == 2 else torch.int32).view(-1)[3] ^= 1


def two_ulps(result: torch.Tensor) -> None:
    result.view(torch.int32).add_(2)


def minus_zero(result: torch.Tensor) -> None:
    result[result == 0] = -0.0


def one_minus_zero(result: torch.Tensor) -> None:
    result.view(-1)[5] = -0.0


class Noisy(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.from_numpy(np.random.rand(3).astype("f")) + index + random.random()


def load(*seeds: int) -> Program:
    """In two workers with these seeds of NumPy and Python."""

    def seed(number: int) -> None:
        np.random.seed(seeds[2 * number])
        random.seed(seeds[2 * number + 1])

    return lambda: [batch.sum() for batch in DataLoader(Noisy(), 2, num_workers=2, worker_init_fn=seed)]


def seeded_by_hand(numpy: int, python: int) -> Program:
    def program() -> None:
        np.random.seed(numpy)
        random.seed(python)
        list(DataLoader(Noisy(), 2))

    return program


def shuffled(seed: int) -> Program:
    order = torch.Generator()
    return lambda: list(DataLoader(torch.arange(12.0), 3, shuffle=True, generator=order.manual_seed(seed)))


def in_order(order: Sequence[int], workers: int = 0) -> Program:
    return lambda: list(DataLoader(torch.arange(12.0), 3, sampler=order, num_workers=workers))


def stepped(before_step: Callable[[nn.Module, torch.optim.Optimizer], object], steps: int = 2) -> Program:
    def program() -> None:
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        x = torch.randn(5, 3)
        for step in range(steps):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            if step == 1:
                before_step(model, optimizer)
            optimizer.step()

    return program


def drop_gradient(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    model.get_parameter("0.bias").grad = None


def clear_gradient(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    gradient = model.get_parameter("0.bias").grad
    assert gradient is not None
    gradient.zero_()


def lower_rate(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.param_groups[0]["lr"] = 0.25


def change_momentum(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    parameter = model.get_parameter("2.weight")
    ctypes.c_float.from_address(optimizer.state[parameter]["momentum_buffer"].data_ptr()).value += 1  # past torch


def applied(function: Callable[[torch.Tensor], object], dtype: torch.dtype = torch.float32) -> Program:
    return lambda: function(torch.linspace(-2, 2, 24, dtype=dtype).reshape(4, 6))


def two_branches(cut: bool) -> Program:
    def program() -> None:
        x = torch.linspace(-1, 1, 6, requires_grad=True)
        (x.exp() + (x.sin().detach() if cut else x.sin())).sum().backward()

    return program


def of_garbage(byte: int, rows_written: int = 0) -> Program:
    def program() -> None:
        x = torch.empty(4, 2)
        ctypes.memset(x.data_ptr(), byte, 32)  # as memory that is handed out may hold anything
        for row in range(rows_written):
            x[row] = 1
        x.add(1)

    return program


def racing(first: int) -> Program:
    def program() -> None:
        planted_ops._calls = itertools.count(first)
        planted.racy(torch.linspace(-3, 3, 24))

    return program


def with_a_thread(value: float) -> Program:
    """That writes what the program is about to read."""

    def program() -> None:
        x = torch.zeros(6)
        thread = threading.Thread(target=lambda: x[2:3].fill_(value))
        thread.start()
        thread.join()
        x.exp()

    return program


def checkpointed(preserve: bool) -> Program:
    def program() -> None:
        layer = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
        x = torch.randn(3, 4, requires_grad=True)
        checkpoint(layer, x, use_reentrant=False, preserve_rng_state=preserve).sum().backward()

    return program


def resumed(torchs: bool = True, numpys: bool = True) -> Program:
    """From a checkpoint that has the states of both generators, or lacks one."""

    def program() -> None:
        F.dropout(torch.ones(8))
        np.random.seed(3)
        state, of_numpy = torch.get_rng_state(), np.random.get_state()
        torch.manual_seed(5)  # as another process begins
        np.random.seed(5)
        random.seed(5)
        if torchs:
            torch.set_rng_state(state)
        if numpys:
            np.random.set_state(of_numpy)
        F.dropout(next(iter(DataLoader(Noisy(), 2))))

    return program


def with_fault(program: Program, fault: Callable[[], AbstractContextManager[None]]) -> Program:
    def faulty() -> None:
        with fault():
            program()

    return faulty


def seeded(seed: int) -> Program:
    def program() -> None:
        torch.manual_seed(seed)
        torch.randn(3)

    return program


def given(array: list[float]) -> Program:
    return lambda: torch.from_numpy(np.array(array)).exp()


class Fault(NamedTuple):
    """Two programs, of which the second has the fault, and what is said of them.

    first: the kind of the first difference, and its op. cause: words of the sentence that name the cause, "" if none
    do. tried: whether they are of `repdl diff --cause`. header: what that of the second has otherwise.
    """

    kind: str
    a: Program
    b: Program
    first: tuple[str, str]
    cause: str
    tried: bool = False
    header: Mapping[str, str] = MappingProxyType({})


NOTHING = stepped(lambda *_: None)
RELU = applied(lambda x: F.relu(x).exp())
EXP = applied(lambda x: x.exp().sum())
PRODUCT = applied(lambda x: (x.mul(1e5) @ x.t()).exp())
PLANTED_PRECISION = applied(planted.precision)
PLANTED_THREADS = applied(planted.threads)
RACE, THREADS, TF32, WORKER, SHUFFLED, GRADIENT = "race", "threads", "TF32", "seed of a worker", "shuffled", "gradient"
GARBAGE, ZERO, ULP, OP, VERSION, STATE = "uninitialised", "sign of zero", "one ULP", "op", "version", "generator state"
OTHERS = "others"
RANDOM, GIVEN = (f"{name} was in another state" for name in ("torch's generator", "the generator that it was given"))
WORKERS = "worker 1 of 2, batch of DataLoader"

FAULTS: dict[str, Fault] = {
    "race of an op": Fault(
        *(RACE, racing(0), racing(4), ("result", "planted_ops::racy")),
        *("The cause is the op itself, which varies from run to run", True),
    ),
    "race of a thread": Fault(
        *(RACE, with_a_thread(1), with_a_thread(2), ("input", "aten::exp")),
        "it was equal when aten::zeros wrote it in step 0, forward at tests/python/faults.py",
    ),
    "threads": Fault(
        *(THREADS, with_threads(1, PLANTED_THREADS), with_threads(2, PLANTED_THREADS)),
        *(("result", "planted_ops::threads"), "The runs had other settings: threads (1 in A, 2 in B)."),
    ),
    "threads that settings do not show": Fault(
        *(THREADS, with_threads(1, PLANTED_THREADS), applied(lambda x: with_threads(3, lambda: planted.threads(x))())),
        *(("result", "planted_ops::threads"), "The cause is the number of threads: made again with 3 threads", True),
    ),
    "TF32": Fault(
        *(TF32, PRODUCT, with_fault(PRODUCT, lambda: replaced("mm", on_rounded("TF32"))), ("result", "aten::mm")),
        *("The cause is the rounding of its inputs: made again on inputs rounded to TF32 it gives B's result", True),
    ),
    "TF32 towards zero": Fault(
        *(TF32, PRODUCT, with_fault(PRODUCT, lambda: replaced("mm", on_rounded("TF32 towards zero")))),
        *(("result", "aten::mm"), "on inputs rounded to TF32 towards zero it gives B's result", True),
    ),
    "bfloat16": Fault(
        *(TF32, PRODUCT, with_fault(PRODUCT, lambda: replaced("mm", on_rounded("bfloat16"))), ("result", "aten::mm")),
        *("made again on inputs rounded to bfloat16 it gives B's result", True),
    ),
    "precision": Fault(
        *(TF32, PLANTED_PRECISION, with_fault(PLANTED_PRECISION, lambda: choices.PRECISION.made("high"))),
        *(("result", "planted_ops::precision"), "precision of float32 products (highest in A, high in B)"),
    ),
    "seed of a worker": Fault(WORKER, load(1, 2, 3, 4), load(1, 2, 7, 4), ("result", "batch of DataLoader"), WORKERS),
    "Python's seed of a worker": Fault(
        WORKER, load(1, 2, 3, 4), load(1, 2, 3, 7), ("result", "batch of DataLoader"), WORKERS
    ),
    "shuffled otherwise": Fault(SHUFFLED, shuffled(1), shuffled(2), ("result", "aten::random_"), GIVEN),
    "shuffled within a batch": Fault(
        *(SHUFFLED, in_order(range(12)), in_order([0, 1, 2, 5, 4, 3, *range(6, 12)])),
        *(("path", "aten::select.int"), "The batch has the same entries in another order."),
    ),
    "shuffled batches": Fault(
        *(SHUFFLED, in_order(range(12), 1), in_order([0, 1, 2, 9, 10, 11, 3, 4, 5, 6, 7, 8], 1)),
        *(
            ("result", "batch of DataLoader"),
            "data come in another order: in A the entries of the batch are those of others.",
        ),
    ),
    "dropped gradient": Fault(
        *(GRADIENT, NOTHING, stepped(drop_gradient), ("arguments", "options of SGD")),
        "step 1, optimizer, options of SGD at tests/python/faults.py",
    ),
    "cleared gradient": Fault(
        *(GRADIENT, NOTHING, stepped(clear_gradient), ("path", "aten::zero_")), "run B has this op, run A does not"
    ),
    "gradient that a branch has lost": Fault(
        *(GRADIENT, two_branches(False), two_branches(True), ("path", "aten::detach")), "run B has this op, run A"
    ),
    "memory": Fault(
        *(GARBAGE, of_garbage(0x40), of_garbage(0x41), ("result", "aten::add.Tensor")),
        "it read memory that nothing had written (input 0)",
    ),
    "memory of which a part is written": Fault(
        *(GARBAGE, of_garbage(0x40, 3), of_garbage(0x41, 3), ("result", "aten::add.Tensor")),
        "it read memory that nothing had written (input 0)",
    ),
    "memory that an op leaves": Fault(
        *(GARBAGE, EXP, with_fault(EXP, lambda: changed("exp", lambda y: y[2:].fill_(3e8))), ("result", "aten::exp")),
        "",
    ),
    "signs of zeros": Fault(
        *(ZERO, RELU, with_fault(RELU, lambda: changed("relu", minus_zero)), ("result", "aten::relu")),
        *("fault in its result: B's is the same but for the signs of zeros; 12 of 24 numbers differ", True),
    ),
    "sign of one zero": Fault(
        *(ZERO, RELU, with_fault(RELU, lambda: changed("relu", one_minus_zero)), ("result", "aten::relu")),
        *(
            "but for the sign of one element; 1 of 24 numbers differ, in the signs of zeros alone, first [0, 5]",
            True,
        ),
    ),
    "one bit": Fault(
        *(ULP, train_transformer, with_fault(train_transformer, lambda: changed("addmm", one_ulp, 9))),
        *(("result", "aten::addmm"), "B's is the same but for one element, which is one ulp away; 1 of 160", True),
    ),
    "one bit of a backward pass": Fault(
        *(ULP, train_transformer, with_fault(train_transformer, lambda: changed("mm", one_ulp, 4))),
        *(("result", "aten::mm"), "B's is the same but for one element, which is one ulp away", True),
    ),
    "one bit of bfloat16": Fault(
        *(ULP, applied(lambda x: x.sigmoid().sum(), torch.bfloat16)),
        with_fault(applied(lambda x: x.sigmoid().sum(), torch.bfloat16), lambda: changed("sigmoid", one_ulp)),
        *(("result", "aten::sigmoid"), "one ulp away; 1 of 24 numbers differ, by at most 1 ulp, first [0, 3]", True),
    ),
    "an upper bit": Fault(
        *(ULP, EXP, with_fault(EXP, lambda: changed("exp", lambda y: y.view(torch.int32)[2, 1].bitwise_xor_(1 << 20)))),
        *(("result", "aten::exp"), "B's is the same but for one bit of one element, bit 20", True),
    ),
    "another op": Fault(
        *(OP, applied(lambda x: (x * x).sum()), applied(lambda x: x.square().sum()), ("path", "aten::mul.Tensor")),
        "run A has this op, where run B has aten::pow.Tensor_Scalar at",
    ),
    "missing op": Fault(
        *(OP, applied(lambda x: x.exp().relu().sum()), EXP, ("path", "aten::relu")), "run A has this op, run B does not"
    ),
    "ops that are more": Fault(
        *(OP, EXP, applied(lambda x: x.exp().relu().neg().sum()), ("path", "aten::relu")),
        "run B has this op and the 1 after it, run A does not",
    ),
    "another formula": Fault(
        *(OP, applied(F.gelu), applied(lambda x: F.gelu(x, approximate="tanh")), ("arguments", "aten::gelu")),
        "(float32[4, 6]; approximate=tanh) in B",
    ),
    "another kernel": Fault(
        *(OP, EXP, with_fault(EXP, lambda: replaced("exp", lambda native: lambda x: native(x / 2) * native(x / 2)))),
        *(("result", "aten::exp"), ""),
    ),
    "torch's version": Fault(
        *(VERSION, EXP, with_fault(EXP, lambda: changed("exp", two_ulps)), ("result", "aten::exp")),
        f"The runs had other settings: torch ({torch.__version__} in A, 2.99.0 in B).",
        header={"torch": "2.99.0"},
    ),
    "torch's build": Fault(
        *(VERSION, EXP, with_fault(EXP, lambda: changed("exp", two_ulps)), ("result", "aten::exp")),
        "The runs had other settings: build (",
        header={"build": "0"},
    ),
    "a version that takes other ops": Fault(
        *(VERSION, EXP, applied(lambda x: x.exp2().sum()), ("path", "aten::exp")),
        "2.99.0 in B).",
        header={"torch": "2.99.0"},
    ),
    "checkpoint of activations": Fault(
        *(STATE, checkpointed(True), checkpointed(False), ("result", "aten::bernoulli_.float")), RANDOM
    ),
    "checkpoint without torch's generator": Fault(
        *(STATE, resumed(), resumed(torchs=False), ("result", "aten::random_")), RANDOM
    ),
    "checkpoint without NumPy's generator": Fault(
        *(STATE, resumed(), resumed(numpys=False), ("input", "aten::lift_fresh")),
        "NumPy's generator was in another state",
    ),
    "seed": Fault(OTHERS, seeded(1), seeded(2), ("result", "aten::randn"), RANDOM),
    "NumPy's seed": Fault(
        *(OTHERS, seeded_by_hand(1, 1), seeded_by_hand(2, 1), ("input", "aten::lift_fresh")),
        "NumPy's generator was in another state",
    ),
    "Python's seed": Fault(
        *(OTHERS, seeded_by_hand(1, 1), seeded_by_hand(1, 2), ("arguments", "aten::add.Tensor")),
        "Python's generator was in another state",
    ),
    "learning rate": Fault(
        *(OTHERS, NOTHING, stepped(lower_rate), ("arguments", "options of SGD")), "it had lr=0.5 in A and lr=0.25 in B."
    ),
    "state of the optimizer": Fault(
        *(OTHERS, NOTHING, stepped(change_momentum), ("input", "aten::mul_.Tensor")),
        "differed already, and it was equal when aten::",
    ),
    "other shape": Fault(
        *(
            OTHERS,
            applied(lambda x: x[:3].sum(0)),
            applied(lambda x: x[:2].sum(0)),
            ("arguments", "aten::slice.Tensor"),
        ),
        "end=3",
    ),
    "other dtype": Fault(
        *(OTHERS, applied(lambda x: x.exp().double().sum()), applied(lambda x: x.exp().bfloat16().sum())),
        *(("arguments", "aten::_to_copy"), "torch.float64"),
    ),
    "other number": Fault(
        *(OTHERS, applied(lambda x: x * 0.5), applied(lambda x: x * 0.25), ("arguments", "aten::mul.Tensor")), "0.25"
    ),
    "data from outside": Fault(
        *(OTHERS, given([1, 2]), given([1, 3]), ("input", "aten::lift_fresh")), "no recorded op has written it"
    ),
    "fewer steps": Fault(
        *(OTHERS, NOTHING, stepped(lambda *_: None, 1), ("end", "aten::t")), "run B ended and run A went on"
    ),
}
