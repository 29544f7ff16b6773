# SPDX-License-Identifier: MIT
"""What `repdl.enable()` holds back, hides from, or tells a program of its process."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import set_flush_denormal as flush_taken_before
from torch.backends.cpu import get_cpu_capability as capability_taken_before

import repdl
from repdl import conformance
from support import ROOT, run_python

PRECISIONS: dict[str, Callable[[], None]] = {
    "set_float32_matmul_precision": lambda: torch.set_float32_matmul_precision("high"),
    "allow_tf32": lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", True),
    "fp32_precision": lambda: setattr(torch.backends, "fp32_precision", "tf32"),
    "fp32_precision of cuda": lambda: setattr(torch.backends.cuda.matmul, "fp32_precision", "tf32"),
    "fp32_precision of mkldnn": lambda: setattr(torch.backends.mkldnn, "fp32_precision", "bf16"),
    "fp32_precision of mkldnn.matmul": lambda: setattr(torch.backends.mkldnn.matmul, "fp32_precision", "bf16"),
}


@pytest.mark.parametrize("name", PRECISIONS)
def test_less_precision_is_refused_while_enabled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # torch.testing, once another test has imported it, lets nobody change such flags.
    monkeypatch.setitem(vars(torch.backends.m), "__allow_nonbracketed_mutation_flag", True)
    with (
        repdl.reproducible(),
        pytest.raises(RuntimeError, match=rf"{name.split()[0]}.*fewer bits, and repdl is enabled"),
    ):
        PRECISIONS[name]()
    with repdl.reproducible():
        torch.set_float32_matmul_precision("highest")
        torch.backends.cuda.matmul.allow_tf32 = False
    assert torch.get_float32_matmul_precision() == "highest"


def test_flushing_is_refused_by_a_function_that_was_taken_before() -> None:
    with repdl.reproducible():
        for function in (flush_taken_before, torch.set_flush_denormal):
            with pytest.raises(RuntimeError, match="set_flush_denormal"):
                function(True)
        flush_taken_before(False)
        assert torch.full((1,), 1e-40).mul(1.0).item() != 0.0
    if flush_taken_before(True):
        flush_taken_before(False)


def test_every_cpu_is_told_alike() -> None:
    before = capability_taken_before(), torch.cpu.get_capabilities()
    with repdl.reproducible():
        assert capability_taken_before() == torch.backends.cpu.get_cpu_capability() == "DEFAULT"
        told = torch.cpu.get_capabilities()
        assert told.keys() == before[1].keys()
        assert {name for name, value in told.items() if value} == {"architecture"}
        asked = [getattr(torch.cpu, name) for name in dir(torch.cpu) if name.startswith("_is_")]
        assert asked and not any(ask() for ask in asked)
    assert (capability_taken_before(), torch.cpu.get_capabilities()) == before


@pytest.fixture
def engine_of_torch(monkeypatch: pytest.MonkeyPatch) -> str:
    """The engine of quantised kernels that torch takes on this machine, whatever was chosen in this process before."""
    engine = run_python("import torch; print(torch.backends.quantized.engine)").strip()
    monkeypatch.setattr(torch.backends.quantized, "engine", engine)
    return engine


@pytest.mark.usefixtures("engine_of_torch")
def test_questions_about_the_cpu_have_one_answer() -> None:
    answers = {
        "nnpack": lambda: torch.backends.nnpack.is_available(),
        "nnpack, the op": lambda: torch.ops.aten._nnpack_available(),
        "bfloat16": lambda: torch.ops.mkldnn._is_mkldnn_bf16_supported(),
        "float16": lambda: torch.ops.mkldnn._is_mkldnn_fp16_supported.default(),
        "configuration": lambda: re.findall("CPU capability usage: (.*)", torch.__config__.show()),
        "engines": lambda: torch.backends.quantized.supported_engines,
        "engine": lambda: torch.backends.quantized.engine,
    }
    with repdl.reproducible():
        told = {name: answer() for name, answer in answers.items()}
    assert told == {
        **dict.fromkeys(("nnpack", "nnpack, the op", "bfloat16", "float16"), False),
        "configuration": ["DEFAULT"],
        "engines": ["qnnpack"],
        "engine": "qnnpack",
    }


def test_an_engine_that_the_program_chose_stays(engine_of_torch: str) -> None:
    quantized = torch.backends.quantized
    with repdl.reproducible():
        quantized.engine = engine_of_torch
        assert quantized.engine == engine_of_torch
    for other in set(quantized.supported_engines) - {engine_of_torch, "qnnpack"}:
        quantized.engine = other
        with repdl.reproducible():
            assert quantized.engine == other


class _FromTheRight:
    """Stands for the package opt_einsum, whose order depends on sizes."""

    @staticmethod
    def contract_path(equation: str, *operands: torch.Tensor, optimize: object) -> tuple[list[tuple[int, int]]]:
        return ([(1, 2), (0, 1)],)


def test_the_order_of_einsum_is_not_that_of_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c = (torch.randn(9, 9, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2, 3))
    module = torch.backends.opt_einsum.m
    for name, value in {"enabled": True, "is_available": lambda: True, "_opt_einsum": _FromTheRight}.items():
        monkeypatch.setattr(module, name, value)
    with repdl.reproducible():
        left, right = a @ b @ c, a @ (b @ c)
        assert torch.equal(torch.einsum("ij,jk,kl->il", a, b, c), left)
        assert torch.equal(torch.einsum("ij,jk,kl->il", [a, b, c]), left)
    assert not torch.equal(left, right)


@pytest.mark.parametrize("rng", ["philox", "torch"])
def test_a_program_without_a_seed_is_told_how_to_repeat_it(rng: str) -> None:
    code = """
