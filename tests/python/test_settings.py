# SPDX-License-Identifier: MIT
"""Order, threads and target."""

from __future__ import annotations

import threading

import torch

import repdl
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
