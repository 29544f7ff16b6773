# SPDX-License-Identifier: MIT
"""Calls to try: a function with arguments, as torch's databases of ops and modules give them."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch.nn.parameter import is_lazy
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

Function = Callable[..., Any]

MOST_LOOKED_AT = 240
"""Of the samples that the database has of an op, so many are made and chosen from."""


@dataclass(frozen=True)
class Sample:
    """A call.

    label: its number in the database and what was done to it, "3 ties".
    reduced: gives of the results what is well-defined, of eigenvectors up to a factor say.
    in_place: the variant that writes into its first argument, if there is one and this call allows it.
    out: whether the function takes `out=`.
    """

    label: str
    function: Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    reduced: Function = lambda result: result
    in_place: Function | None = None
    out: bool = False

    @cached_property
    def _flat(self) -> tuple[list[Any], Any]:
        return tree_flatten((self.args, self.kwargs))

    def tensors(self) -> list[torch.Tensor]:
        return [leaf for leaf in self._flat[0] if isinstance(leaf, torch.Tensor)]

    def mapped(self, change: Callable[[Any], Any], label: str = "") -> Sample:
        """The call with every argument changed, numbers and tensors alike."""
        args, kwargs = tree_map(change, (self.args, self.kwargs))
        return replace(self, args=args, kwargs=kwargs, label=f"{self.label} {label}".rstrip())

    def with_tensors(self, tensors: list[torch.Tensor], label: str = "") -> Sample:
        leaves, form = self._flat
        given = iter(tensors)
        args, kwargs = tree_unflatten([next(given) if isinstance(x, torch.Tensor) else x for x in leaves], form)
        return replace(self, args=args, kwargs=kwargs, label=f"{self.label} {label}".rstrip())


def seed(text: str) -> None:
    """Every generator that samples are drawn from, by a text."""
    number = zlib.crc32(text.encode())
    random.seed(number)
    np.random.seed(number)
    torch.default_generator.manual_seed(number)  # torch.manual_seed seeds other devices too, and takes longer


def ops_samples(info: Any, dtype: str) -> Iterator[Sample]:
    seed(f"{info.full_name} {dtype}")
    torch_dtype = getattr(torch, dtype)
    given = info.sample_inputs_func(info, "cpu", torch_dtype, False)
    for i, sample in enumerate(islice(given, MOST_LOOKED_AT)):
        yield Sample(
            str(i),
            info.op,
            (sample.input, *sample.args),
            dict(sample.kwargs),
            _in_order if info.full_name in ORDER_IS_FREE else sample.output_process_fn_grad,
            None if sample.broadcasts_input else info.inplace_variant,
            bool(info.supports_out),
        )


ORDER_IS_FREE = ("linalg.eig", "linalg.eigvals")
"""Ops whose eigenvalues come in any order, by the algorithm."""


def _in_order(result: Any) -> Any:
    """The eigenvalues by size, and of eigenvectors the sizes of their numbers."""
    values, *vectors = (result,) if isinstance(result, torch.Tensor) else result
    order = np.argsort(np.round(values.detach().numpy(), 4))  # complex ones by their real part first
    indices = torch.from_numpy(order)
    return [values.gather(-1, indices), *(v.abs().gather(-1, indices.unsqueeze(-2).expand_as(v)) for v in vectors)]


def modules_samples(info: Any, dtype: str) -> Iterator[Sample]:
    """Parameters and buffers are arguments of the call, so that their layout and numbers are varied too."""
    torch_dtype = getattr(torch, dtype)
    number = 0
    for training in (True, False) if info.train_and_eval_differ else (True,):
        seed(f"{info.name} {dtype} {training}")
        inputs = info.module_inputs_func(info, device="cpu", dtype=torch_dtype, requires_grad=False, training=training)
        for given in islice(inputs, MOST_LOOKED_AT):
            constructor, forward = given.constructor_input, given.forward_input
            if forward is None:
                continue
            module = info.module_cls(*constructor.args, **constructor.kwargs).to(torch_dtype).train(training)
            if any(is_lazy(x) for x in module.parameters()):
                with torch.no_grad():
                    module(*forward.args, **forward.kwargs)  # gives its parameters their shapes
            state = {n: t.detach().clone() for n, t in (*module.named_parameters(), *module.named_buffers())}
            yield Sample(str(number), _Called(module), (state, *forward.args), dict(forward.kwargs))
            number += 1


class _Called:
    """A module as a function of its parameters, too."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module

    def __call__(self, state: dict[str, torch.Tensor], *args: Any, **kwargs: Any) -> Any:
        return torch.func.functional_call(self.module, state, args, kwargs)


def spread_evenly(samples: list[Sample], most: int) -> list[Sample]:
    """At most so many of them, the first and the last among them."""
    if len(samples) <= most:
        return samples
    return [samples[i * (len(samples) - 1) // (most - 1)] for i in range(most)] if most > 1 else samples[:1]
