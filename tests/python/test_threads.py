# SPDX-License-Identifier: MIT
"""Any number of threads, Python threads, forks and worker processes: the same bits, and nothing waits for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import pytest
import torch

import repdl
from repdl import ops
from support import ROOT, same_bits

GENERATOR = torch.Generator().manual_seed(11)
A, B = torch.randn(70, 900, generator=GENERATOR), torch.randn(900, 50, generator=GENERATOR)
IMAGES, KERNELS = torch.randn(6, 8, 14, 14, generator=GENERATOR), torch.randn(12, 8, 3, 3, generator=GENERATOR)
LONG = torch.randn(100_001, generator=GENERATOR)
CLASSES = torch.arange(50) % 70


def mixture() -> list[torch.Tensor]:
    return [
        ops.mm(A, B),
        ops.linear(A, B.T.contiguous(), B[0]),
        ops.conv2d(IMAGES, KERNELS, padding=1),
        ops.conv2d_grad_kernel(IMAGES, KERNELS.shape, ops.conv2d(IMAGES, KERNELS)),
        ops.max_pool2d(IMAGES, 2)[0],
        *ops.batch_norm(IMAGES),
        ops.sum(LONG),
        ops.sum(IMAGES, (0, 2, 3)),
        ops.exp(LONG),
        ops.softmax(A),
        ops.cross_entropy(B.T.contiguous(), CLASSES),
    ]


def all_same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return all(same_bits(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("order", ["blocked", "sequential"])
def test_the_number_of_threads_does_not_show(order: str) -> None:
    with repdl.order(order):
        repdl.set_num_threads(1)
        alone = mixture()
        for threads in (2, 3, 7, 64):
            repdl.set_num_threads(threads)
            assert repdl.get_num_threads() == threads
            assert all_same(mixture(), alone), threads


def test_python_threads_may_mix_ops_orders_and_settings() -> None:
    expected: dict[str, list[torch.Tensor]] = {}
    for order in ("blocked", "sequential"):
        with repdl.order(order):
            expected[order] = mixture()
    assert not all_same(expected["blocked"], expected["sequential"])
    wrong: list[Any] = []

    def work(number: int) -> None:
        try:
            order = ("blocked", "sequential")[number % 2]
            for i in range(4):
                repdl.set_num_threads((number + i) % 5 + 1)
                with repdl.order(order):
                    if not all_same(mixture(), expected[order]):
                        wrong.append(number)
        except BaseException as error:
            wrong.append(error)
            raise

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
        assert not thread.is_alive()
    assert not wrong


# What the programs below share. A digest is computed by the library alone: torch's own parallel loops hang in a child
# whose parent has used them.
PRELUDE = """
import hashlib, multiprocessing, os, signal, sys, threading
import numpy as np
import repdl

rng = np.random.default_rng(1)
A = (rng.integers(-99, 99, (300, 400)) / 7).astype(np.float32)

def digest(kind):
    if kind == "torch":
        import torch
        a = torch.from_numpy(A)
        results = [repdl.ops.mm(a, a.T).numpy(), repdl.ops.exp(a).numpy(), repdl.ops.sum(a, 0).numpy()]
    else:
        results = [repdl.ops.mm(A, A.T), repdl.ops.exp(A), repdl.ops.sum(A, 0)]
    return hashlib.sha256(b"".join(r.tobytes() for r in results)).hexdigest()

def in_a_child(kind):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(100)  # ends a child that waits for ever
        os.write(write, digest(kind).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    assert os.waitpid(pid, 0)[1] == 0, "the child did not come to its end"
    return answer
"""


def run(code: str) -> None:
    """Runs a program that must end, with nothing to complain about."""
    run_python("-c", PRELUDE + code)


def run_python(*arguments: str) -> None:
    result = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "3"},
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("kind", ["torch", "numpy"])
def test_a_forked_child_computes_the_same(kind: str) -> None:
    run(f"""
expected = digest({kind!r})
assert in_a_child({kind!r}) == expected
assert digest({kind!r}) == expected, "the parent goes on"
assert in_a_child({kind!r}) == expected, "and may fork again"
""")


@pytest.mark.parametrize("way", ["audit", "allow_native"])
def test_a_kernel_of_torch_whose_threads_allocate_memory_comes_to_its_end(way: str) -> None:
    """Memory has a kernel in Python; the kernel that is waited for was called from Python, too."""
    run(f"""
import torch
torch.manual_seed(0)
torch.set_num_threads(3)
flash_attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu

def step():
    q = torch.randn(4, 4, 64, 8, requires_grad=True)
    flash_attention(q, q, q)[0].sum().backward()
    return q.grad

signal.alarm(100)
if {way!r} == "audit":
    report = repdl.audit(step)
    assert not report.ok
else:
    with repdl.reproducible(), repdl.allow_native("a test"):
        step()
assert torch.get_num_threads() == 3
""")


def test_a_child_that_is_first_to_use_the_library_computes_the_same() -> None:
    run("""
import torch
torch.exp(torch.ones(10**6))  # torch has threads now, which do not come along
child = in_a_child("torch")
assert child == digest("torch")
""")


def test_a_grandchild_computes_the_same() -> None:
    run("""
expected = digest("numpy")
read, write = os.pipe()
pid = os.fork()
if pid == 0:
    signal.alarm(200)
    same = digest("numpy") == expected and in_a_child("numpy") == expected
    os._exit(0 if same else 1)
assert os.waitpid(pid, 0)[1] == 0
""")


def test_a_fork_amid_work_of_other_threads_computes_the_same() -> None:
    run("""
expected = digest("numpy")
stop = threading.Event()
def work():
    while not stop.is_set():
        digest("numpy")
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
answers = [in_a_child("numpy") for _ in range(5)]
stop.set()
for thread in threads: thread.join()
assert answers == [expected] * 5
""")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools_of_processes_compute_the_same(method: str, tmp_path: Any) -> None:
    program = tmp_path / "program.py"  # spawn needs a file
    program.write_text(
        PRELUDE
        + f"""
if __name__ == "__main__":
    expected = digest("numpy")
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        assert pool.map_async(digest, ["numpy", "torch", "numpy"]).get(200) == [expected] * 3
"""
    )
    run_python(str(program))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_data_loader_workers_compute_the_same(method: str, tmp_path: Any) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import torch, repdl
from torch.utils.data import DataLoader, Dataset

A = torch.arange(300 * 400, dtype=torch.float32).reshape(300, 400) / 7

class Products(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        return repdl.ops.mm(A[i : i + 200], A[:50], transB=True)

if __name__ == "__main__":
    torch.set_num_threads(3)
    expected = [Products()[i] for i in range(8)]
    loader = DataLoader(Products(), batch_size=None, num_workers=2, multiprocessing_context={method!r}, timeout=200)
    for _ in range(2):
        assert [repdl.utils.get_hash(x) for x in loader] == [repdl.utils.get_hash(x) for x in expected]
"""
    )
    run_python(str(program))
