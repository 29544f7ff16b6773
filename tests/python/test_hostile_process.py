# SPDX-License-Identifier: MIT
"""A process that does everything to change the bits: other floating-point modes, settings, runtimes, signals, threads.

Each test is a process of its own, in which every golden case must come out as ever, or those of FEW ops where a test
beside it has them all, and the modes that the process has set must be there afterwards.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from support import compile_library, run_python

X86 = platform.machine() in ("x86_64", "AMD64")

PRELUDE = """
import ctypes, hashlib, signal, sys, threading
import numpy as np
import repdl
from repdl import _core

TINY = np.full(64, 1e-40, np.float32)  # subnormal

def check(*ops):
    # This thread is one of the three, and computes small cases alone.
    report = repdl.conformance.run(ops, targets=[_core.active_target()], threads=3)
    assert report.passed, [(f.op, f.case, f.detail) for f in report.failures][:3]

def digest(a):
    results = [repdl.ops.mm(a, a.T), repdl.ops.exp(a), repdl.ops.sum(a, 0), repdl.ops.softmax(a)]
    return hashlib.sha256(b"".join(np.asarray(r).tobytes() for r in results)).hexdigest()

# Functions, products, sums, orders, windows, steps in time, matrices, transforms, random numbers: some of each kind.
FEW = (
    "exp pow complex_exp mm integer_mm conv2d attention sum cumsum logsumexp layer_norm softmax sort max_pool2d "
    "resample lstm cholesky svd fft_c2c philox_normal adam_step"
).split()
A = (np.random.default_rng(1).integers(-99, 99, (70, 600)) / 7).astype(np.float32)
"""

MODES = """
#include <immintrin.h>
#include <stdint.h>
uint32_t get_mxcsr(void) { return _mm_getcsr() & 0xffc0; }
void set_mxcsr(uint32_t value) { _mm_setcsr(value); }
uint16_t get_x87(void) { uint16_t word; __asm__ volatile("fnstcw %0" : "=m"(word)); return word; }
void set_x87(uint16_t word) { __asm__ volatile("fldcw %0" : : "m"(word)); }
"""

OPENMP = """
#include <omp.h>
void in_parallel(int threads, void (*callback)(void)) {
  omp_set_dynamic(0);
  omp_set_nested(1);
#pragma omp parallel num_threads(threads)
  callback();
}
"""


def run(code: str, *arguments: str, **environment: str) -> None:
    run_python(PRELUDE + code, *arguments, **environment)


@pytest.mark.skipif(not X86, reason="the modes of x86")
@pytest.mark.parametrize("mxcsr", ["0xffc0", "0x9fc0", "0x3f80", "0x5f80", "0x7f80"])
def test_sse_modes_do_not_show_and_stay(mxcsr: str, tmp_path: Path) -> None:
    """Flush-to-zero with denormals-are-zero and rounding to zero, for all ops, then each and rounding down and up."""
    run(
        """
library, mode = ctypes.CDLL(sys.argv[1]), int(sys.argv[2], 0)
expected = digest(A)
library.set_mxcsr(mode)
check(*FEW if mode != 0xffc0 else ())
assert digest(A) == expected
assert library.get_mxcsr() == mode & 0xffc0, hex(library.get_mxcsr())
""",
        compile_library(tmp_path, MODES),
        mxcsr,
    )


@pytest.mark.skipif(not X86, reason="the modes of x86")
@pytest.mark.parametrize("word", ["0x007f", "0x027f", "0x0f7f"])
def test_x87_precision_and_rounding_do_not_show_and_stay(word: str, tmp_path: Path) -> None:
    """Precision of 24 bits, for all ops, of 53, and rounding to zero."""
    run(
        """
