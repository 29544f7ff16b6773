# SPDX-License-Identifier: MIT
"""Order, threads and target."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import torch

import repdl
from repdl._context import _stash
from support import run_python


def test_the_order_nests_and_is_given_back() -> None:
    assert repdl.get_order() == "blocked"
    with repdl.order("sequential"):
        assert repdl.get_order() == "sequential"
        with repdl.order("blocked"):
            assert repdl.get_order() == "blocked"
        assert repdl.get_order() == "sequential"
    assert repdl.get_order() == "blocked"
    repdl.set_order("sequential")
    assert repdl.get_order() == "sequential"


def test_the_order_is_a_decorator_too() -> None:
    @repdl.order("sequential")
    def current() -> str:
        return repdl.get_order()

    assert current() == "sequential"
    assert repdl.get_order() == "blocked"


def test_a_with_block_acts_on_its_own_thread() -> None:
    seen = []
    with repdl.order("sequential"):
        thread = threading.Thread(target=lambda: seen.append(repdl.get_order()))
        thread.start()
        thread.join()
    assert seen == ["blocked"]


def test_threads_follow_torch_until_they_are_set() -> None:
    code = """
import torch, repdl
torch.set_num_threads(3); print(repdl.get_num_threads())
repdl.ops.exp(torch.ones(3)); print(repdl.get_num_threads())
repdl.set_num_threads(2); torch.set_num_threads(1); print(repdl.get_num_threads())
"""
    assert run_python(code).split() == ["3", "3", "2"]


def test_without_torch_threads_follow_the_environment() -> None:
    code = "import repdl; print(repdl.get_num_threads())"
    assert run_python(code, OMP_NUM_THREADS="5").strip() == "5"
    assert int(run_python(code, OMP_NUM_THREADS="")) >= 1
    assert int(run_python(code, OMP_NUM_THREADS="nonsense")) >= 1


def test_many_python_threads_may_call_at_once() -> None:
    a, b = torch.randn(50, 400), torch.randn(400, 60)
    expected = repdl.ops.mm(a, b)
    wrong = []

    def work() -> None:
        for _ in range(20):
            if not torch.equal(repdl.ops.mm(a, b), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_target_can_be_forced_by_the_environment() -> None:
    code = "from repdl import _core; print(_core.active_target())"
    assert run_python(code, REPDL_TARGET="scalar").strip() == "scalar"


X = torch.arange(1, 5001, dtype=torch.float32).sqrt()
SUMS = {order: repdl.ops.sum(X, order=order) for order in ("blocked", "sequential")}


def in_another_thread(function: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_blocks_left_out_of_turn_bring_nothing_back() -> None:
    assert not torch.equal(*SUMS.values())
    for manager in (repdl.order, lambda order: repdl.reproducible(order=order)):
        first, second = manager("sequential"), manager("blocked")
        first.__enter__()
        second.__enter__()
        assert repdl.get_order() == "blocked"
        first.__exit__(None, None, None)
        assert repdl.get_order() == "blocked"
        second.__exit__(None, None, None)
        assert repdl.get_order() == "blocked" == in_another_thread(repdl.get_order)
        second, first = manager("blocked"), manager("sequential")
        second.__enter__()
        first.__enter__()
        second.__exit__(None, None, None)
        assert repdl.get_order() == "sequential"
        first.__exit__(None, None, None)
        assert repdl.get_order() == "blocked"


def test_the_latest_order_of_the_process_holds_in_other_threads() -> None:
    with repdl.reproducible(order="sequential"):
        assert in_another_thread(repdl.get_order) == "sequential"
        with repdl.reproducible(order="blocked"):
            assert repdl.get_order() == "blocked" == in_another_thread(repdl.get_order)
            assert torch.equal(X.sum(), SUMS["blocked"])
        with repdl.reproducible():
            assert torch.equal(X.sum(), SUMS["sequential"])
            assert torch.equal(in_another_thread(X.sum), SUMS["sequential"])
    assert in_another_thread(repdl.get_order) == "blocked"


def test_blocks_of_two_threads_compute_each_in_its_order() -> None:
    wrong: list[str] = []
    step = threading.Barrier(2)

    def work(order: str, leaves_first: bool) -> None:
        for _ in range(20):
            step.wait()
            with repdl.reproducible(order=order):
                step.wait()
                for _ in range(5):
                    if not torch.equal(X.sum(), SUMS[order]):
                        wrong.append(order)
                if not leaves_first:
                    step.wait()
                    if not torch.equal(X.sum(), SUMS[order]):
                        wrong.append(order)
            if leaves_first:
                step.wait()

    threads = [
        threading.Thread(target=work, args=("sequential", True)),
        threading.Thread(target=work, args=("blocked", False)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert repdl.get_order() == "blocked" == in_another_thread(repdl.get_order)
    assert not repdl.is_enabled()


def test_enable_and_set_order_each_stay_until_they_are_taken_back() -> None:
    try:
        repdl.enable(order="sequential")
        repdl.enable()
        assert repdl.get_order() == "sequential"
        repdl.enable(order="blocked")
        assert repdl.get_order() == "blocked"
        repdl.set_order("sequential")
        assert repdl.get_order() == "sequential"
        with repdl.reproducible(order="blocked"):
            repdl.set_order("sequential")
            assert repdl.get_order() == "blocked"
        repdl.disable()
        assert repdl.get_order() == "sequential"
    finally:
        repdl.disable()
    for refused in (lambda: repdl.enable(order="random"), lambda: repdl.set_order("random")):
        with pytest.raises(ValueError, match="order must be one of"):
            refused()
    assert repdl.get_order() == "sequential" and not repdl.is_enabled()


def test_a_suspended_generator_keeps_its_order_to_itself() -> None:
    def generator() -> Iterator[str]:
        with repdl.order("sequential"):
            yield repdl.get_order()
            yield repdl.get_order()

    def inner() -> Iterator[str]:
        yield from generator()

    for make in (generator, inner):
        running = make()
        assert next(running) == "sequential"
        assert repdl.get_order() == "blocked"
        assert next(running) == "sequential"
        assert not list(running)
        assert repdl.get_order() == "blocked"
    abandoned = generator()
    next(abandoned)
    del abandoned
    assert repdl.get_order() == "blocked"


def test_a_context_manager_of_the_program_may_hold_it() -> None:
    @contextmanager
    def left_to_right() -> Iterator[None]:
        with repdl.order("sequential"):
            yield

    @contextmanager
    def twice() -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(left_to_right())
            yield

    with twice():
        assert repdl.get_order() == "sequential"

        def generator() -> Iterator[str]:
            with left_to_right():
                yield repdl.get_order()

        with repdl.order("blocked"):
            running = generator()
            assert next(running) == "sequential"
            assert repdl.get_order() == "blocked"
            running.close()
    stack = ExitStack()
    stack.enter_context(twice())
    assert repdl.get_order() == "sequential"
    stack.close()
    assert repdl.get_order() == "blocked"


@pytest.fixture
def _left_to_right() -> Iterator[None]:
    with repdl.order("sequential"):
        yield


@pytest.mark.usefixtures("_left_to_right")
def test_a_fixture_may_hold_it() -> None:
    assert repdl.get_order() == "sequential"


def test_asynchronous_generators_and_tasks() -> None:
    async def generator() -> AsyncIterator[str]:
        with repdl.order("sequential"):
            await asyncio.sleep(0)
            yield repdl.get_order()

    async def task(order: str) -> str:
        with repdl.order(order):
            await asyncio.sleep(0.01)
            return repdl.get_order()

    async def main() -> list[str]:
        running = generator()
        seen = [await anext(running), repdl.get_order()]
        await running.aclose()
        return [*seen, *await asyncio.gather(task("blocked"), task("sequential"))]

    assert asyncio.run(main()) == ["sequential", "blocked", "blocked", "sequential"]


def test_a_torch_that_takes_no_reference_to_what_it_stashes_gets_one() -> None:
    """It drops one later, when another value comes."""

    class Torch:
        def __init__(self, takes: bool) -> None:
            self.owned: list[object] = []
            self.takes = takes

        def _stash_obj_in_tls(self, name: str, value: object) -> None:
            if self.takes:
                self.owned.append(value)

    for takes in (True, False):
        value = ("a new one", [takes])
        before = sys.getrefcount(value)
        _stash(fake := Torch(takes), "name", value)
        assert sys.getrefcount(value) == before + 1
        assert fake.owned == [value] * takes


def test_the_order_of_a_block_outlives_those_within_it_in_backward() -> None:
    x = torch.ones(3, requires_grad=True)
    with repdl.reproducible():
        for _ in range(20):
            with repdl.order("sequential"), repdl.order("blocked"):
                pass
            (grad,) = torch.autograd.grad(x.exp().sum(), x)
    torch.testing.assert_close(grad, torch.full((3,), 1.0).exp())
