# SPDX-License-Identifier: MIT
"""The sums of attention and of its gradient: of one query, key or head where the sum is not over those.

Vectors of 0 make all scores 0, so that each of S keys has the probability 1 / S, a power of two if S is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from repdl.reveal.setup import Adapter, Options, Setup, logarithms, ones, takes
from repdl.reveal.tree import Array

STRETCH = 2.0**20
"""What a score is multiplied by, so that its last place shows in the probability."""

Probability: TypeAlias = Callable[..., float]
"""From the op, a query, keys, the place of one of them and named arguments: the probability of that key."""


def _zeros(*shape: int) -> Array:
    return ones(*shape) * 0


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def _forward(call: Callable[..., Any], query: Array, key: Array, place: int, **named: Any) -> float:
    value = _zeros(1, 1, key.shape[2], 1)
    value[0, 0, place] = 1
    return float(call(query, key, value, **named)[0, 0, 0, 0])


def _backward(call: Callable[..., Any], query: Array, key: Array, place: int, **named: Any) -> float:
    """From the gradient of the values."""
    value = _zeros(1, 1, key.shape[2], 1)
    return float(call(ones(1, 1, 1, 1), query, key, value, **named)[2][0, 0, place, 0])


def _scores(probability: Probability) -> Adapter:
    """Of a key beside another whose score is 0. The mask takes most of the score away, and the rest is stretched."""

    @takes("sum")
    def adapter(call: Callable[..., Any], options: Options, name: str) -> Setup:
        query, key = ones(1, 1, 1, options.terms), _zeros(1, 1, 2, options.terms)
        mask, terms, factors = np.zeros(2, np.float32), query[0, 0, 0], key[0, 0, 0]

        def run() -> float:
            near = np.dot(terms.astype(np.float64), factors).astype(np.float32)
            mask[0] = -near * np.float32(STRETCH)
            p = probability(call, query, key, 0, attn_mask=mask, scale=STRETCH)
            return float(near + np.log(p / (1 - p)) / STRETCH)

        what = f"{name} of query {query.shape} and key {key.shape}, the score of the first key"
        return Setup(what, terms, run, factors, positive=True)

    return adapter


def _softmax(probability: Probability) -> Adapter:
    @takes("sum")
    def adapter(call: Callable[..., Any], options: Options, name: str) -> Setup:
        query, key = ones(1, 1, 1, 1), ones(1, 1, options.terms, 1)
        scores = key[0, 0, :, 0]

        def run() -> float:
            return 1 / probability(call, query, key, int(scores.argmax()), scale=1.0)  # its term is exp(0) = 1

        what = f"{name} of query {query.shape} and key {key.shape}, the denominator of the softmax"
        return Setup(what, scores, run, put=logarithms, exact=False, positive=True)

    return adapter


@takes("sum")
def _output(call: Callable[..., Any], options: Options, name: str) -> Setup:
    keys = _power_of_two(options.terms)
    query, key, value, dropout = (_zeros(1, 1, n, 1) for n in (1, keys, keys, keys))
    factors = dropout.reshape(keys)[: options.terms]
    run = lambda: call(query, key, value, None, dropout.reshape(keys))[0, 0, 0, 0] * keys  # noqa: E731
    what = f"{name} of value {value.shape}, the output over the first {options.terms} keys"
    return Setup(what, value[0, 0, : options.terms, 0], run, factors)


# Of the gradient, in the order of the contract.


@takes("sum")
def _grad_probabilities(call: Callable[..., Any], options: Options, name: str) -> Setup:
    """a, of the first of two keys; that of the other is 0. So t = a / 2, and the gradient is (a - t) / 2."""
    grad, value = ones(1, 1, 1, options.terms), _zeros(1, 1, 2, options.terms)
    query, key = ones(1, 1, 1, 1), _zeros(1, 1, 2, 1)
    run = lambda: call(grad, query, key, value, scale=1.0)[1][0, 0, 0, 0] * 4  # noqa: E731
    what = f"{name} of output {grad.shape} and value {value.shape}, a of the first key"
    return Setup(what, grad[0, 0, 0], run, value[0, 0, 0])


@takes("sum")
def _grad_softmax(call: Callable[..., Any], options: Options, name: str) -> Setup:
    """t; the gradient of a key whose a is 0 is -t p."""
    keys = _power_of_two(options.terms + 1)
    grad, query, key, value, dropout = (_zeros(1, 1, n, 1) for n in (1, 1, keys, keys, keys))
    grad[...] = query[...] = 1
    factors = dropout.reshape(keys)[: options.terms]

    def run() -> float:
        grad_key = call(grad, query, key, value, None, dropout.reshape(keys), scale=1.0)[1]
        return float(-grad_key[0, 0, -1, 0] * keys**2)

    what = f"{name} of value {value.shape}, t over the first {options.terms} keys"
    return Setup(what, value[0, 0, : options.terms, 0], run, factors)


@takes("sum")
def _grad_query(call: Callable[..., Any], options: Options, name: str) -> Setup:
    """As many keys again have the opposite a, so that t = 0, and are 0."""
    keys = 2 * _power_of_two(options.terms)
    grad, query, key, value = (_zeros(1, 1, n, 1) for n in (1, 1, keys, keys))
    grad[...] = 1
    a = value[0, 0, :, 0]

    def run() -> float:
        a[options.terms : 2 * options.terms] = -a[: options.terms]
        return float(call(grad, query, key, value, scale=1.0)[0][0, 0, 0, 0] * keys)

    what = f"{name} of key {key.shape}, the gradient of the query over the first {options.terms} keys"
    return Setup(what, key[0, 0, : options.terms, 0], run, a[: options.terms])


@takes("sum")
def _grad_key(call: Callable[..., Any], options: Options, name: str) -> Setup:
    """Of the first of two keys, as for a."""
    grad, query, key, value = (_zeros(1, 1, n, 1) for n in (options.terms, options.terms, 2, 2))
    value[0, 0, 0] = 1
    run = lambda: call(grad, query, key, value, scale=1.0)[1][0, 0, 0, 0] * 4  # noqa: E731
    what = f"{name} of query {query.shape}, the gradient of the first key over the queries"
    return Setup(what, query[0, 0, :, 0], run, grad[0, 0, :, 0])


def _grad_value(over: str) -> Adapter:
    """Of the only key."""

    @takes("sum")
    def adapter(call: Callable[..., Any], options: Options, name: str) -> Setup:
        heads, queries = (options.terms, 1) if over == "heads" else (1, options.terms)
        grad, query, dropout = (_zeros(1, heads, queries, 1) for _ in range(3))
        key, value = _zeros(1, 1, 1, 1), _zeros(1, 1, 1, 1)
        run = lambda: call(grad, query, key, value, None, dropout)[2][0, 0, 0, 0]  # noqa: E731
        what = f"{name} of output {grad.shape}, the gradient of the value of the only key over the {over}"
        return Setup(what, grad.reshape(-1), run, dropout.reshape(-1))

    return adapter


attention = {"score": _scores(_forward), "softmax": _softmax(_forward), "output": _output}
attention_grad = {
    "score": _scores(_backward),
    "softmax": _softmax(_backward),
    "a": _grad_probabilities,
    "t": _grad_softmax,
    "query": _grad_query,
    "key": _grad_key,
    "value": _grad_value("queries"),
    "heads": _grad_value("heads"),
}