library, word = ctypes.CDLL(sys.argv[1]), int(sys.argv[2], 0)
library.set_x87(word)
check(*FEW if word != 0x007f else ())
assert library.get_x87() == word, hex(library.get_x87())
""",
        compile_library(tmp_path, MODES),
        word,
    )


@pytest.mark.skipif(not X86, reason="gcc's start-up code for -ffast-math on x86")
def test_a_library_built_with_fast_math_does_not_show(tmp_path: Path) -> None:
    library = compile_library(tmp_path, "int nothing(void) { return 0; }", "-ffast-math")
    run(
        """
expected = digest(A)
ctypes.CDLL(sys.argv[1])
flushes = not (TINY * np.float32(1)).any()
check(*FEW)
assert digest(A) == expected
assert (not (TINY * np.float32(1)).any()) == flushes
if not flushes:
    print("this compiler's -ffast-math sets no modes in a library")
""",
        library,
    )


@pytest.mark.parametrize("mode", ["FE_DOWNWARD", "FE_UPWARD", "FE_TOWARDZERO"])
def test_the_rounding_mode_of_c_does_not_show_and_stays(mode: str, tmp_path: Path) -> None:
    source = f"""
#include <fenv.h>
int get(void) {{ return fegetround() == {mode}; }}
int set(void) {{ return fesetround({mode}); }}
"""
    run(
        """
library = ctypes.CDLL(sys.argv[1])
expected = digest(A)
assert library.set() == 0
check(*FEW)
assert digest(A) == expected
assert library.get()
""",
        compile_library(tmp_path, source, "-lm"),
    )


def test_flush_denormal_of_torch_does_not_show_and_stays() -> None:
    run("""
import torch
expected = digest(A)
can_flush = torch.set_flush_denormal(True)
check(*FEW)
assert digest(A) == expected
a = torch.from_numpy(A)
assert digest(a) == expected
tiny = torch.from_numpy(TINY)
for f in (repdl.ops.relu, repdl.ops.expm1):  # as integers, since a comparison takes subnormals for zero
    assert f(tiny).view(torch.int32).equal(tiny.view(torch.int32)), f
if can_flush:
    assert not (tiny * 1.0).any(), "torch flushes as before"
""")


@pytest.mark.parametrize(
    ("ops", "environment"),
    [
        ("FEW", {
            "OMP_NUM_THREADS": "1", "OMP_DYNAMIC": "true", "OMP_WAIT_POLICY": "passive",
            "MKL_NUM_THREADS": "3", "MKL_DYNAMIC": "FALSE",
            "MKL_CBWR": "COMPATIBLE", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
            "OPENBLAS_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Prescott", "ATEN_CPU_CAPABILITY": "default",
        }),
        ("ALL", {
            "OMP_NUM_THREADS": "5", "OMP_SCHEDULE": "dynamic,1", "OMP_PROC_BIND": "close", "OMP_NESTED": "true",
            "ONEDNN_MAX_CPU_ISA": "SSE41", "ONEDNN_DEFAULT_FPMATH_MODE": "BF16",
        }),
        ("FEW", {
            "OMP_THREAD_LIMIT": "2", "OMP_STACKSIZE": "64k", "GOMP_SPINCOUNT": "0",
            "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX2 FMA3",
            "GLIBC_TUNABLES": "glibc.malloc.perturb=170", "MALLOC_PERTURB_": "170",
        }),
    ],
    ids=["one_thread", "five_threads", "two_threads"],
)  # fmt: skip
def test_settings_of_other_libraries_do_not_show(ops: str, environment: dict[str, str]) -> None:
    run(
        """
import torch
a = torch.from_numpy(A)
torch.mm(a, a.T)
check(*(FEW if sys.argv[1] == "FEW" else ()))
assert digest(a) == digest(A)
""",
        ops,
        **environment,
    )


def test_another_openmp_runtime_does_not_show(tmp_path: Path) -> None:
    """Its threads call the library, all at once."""
    library = compile_library(tmp_path, OPENMP, "-fopenmp")
    run(
        """
