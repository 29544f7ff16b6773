# SPDX-License-Identifier: MIT
"""Matrix products of other libraries, in their strong modes."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from repdl import _core


def strong_modes(target: str | None, built: Path) -> dict[str, str]:
    """Environment that makes the peers use their best kernels for a CPU target; they read it when they are loaded.

    Without a target, for this CPU. Left alone, OpenBLAS takes some virtual AVX-512 machines for old ones, torch prefers
    AVX2 on some CPUs, and MKL has slower kernels for CPUs that are not Intel's, unless what bench/cpp put into `built`
    is loaded before it. The heap gives no pages back: it would be chance in whose turn they have to be cleared again.
    """
    chosen = {"MALLOC_TRIM_THRESHOLD_": str(2**32), "MALLOC_MMAP_MAX_": "0", "MALLOC_TOP_PAD_": str(2**26)}
    if target is not None:
        chosen["REPDL_TARGET"] = target
    mkl_on_amd = built.resolve() / "librepdl_bench_mkl_on_amd.so"
    if "AuthenticAMD" in Path("/proc/cpuinfo").read_text():
        if not mkl_on_amd.exists():
            raise FileNotFoundError(f"{mkl_on_amd}: without it MKL is slower than it can be; `make bench` builds it")
        others = os.environ.get("LD_PRELOAD", "").replace(str(mkl_on_amd), "").strip(":")
        chosen["LD_PRELOAD"] = f"{mkl_on_amd}:{others}".strip(":")
    match target or _core.supported_targets()[-1]:
        case "avx512":
            return chosen | {"OPENBLAS_CORETYPE": "SkylakeX", "ATEN_CPU_CAPABILITY": "avx512"}
        case "avx2":
            return chosen | {
                "OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
                "ONEDNN_MAX_CPU_ISA": "AVX2",
            }  # fmt: skip
    return chosen


@dataclass(frozen=True)
class Product:
    """c = a b, or a times b transposed; all float32 and row-major."""

    m: int
    n: int
    k: int
    transposed: bool

    @property
    def name(self) -> str:
        return f"{self.m} x {self.n} x {self.k}{' NT' if self.transposed else ''}"

    def operands(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        random = np.random.default_rng(0)
        a = random.standard_normal((self.m, self.k), dtype=np.float32)
        b = random.standard_normal((self.n, self.k) if self.transposed else (self.k, self.n), dtype=np.float32)
        return a, b, np.empty((self.m, self.n), np.float32)


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def openblas(threads: int) -> Callable[[Product, np.ndarray, np.ndarray, np.ndarray], Callable[[], object]] | None:
    path = ctypes.util.find_library("openblas")
    if path is None:
        return None
    library = ctypes.CDLL(path)
    library.openblas_set_num_threads(threads)

    def prepare(p: Product, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Callable[[], object]:
        row_major, no_trans, trans = 101, 111, 112
        arguments = (
            row_major, no_trans, trans if p.transposed else no_trans, p.m, p.n, p.k, ctypes.c_float(1.0),
            _pointer(a), p.k, _pointer(b), p.k if p.transposed else p.n, ctypes.c_float(0.0), _pointer(c), p.n,
        )  # fmt: skip
        return lambda: library.cblas_sgemm(*arguments)

    return prepare


def onednn(threads: int) -> Callable[[Product, np.ndarray, np.ndarray, np.ndarray], Callable[[], object]] | None:
    path = ctypes.util.find_library("dnnl")
    if path is None:
        return None
    # It takes its threads from OpenMP; torch, which sets them, must be loaded first.
    torch.set_num_threads(threads)
    library = ctypes.CDLL(path)
    openmp = ctypes.util.find_library("gomp")
    if openmp is not None:
        ctypes.CDLL(openmp).omp_set_num_threads(threads)
    i64 = ctypes.c_int64

    def prepare(p: Product, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Callable[[], object]:
        arguments = (
            ctypes.c_char(b"N"), ctypes.c_char(b"T" if p.transposed else b"N"), i64(p.m), i64(p.n), i64(p.k),
            ctypes.c_float(1.0), _pointer(a), i64(p.k), _pointer(b), i64(p.k if p.transposed else p.n),
            ctypes.c_float(0.0), _pointer(c), i64(p.n),
        )  # fmt: skip
        return lambda: library.dnnl_sgemm(*arguments)

    return prepare


def torch_mm(threads: int) -> Callable[[Product, np.ndarray, np.ndarray, np.ndarray], Callable[[], object]]:
    torch.set_num_threads(threads)

    def prepare(p: Product, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Callable[[], object]:
        ta, tb, tc = torch.from_numpy(a), torch.from_numpy(b), torch.from_numpy(c)
        right = tb.T if p.transposed else tb
        return lambda: torch.mm(ta, right, out=tc)

    return prepare