import sys, warnings
warnings.simplefilter("error")
import torch, repdl
repdl.enable(rng=sys.argv[1])
if len(sys.argv) > 2:
    torch.manual_seed(int(sys.argv[2]))
print(torch.ones(2) + 1, torch.randn(5).tolist(), torch.nn.Dropout(0.5)(torch.ones(9)).tolist())
"""

    def run(*arguments: str) -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, "-c", code, rng, *arguments], capture_output=True, text=True, check=True, cwd=ROOT
        )
        return done.stdout, done.stderr

    first, told = run()
    assert told.count("torch.manual_seed(") == 1
    (seed,) = re.findall(r"torch\.manual_seed\((\d+)\)", told)
    again, nothing = run(seed)
    assert again == first
    assert "manual_seed" not in nothing


def test_a_program_that_takes_a_seed_from_the_system_is_told() -> None:
    code = """
import torch, repdl
torch.manual_seed(1)
original = torch.seed
repdl.enable()
seeds = torch.seed(), torch.random.seed(), torch.seed()
print(seeds[0], torch.initial_seed() == seeds[2], len(set(seeds)))
torch.randn(2)
repdl.disable()
assert torch.seed is torch.random.seed is original
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    seed, *rest = done.stdout.split()
    assert rest == ["True", "3"]
    assert done.stderr.count("This is said once") == 1
    assert f"call torch.manual_seed({seed}) in its place" in done.stderr


def test_a_seeded_program_is_told_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), repdl.reproducible():
        torch.manual_seed(3)
        torch.randn(3)
        torch.randn(3, generator=torch.Generator())
    assert not caplog.records


def test_without_torch_the_error_says_what_to_install() -> None:
    code = """
import sys
sys.modules["torch"] = None
import repdl
for name in ("enable", "reproducible", "nn", "from_torch_module"):
    try:
        getattr(repdl, name)
    except ModuleNotFoundError as error:
        print(error)
"""
    said = run_python(code).splitlines()
    assert len(said) == 4
    assert said[0] == "repdl.enable needs torch, which is not installed: pip install 'repdl[torch]'"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_no_report(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(conformance.ReportError, match=rf"{path.name} is no regular file"):
            conformance.Report.load(path)


def digest_of_resizing() -> str:
    """As torchvision's v2 resize of bytes: through float32, or by torch's kernel for bytes where the CPU says AVX2."""
    image = torch.randint(0, 256, (1, 3, 37, 41), generator=torch.Generator().manual_seed(1)).to(torch.uint8)
    with repdl.reproducible():
        is_native = "AVX2" in torch.backends.cpu.get_cpu_capability()
        scaled = torch.nn.functional.interpolate(
            image if is_native else image.float(), (15, 19), mode="bilinear", antialias=True
        )
    return hashlib.sha256(scaled.round().to(torch.uint8).numpy().tobytes()).hexdigest()


def test_images_of_bytes_are_scaled_alike() -> None:
    code = "import sys; sys.path.insert(0, 'tests/python'); import test_process as t; print(t.digest_of_resizing())"
    assert run_python(code, ATEN_CPU_CAPABILITY="default").strip() == digest_of_resizing()