import torch  # brings a runtime of its own
library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
expected = digest(A)
torch.mm(torch.from_numpy(A), torch.from_numpy(A).T)
found = []
callback = ctypes.CFUNCTYPE(None)(lambda: found.append(digest(A)))
library.in_parallel(4, callback)
assert found == [expected] * 4, found
check(*FEW)
""",
        library,
    )


def test_signals_do_not_show() -> None:
    run("""
count = 0
def handler(number, frame):
    global count
    count += 1
signal.signal(signal.SIGALRM, handler)
expected = digest(A)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
check(*FEW)
assert digest(A) == expected
signal.setitimer(signal.ITIMER_REAL, 0)
assert count > 10, count
""")


def test_an_interrupt_ends_the_program_and_not_the_library() -> None:
    run("""
signal.signal(signal.SIGINT, signal.default_int_handler)  # a program in the background may have been told to ignore it
a = np.ones((700, 700), np.float32)
expected = digest(A)
timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
timer.start()
try:
    while True:
        repdl.ops.mm(a, a)
except KeyboardInterrupt:
    pass
assert digest(A) == expected
check(*FEW)
""")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="tells glibc to keep nothing that is given back")
def test_memory_that_runs_out_ends_the_call_and_not_the_library() -> None:
    run("""
import resource
ctypes.CDLL(None).mallopt(-3, 1 << 16)  # M_MMAP_THRESHOLD
repdl.set_num_threads(2)
wide = np.tile(A, (20, 3))
calls = [
    lambda: repdl.ops.mm(wide, wide.T), lambda: repdl.ops.softmax(wide), lambda: repdl.ops.cumsum(wide, 0),
    lambda: repdl.ops.conv2d(wide.reshape(1, 7, 200, -1), wide[:7, :63].reshape(7, 7, 3, 3)),
    lambda: repdl.ops.sort(wide, 1)[0],
    lambda: repdl.ops.solve(wide[:900, :900] + np.eye(900, dtype=np.float32) * 99, wide[:3, :900])[0],
]
expected = [call().tobytes() for call in calls]
failed = 0
for more in (0, 1, 2, 3, 5, 8, 13, 21):
    for call, bits in zip(calls, expected):
        with open("/proc/self/statm") as sizes:
            used = int(sizes.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + more * 2**20, resource.RLIM_INFINITY))
        try:
            result = call()
        except MemoryError:
            result = None
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        failed += result is None
        assert result is None or result.tobytes() == bits
assert failed > 5, failed
assert [call().tobytes() for call in calls] == expected
check()
""")


@pytest.mark.skipif(not X86, reason="the modes of x86")
def test_python_threads_with_modes_of_their_own(tmp_path: Path) -> None:
    run(
        """
library = ctypes.CDLL(sys.argv[1])
expected = digest(A)
wrong = []
def work(mode):
    library.set_mxcsr(mode)
    for _ in range(30):
        if digest(A) != expected or library.get_mxcsr() != mode & 0xffc0:
            wrong.append(hex(mode))
threads = [threading.Thread(target=work, args=(m,)) for m in (0x1f80, 0x9fc0, 0x3f80, 0x5f80, 0x7f80, 0xffc0)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not wrong, wrong
""",
        compile_library(tmp_path, MODES),
    )


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the private module has another name")
def test_a_sub_interpreter_is_told_that_it_cannot_import_the_library() -> None:
    run("""
import _xxsubinterpreters as interpreters
expected = digest(A)
for _ in range(2):
    interpreter = interpreters.create()
    try:
        interpreters.run_string(interpreter, f"import sys; sys.path[:] = {sys.path}; from repdl import _core")
    except interpreters.RunFailedError as error:
        assert "ImportError" in str(error) and "main interpreter" in str(error), error
    else:
        raise AssertionError("a sub-interpreter has imported the library")
    interpreters.destroy(interpreter)
assert digest(A) == expected
""")
