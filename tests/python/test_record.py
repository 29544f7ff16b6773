# SPDX-License-Identifier: MIT
"""`repdl record`: what is recorded, that the program stays as it is, and that what was written is readable."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from itertools import permutations, product
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
import torch
import xxhash
import zstandard
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from typer.testing import CliRunner

import repdl
from repdl import _content as content, _needs as needs, _values
from repdl.cli.main import app
from repdl.cli.record import _range
from repdl.runs import file
from repdl.runs.columns import Call
from repdl.runs.file import RecordError
from repdl.runs.log import ALL_STEPS
from repdl.runs.recorder import recording
from repdl.runs.run import Run
from runs import Transformer, recorded, train_convolutions, train_transformer
from support import ROOT


def calls(run: Run) -> list[Call]:
    return [call for call in run.calls_from(0) if not call.is_evidence]


def named(run: Run, name: str) -> list[Call]:
    return [call for call in calls(run) if call.name == name]


def test_a_call_has_its_place_and_its_values(tmp_path: Path) -> None:
    run = recorded(tmp_path / "a", train_transformer)
    assert {"forward", "backward", "optimizer", "data loading"} == {call.phase for call in calls(run)}
    modules = {call.module for call in calls(run)}
    assert {"encoder.layers.1.attn.qkv", "encoder.layers.0.drop", "embed", "Transformer"} <= modules
    (first, *_) = [call for call in named(run, "aten::addmm") if call.module == "encoder.layers.1.attn.out"]
    assert [value.kind for value in first.inputs] == ["float32[16]", "float32[10, 16]", "float32[16, 16]"]
    assert first.line.startswith("tests/python/runs.py:") and first.phase == "forward"
    back = [call for call in calls(run) if call.phase == "backward" and call.module == first.module]
    assert any(call.name == "aten::mm" for call in back) and {call.line for call in back} == {first.line}
    assert [call.step for call in named(run, "state of Adam")] == [0, 1, 2] and run.steps == 4
    assert run.end is not None and run.end["status"] == "ended"


def test_arguments_are_written_as_they_were_given(tmp_path: Path) -> None:
    def program() -> None:
        x = torch.zeros(2, 3)
        for number in (1, True, 1.0, 0.0, -0.0):  # of which some are equal to Python
            x.mul(number)
        x.sum((0, 1), True)
        x.sum([], dtype=torch.float64)
        x[None, :, torch.tensor([0, 2])]
        x.add(x, alpha=float("nan"))

    run = recorded(tmp_path / "a", program)
    texts = [call.text for call in calls(run) if call.name.startswith(("aten::mul", "aten::sum", "aten::add"))]
    assert texts == [
        *("other=1", "other=True", "other=1.0", "other=0.0", "other=-0.0"),
        *("dim=[0, 1], keepdim=True", "dim=[], dtype=torch.float64", "alpha=nan"),
    ]
    assert [call.text for call in named(run, "aten::index.Tensor")] == ["indices=[None, None, _]"]


def test_a_new_size_writes_nothing(tmp_path: Path) -> None:
    def program() -> None:
        torch.empty(4).resize_(2).resize_(4)
        torch.ones(4).resize_(2)

    run = recorded(tmp_path / "a", program)
    first, second, third = (call.outputs[0].hash for call in named(run, "aten::resize_"))
    assert first == second == content.UNINITIALISED != third


def test_an_input_knows_who_wrote_it(tmp_path: Path) -> None:
    def program() -> None:
        x = torch.ones(3, 4)
        x[1].mul_(2)
        x.t().exp()

    run = recorded(tmp_path / "a", program)
    (exp,) = named(run, "aten::exp")
    writer = run.call(exp.inputs[0].writer)
    assert writer is not None and writer.name == "aten::mul_.Tensor"


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.complex64, torch.int8, torch.bool, torch.float64]
)
def test_strides_do_not_show_in_a_hash(dtype: torch.dtype) -> None:
    x = torch.arange(60).reshape(3, 4, 5).to(dtype)
    same = [x, x.transpose(0, 2).contiguous().transpose(0, 2), torch.stack([x, x], -1)[..., 1], x.flip(1).flip(1)]
    assert len({content.raw_hash(y) for y in same}) == 1
    other = x.clone()
    other[1, 1, 1] = 0 if x[1, 1, 1] else 1
    assert content.raw_hash(other) != content.raw_hash(x)
    assert (content.raw_hash(x) == content.raw_hash(x.transpose(0, 1))) == (dtype is torch.bool)  # True but for one


def test_conjugates_zeros_and_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    z = torch.tensor([1 + 2j, 3 - 1j])
    assert content.raw_hash(z.conj()) == content.raw_hash(z.conj().resolve_conj()) != content.raw_hash(z)
    assert content.raw_hash(z.conj().imag) == content.raw_hash(z.conj().imag.clone())
    assert content.raw_hash(torch.tensor([0.0])) != content.raw_hash(torch.tensor([-0.0]))
    assert content.raw_hash(torch.empty(3, device="meta")) is None
    assert content.raw_hash(torch.empty(0, 3).t()) == content.raw_hash(torch.empty(0))
    x = torch.randn(70, 9, 5)
    whole = content.raw_hash(x.transpose(1, 2))
    matrix = torch.randn(70, 90).t()
    hashed = content.raw_hash(matrix)
    monkeypatch.setattr(_values, "_PIECE", 400)
    assert content.raw_hash(x.transpose(1, 2)) == whole
    assert content.raw_hash(matrix) == hashed == content.raw_hash(matrix.contiguous())
    sparse = torch.eye(3).to_sparse()
    assert content.raw_hash(sparse) == content.raw_hash(sparse.clone()) != content.raw_hash((2 * sparse).coalesce())


def test_a_hash_is_of_each_byte_whatever_layout_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def layouts(x: torch.Tensor) -> Iterator[torch.Tensor]:
        """The same elements, otherwise in memory."""
        last = x.dim() - 1
        for dims in (*permutations(range(x.dim())),)[:24]:
            yield x.permute(dims).contiguous().permute(tuple(map(dims.index, range(x.dim()))))
        yield torch.stack([x, x], -1)[..., 1]
        yield torch.cat([x, x], last).narrow(last, x.shape[last], x.shape[last])
        yield x.repeat_interleave(2, 0)[::2]

    def expected(x: torch.Tensor) -> bytes:
        return xxhash.xxh3_128_digest(x.contiguous().view(torch.uint8).numpy().tobytes())

    before = torch.get_num_threads()
    sizes = [(64, 64), (63, 65), (1, 4097), (20000, 3), (301, 1111), (3, 5, 1366), (5, 64, 16, 2)]
    sizes.append((2, 1, 2, 1, 2, 3, 2, 3))
    try:
        for dtype, size in product((torch.uint8, torch.bfloat16, torch.float32, torch.complex128), sizes):
            bits = torch.randint(256, (*size[:-1], size[-1] * dtype.itemsize), dtype=torch.uint8)
            x = bits.view(dtype)  # NaN and subnormal numbers too
            hashed = expected(x)
            # Small pieces, and such as several threads lay out.
            for piece, threads, y in product((1 << 14, 1 << 20), (1, 2, 3, 7), layouts(x)):
                monkeypatch.setattr(_values, "_PIECE", piece)
                monkeypatch.setattr(_values, "_LARGEST_ROW", 4 * piece)
                torch.set_num_threads(threads)
                assert content.raw_hash(y) == hashed, (dtype, size, y.stride(), piece, threads)
        matrix = torch.zeros(4096, 17)
        turned, seen = matrix.t(), {content.raw_hash(matrix.t())}
        edges = [0, 1, 4095, 4096, 4097, 2**14 - 1, 2**14, 16 * 4096 - 1, 16 * 4096, 17 * 4096 - 1]  # of elements
        for place, byte in product(edges, range(4)):
            changed = turned.contiguous()
            changed.view(torch.uint8).view(-1)[4 * place + byte] = 1
            seen.add(content.raw_hash(changed.t().contiguous().t()))
        assert len(seen) == 1 + 4 * len(edges)
    finally:
        torch.set_num_threads(before)


def test_empty_and_repeated_elements_have_the_hash_of_their_bytes() -> None:
    nothing = xxhash.xxh3_128_digest(b"")
    for empty in (torch.empty(0), torch.empty(3, 0).t(), torch.empty(0, 5).expand(2, 0, 5), torch.ones(4, 4)[:, 2:2]):
        assert content.raw_hash(empty) == nothing
    for one in (torch.ones(1, 1).expand(70, 90), torch.ones(90).expand(70, 90), torch.ones(70, 1).expand(70, 90)):
        assert content.raw_hash(one) == content.raw_hash(torch.ones(70, 90))
    assert content.raw_hash(torch.ones(9).as_strided((5, 3), (1, 2))) == content.raw_hash(torch.ones(5, 3))  # overlaps


@pytest.mark.parametrize("train", [train_transformer, train_convolutions])
def test_the_program_stays_as_it_is(tmp_path: Path, train: Callable[[], nn.Module]) -> None:
    torch.manual_seed(0)
    plain, state = train().state_dict(), torch.get_rng_state()
    torch.manual_seed(0)
    before = random.getstate()
    with repdl.record(tmp_path / "a", quiet=True):
        seen = train().state_dict()
    assert torch.equal(torch.get_rng_state(), state) and random.getstate() == before
    for name, value in plain.items():
        assert content.raw_hash(value) == content.raw_hash(seen[name]), name
        assert value.stride() == seen[name].stride()


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    before = dict(torch.Tensor.__dict__), DataLoader.__dict__.copy()
    again = repdl.record(tmp_path / "b")
    with repdl.record(tmp_path / "a", quiet=True), pytest.raises(RuntimeError, match="one at a time"):
        again.__enter__()
    assert before == (dict(torch.Tensor.__dict__), DataLoader.__dict__.copy())
    with pytest.raises(ValueError, match="every"), repdl.record(tmp_path / "c", every=0):
        pass


def test_ops_of_one_step_in_two(tmp_path: Path) -> None:
    run = recorded(tmp_path / "a", train_transformer, every=2)
    assert {call.step for call in named(run, "aten::addmm")} == {0, 2}
    assert {call.step for call in named(run, "state of Adam")} == {0, 1, 2}


def test_ops_of_some_steps(tmp_path: Path) -> None:
    torch.manual_seed(0)
    with recording(tmp_path / "a", _range("1:2"), quiet=True):
        train_transformer()
    run = Run(tmp_path / "a")
    assert {call.step for call in named(run, "aten::addmm")} == {1}
    whole = recorded(tmp_path / "b", train_transformer)
    for name in ("state of Adam", "options of Adam", "result of Transformer", "batch of DataLoader"):
        assert [call.digest for call in named(run, name)] == [call.digest for call in named(whole, name)] != []
    assert (_range(""), _range(":3"), _range("2:")) == (ALL_STEPS, range(3), ALL_STEPS[2:])
    assert CliRunner().invoke(app, ["record", "--steps", "3", __file__]).exit_code == 2


def test_a_hash_is_not_kept_of_memory_that_others_may_write(tmp_path: Path) -> None:
    def program() -> None:
        x = torch.zeros(4)
        x.exp()
        x.numpy()[1] = 1
        x.exp()
        y = torch.from_numpy(array := np.zeros(4))
        y.sin()
        array[0] = 1
        y.sin()

    run = recorded(tmp_path / "a", program)
    for name in ("aten::exp", "aten::sin"):
        first, second = named(run, name)
        assert first.inputs[0].hash != second.inputs[0].hash


def test_running_statistics_are_written_though_no_schema_says_so(tmp_path: Path) -> None:
    def program() -> None:
        norm = nn.BatchNorm1d(3)
        norm(torch.randn(4, 3))
        assert norm.running_mean is not None
        norm.running_mean.neg()

    run = recorded(tmp_path / "a", program)
    (norm,), (neg,) = named(run, "aten::native_batch_norm"), named(run, "aten::neg")
    assert neg.inputs[0].writer == norm.number and neg.inputs[0].hash != norm.inputs[3].hash


def test_collectives(tmp_path: Path) -> None:
    """Whose results are those of both processes, though no schema says that they write."""
    program = str(ROOT / "tests" / "python" / "recorded_ranks.py")
    subprocess.run([sys.executable, program, str(tmp_path)], check=True, timeout=300)
    runs = [Run(tmp_path / str(rank)) for rank in range(2)]
    for name in ("c10d::allreduce_", "c10d::allgather_"):
        sums = [named(run, name) for run in runs]
        assert sums[0] and {call.phase for call in sums[0]} == {"collective"}
        assert [call.outputs for call in sums[0]] == [call.outputs for call in sums[1]]
    gradients, alone = named(runs[0], "c10d::allreduce_")
    assert gradients.inputs != named(runs[1], "c10d::allreduce_")[0].inputs and gradients.step == 0 < alone.step
    (exp,), (neg,) = named(runs[0], "aten::exp"), named(runs[1], "aten::neg")
    assert exp.inputs[0].hash == neg.outputs[0].hash  # what was received
    assert named(runs[0], "aten::sin")[0].inputs[0].hash == named(runs[1], "aten::exp")[0].inputs[0].hash


SCRIPT = """
import os, signal, sys, torch
sys.path.insert(0, {tests!r})
from runs import train_transformer
torch.manual_seed(0)
train_transformer()
"""


def test_compiled_functions_run_eagerly_and_nothing_of_the_recorder_is_compiled(tmp_path: Path) -> None:
    graphs: list[list[str]] = []

    def backend(module: torch.fx.GraphModule, _: Any) -> Any:
        graphs.append([str(node.target) for node in module.graph.nodes])
        return module.forward

    @torch.compile(backend=backend)
    def compiled(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        torch._dynamo.graph_break()
        return (y + 1).cos().sum()

    x = torch.linspace(0, 1, 4)
    compiled(x)
    before = len(graphs)
    assert before == 2
    with repdl.record(tmp_path / "a", quiet=True):
        compiled(x)
    compiled(x)
    assert len(graphs) == before
    names = {call.name for call in calls(Run(tmp_path / "a"))}
    assert {"aten::sin", "aten::cos", "aten::sum"} <= names


def test_the_compiler_is_not_imported(tmp_path: Path) -> None:
    """Its import takes longer than the start of a program."""
    program = (
        "import sys, torch, repdl\n"
        f"with repdl.record({str(tmp_path / 'a')!r}, quiet=True):\n    torch.ones(3).exp()\n"
        "assert 'exp' in str(repdl.audit(torch.exp, torch.ones(3), backward=False))\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def record(folder: Path, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(SCRIPT.format(tests=str(ROOT / "tests" / "python")) + script)
    code = "import sys; from repdl.cli import main; sys.argv[0] = 'repdl'; main()"
    arguments = [sys.executable, "-c", code, "record", "-o", "run", *options, "script.py", "--its-own"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "python"), *sys.path])}
    return subprocess.run(
        arguments, capture_output=True, text=True, check=False, cwd=folder, env=environment, timeout=300
    )


def test_a_script_that_forks_and_raises(tmp_path: Path) -> None:
    result = record(
        tmp_path,
        "child = os.fork()\n"
        "torch.ones(3).sinh()\n"  # in both
        "if child == 0: sys.exit(5)\n"
        "print(sys.argv[1], os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "torch.ones(3).cosh()\n"
        "raise EOFError('mine')\n",
    )
    assert (result.returncode, result.stdout) == (1, "--its-own 5\n"), result.stderr
    assert "EOFError: mine" in result.stderr and result.stderr.count("repdl record: ") == 1
    run = Run(tmp_path / "run")
    assert [len(named(run, f"aten::{name}")) for name in ("sinh", "cosh")] == [1, 1]
    assert (run.header["program"], run.header["is_module"]) == (["script.py", "--its-own"], False)
    assert run.header["directory"] == str(tmp_path)
    assert run.end is not None and run.end["ops"] == run.ops
    assert named(run, "aten::cosh")[0].line.startswith("script.py:")


def test_a_program_that_enables_itself_has_its_own_ops_alone(tmp_path: Path) -> None:
    begun = "import repdl\ntorch.ones(3).sinh()\n"
    assert record(tmp_path, begun + "repdl.enable()\ntorch.ones(3).cosh()\n").returncode == 0
    names = [call.name for call in calls(Run(tmp_path / "run"))]
    assert names[names.index("aten::sinh") :] == ["aten::sinh", "aten::ones", "aten::cosh"]


def test_a_run_that_is_killed_is_readable(tmp_path: Path) -> None:
    result = record(
        tmp_path,
        "import time; torch.ones(3).sinh(); time.sleep(0.3); torch.ones(3); os.kill(os.getpid(), signal.SIGKILL)\n",
    )
    assert result.returncode == -signal.SIGKILL
    run = Run(tmp_path / "run")
    assert run.end is None and run.steps == 4 and named(run, "aten::sinh")
    shown = CliRunner().invoke(app, ["diff", str(tmp_path / "run"), str(tmp_path / "run")])
    assert shown.exit_code == 0 and "is cut off after" in shown.stdout
    assert "No difference up to where A and B were cut off: " in " ".join(shown.stdout.split())


WAYS_OUT: dict[str, Callable[[], object]] = {
    "_exit": lambda: os._exit(4),
    "abort": lambda: os.abort(),
    "exec": lambda: os.execlp("true", "true"),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
}


@pytest.mark.parametrize("way", WAYS_OUT)
def test_the_last_ops_before_a_program_leaves_its_process_are_written(tmp_path: Path, way: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, in a process that forks
        child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with repdl.record(tmp_path / "run", quiet=True):
                torch.ones(3).sinh()
                WAYS_OUT[way]()
        finally:
            os._exit(77)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == {"_exit": 4, "abort": -signal.SIGABRT, "exec": 0, "kill": -signal.SIGKILL}[way]
    run = Run(tmp_path / "run")
    assert [call.name for call in calls(run)] == ["aten::ones", "aten::sinh"]
    assert (run.end is not None) == (way == "_exit")


def test_a_signal_or_a_program_that_cannot_be_started_ends_nothing(tmp_path: Path) -> None:
    was = os._exit, os.abort, os.execv, os.execve, os.kill
    with repdl.record(tmp_path / "run", quiet=True):
        torch.ones(3).sinh()
        os.kill(os.getpid(), 0)
        with pytest.raises(FileNotFoundError):
            os.execv(tmp_path / "none", ["none"])
        torch.ones(3).cosh()
    run = Run(tmp_path / "run")
    assert run.end is not None and len(named(run, "aten::cosh")) == 1
    assert (os._exit, os.abort, os.execv, os.execve, os.kill) == was


def test_a_program_that_closes_all_files_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a daemon does; what it opens then may get the number that the record had."""
    with recording(tmp_path / "run") as recorder:
        number = recorder.log.writer.file
        os.close(number)
        assert os.open(tmp_path / "other", os.O_WRONLY | os.O_CREAT) == number
        torch.ones(3).sinh()
        recorder.log.write()
        torch.ones(3).cosh()
    os.close(number)  # it is still open
    assert (tmp_path / "other").read_bytes() == b""
    with recording(tmp_path / "closed") as recorder:
        os.close(recorder.log.writer.file)
        torch.ones(3).sinh()
    told = capsys.readouterr().err
    assert told.count("ends here, since it cannot be written: the program has closed it\n") == 2
    assert Run(tmp_path / "run").end is None


def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is a pipe that nobody reads"), repdl.record(tmp_path / "pipe"):
        pass


def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    result = record(
        tmp_path,
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize('run') + 100,) * 2)\n"
        "train_transformer(); print('went on')\n",
    )
    assert (result.returncode, result.stdout) == (2, "went on\n"), result.stderr
    assert "run ends here, since it cannot be written: File too large" in result.stderr
    run = Run(tmp_path / "run")
    assert run.end is None and len(named(run, "state of Adam")) >= 3
    with pytest.raises(OSError, match="No space left"), repdl.record("/dev/full"):
        pass


def test_what_cannot_be_recorded(tmp_path: Path) -> None:
    for arguments in (["-o", str(tmp_path / "no" / "run"), __file__], [str(tmp_path / "no.py")]):
        assert CliRunner().invoke(app, ["record", *arguments]).exit_code == 2


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "msgpack", None)
    with pytest.raises(ImportError, match=r"pip install 'repdl\[record\]'"):
        needs.library("msgpack")


def test_any_cut_is_readable_or_named(tmp_path: Path) -> None:
    whole = recorded(tmp_path / "a", train_transformer)
    data = (tmp_path / "a").read_bytes()
    for length in [*range(0, 30), *range(30, len(data), 1501)]:
        (tmp_path / "cut").write_bytes(data[:length])
        try:
            run = Run(tmp_path / "cut")
        except RecordError:
            assert length < 600
        else:
            assert [call.digest for call in calls(run)] == [call.digest for call in calls(whole)][: len(calls(run))]


def test_any_damage_is_named(tmp_path: Path) -> None:
    recorded(tmp_path / "a", train_convolutions)
    data = (tmp_path / "a").read_bytes()
    for place in range(0, len(data), 97):
        damaged = bytearray(data)
        damaged[place] ^= 0x55
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(RecordError):
            calls(Run(tmp_path / "damaged"))


def test_what_stands_behind_the_end_is_named(tmp_path: Path) -> None:
    recorded(tmp_path / "a", train_convolutions)
    data = (tmp_path / "a").read_bytes()
    for more in (b"x", data):
        (tmp_path / "more").write_bytes(data + more)
        with pytest.raises(RecordError, match=f"is damaged at byte {len(data)}: it goes on after its end"):
            Run(tmp_path / "more")


def test_a_damaged_length_is_no_end(tmp_path: Path) -> None:
    """A frame that reaches over the end of a whole file is damaged, and the run was not cut off."""
    recorded(tmp_path / "a", train_convolutions)
    data = (tmp_path / "a").read_bytes()
    frames = list(file.Reader(tmp_path / "a").frames())
    for found in (*frames[:3], *frames[-3:]):
        damaged = bytearray(data)
        damaged[found.offset - file.HEAD_SIZE + 2] ^= 0x80  # 32,768 bytes more, or less
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(RecordError, match="is damaged at byte"):
            calls(Run(tmp_path / "damaged"))
    cut = frames[len(frames) // 2]
    (tmp_path / "cut").write_bytes(data[: cut.offset + cut.packed - 1])
    assert len(list(file.Reader(tmp_path / "cut").frames())) == len(frames) // 2


def frame(kind: bytes, value: Any, raw: int | None = None) -> bytes:
    packed = value if isinstance(value, bytes) else msgpack.packb(value)
    payload = zstandard.compress(packed)
    size = len(packed) if raw is None else raw
    return struct.pack("<cII16s", kind, len(payload), size, xxhash.xxh3_128_digest(payload)) + payload


HEAD = file.MAGIC + frame(b"H", {"every": 1})
BOMB = bytes(1 << 28)

FOREIGN: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "text": lambda: b"hello, world" * 100,
    "pickle": lambda: __import__("pickle").dumps([1, 2, 3]),
    "garbage": lambda: random.Random(0).randbytes(10_000),
    "garbage after the head": lambda: HEAD + random.Random(0).randbytes(10_000),
    "no header": lambda: file.MAGIC + frame(b"T", [[], []]),
    "a bomb that says so": lambda: HEAD + frame(b"T", BOMB),
    "a bomb that says it is small": lambda: HEAD + frame(b"T", BOMB, 100),
    "lists in lists": lambda: HEAD + frame(b"T", b"\x91" * 100_000),
    "a header of numbers": lambda: file.MAGIC + frame(b"H", 5),
    "another format": lambda: file.MAGIC + frame(b"H", {"format": file.VERSION + 1, "every": 1}),
    "names that are missing": lambda: HEAD + frame(b"T", [["a"], [[0, 7, [], []]]]),
    "names before the first": lambda: HEAD + frame(b"T", [["a"], [[-1, 0, [], []]]]),
    "an op of no signature": lambda: HEAD + frame(b"O", [0, 0, [3], [0, 0], [0], [], [], [], [0], b""]),
    "ops that are texts": lambda: HEAD + frame(b"O", [0, "a", "b", "c", "d", "e", "f", "g", "h", b""]),
    "a block without ops": lambda: HEAD + frame(b"B", [0, 0, 5, b"0" * 16, []]),
    "a block that begins late": lambda: HEAD + frame(b"B", [0, 9, 10, b"0" * 16, []]),
    "names without end": lambda: HEAD + 12 * frame(b"T", [["a"], [[0, 0, [0] * 1_000_000, []]]]),
    "texts without end": lambda: HEAD + 200 * frame(b"T", [["a" * 2_000_000], []]),
    "an extension type": lambda: HEAD + frame(b"T", msgpack.packb(msgpack.ExtType(1, b"x"))),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_files_of_strangers_are_refused(tmp_path: Path, what: str) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(FOREIGN[what]())
    with pytest.raises(RecordError, match="foreign"):
        calls(Run(path))
    result = CliRunner().invoke(app, ["diff", str(path), str(path)])
    if what != "a block without ops":  # equal digests of one file need no look at the ops
        assert result.exit_code == 2, result.output


def test_a_bomb_takes_no_memory(tmp_path: Path) -> None:
    import resource

    path = tmp_path / "bomb"
    for what in ("a bomb that says so", "a bomb that says it is small"):
        path.write_bytes(FOREIGN[what]())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(RecordError):
            Run(path)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_no_file_at_all(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path, Path("/dev/zero")):
        result = CliRunner().invoke(app, ["diff", str(path), str(path)])
        assert result.exit_code == 2 and "Traceback" not in result.output


def test_what_frames_lack_is_said_in_words(tmp_path: Path) -> None:
    recorded(tmp_path / "a", train_transformer)
    data, frames = (tmp_path / "a").read_bytes(), []
    at = 8
    while at < len(data):
        size = 25 + struct.unpack("<I", data[at + 1 : at + 5])[0]
        frames.append(data[at : at + size])
        at += size
    told = []
    for i, frame in enumerate(frames):
        for count in (0, 2):
            (tmp_path / "b").write_bytes(data[:8] + b"".join([*frames[:i], *[frame] * count, *frames[i + 1 :]]))
            try:
                Run(tmp_path / "b").verify()
            except RecordError as error:
                told.append(str(error))
    assert any("parts of it are missing, doubled or in another order" in text for text in told)
    assert not [text for text in told if "index out of range" in text or "StopIteration" in text]


def test_every_is_a_whole_number(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"\[record\] every must be a whole number, got float"):
        repdl.record(tmp_path / "a", every=1.5)  # type: ignore[arg-type]


def test_the_shape_of_an_objects_batch() -> None:
    tensor = torch.ones(2)
    assert content.leaves({"a": [tensor, (1, "x")], "b": None}) == [tensor, 1, "x", None]
    assert content.of_object(1) != content.of_object(1.0) != content.of_object(True)
    assert content.of_object(np.arange(3))[0] == "numpy int64[3]"
    assert content.of_object(object()) == ("object", content.UNHASHED)


def test_json_is_what_a_program_reads(tmp_path: Path) -> None:
    for name in "ab":
        recorded(tmp_path / name, lambda: Transformer()(torch.zeros(1, 2, dtype=torch.long)))
    result = CliRunner().invoke(app, ["diff", "--json", str(tmp_path / "a"), str(tmp_path / "b")])
    assert result.exit_code == 0 and json.loads(result.stdout)["equal"]


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(context: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * 2


class Wrapped(torch.Tensor):
    """Without memory of its own, but with an offset, as the parameters of FSDP2."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Wrapped:
        strides, offset = inner.stride(), inner.storage_offset()
        wrapper = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=strides, storage_offset=offset, dtype=inner.dtype
        )
        wrapper.inner = inner
        return wrapper  # type: ignore[no-any-return]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls(func(*[x.inner if isinstance(x, cls) else x for x in args], **kwargs or {}))


UNUSUAL: dict[str, Callable[[], object]] = {
    "export": lambda: torch.export.export(
        nn.Linear(3, 2), (torch.ones(4, 3),), dynamic_shapes=({0: torch.export.Dim("b")},)
    ),
    "vmap": lambda: torch.vmap(lambda x: x.sin().sum())(torch.ones(3, 4)),
    "nested": lambda: torch._nested_view_from_buffer(
        torch.ones(6), torch.tensor([[2, 1], [2, 2]]), torch.tensor([[1, 1], [2, 1]]), torch.tensor([0, 2])
    ).sin(),
    "sparse": lambda: torch.eye(3).to_sparse() @ torch.ones(3, 2),
    "quantized": lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8).dequantize(),
    "meta": lambda: nn.Linear(3, 2, device="meta")(torch.ones(1, 3, device="meta")),
    "a function of autograd": lambda: Doubled.apply(torch.ones(3, requires_grad=True)).sum().backward(),
    "a list with gaps": lambda: torch.ones(3, 4)[:, torch.tensor([0, 1])],
    "recurrent": lambda: nn.LSTM(3, 4)(torch.ones(2, 5, 3))[0].sum().backward(),
    "wrapped": lambda: Wrapped(torch.ones(40)[8:]) * 2,
    "wrapped, with gaps": lambda: Wrapped(torch.ones(40)[8::2]) * 2,
    "two derivatives": lambda: torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.ones(3)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", UNUSUAL)
def test_what_is_unusual_is_recorded(tmp_path: Path, what: str) -> None:
    run = recorded(tmp_path / "a", UNUSUAL[what])
    assert calls(run)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no torch.distributed")
def test_of_a_sharded_tensor_its_part_is_hashed(tmp_path: Path) -> None:
    from torch.distributed.tensor import Shard, distribute_tensor

    def program() -> None:
        x = distribute_tensor(torch.ones(4, 3), torch.distributed.init_device_mesh("cpu", (1,)), [Shard(0)])
        for _ in range(2):
            x.exp()
            x.to_local().numpy()[0] += 1
        x.exp()

    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        run = recorded(tmp_path / "a", program)
    finally:
        torch.distributed.destroy_process_group()
    hashes = [value.hash for call in named(run, "aten::exp") for value in call.inputs + call.outputs]
    assert len(set(hashes) - {content.UNHASHED}) == 6


def test_writes_that_no_recorded_op_makes_are_seen(tmp_path: Path) -> None:
    def program() -> None:
        x = torch.zeros(4)
        x.exp()
        thread = threading.Thread(target=lambda: x.add_(1))  # threads are not recorded
        thread.start()
        thread.join()
        x.exp()

    run = recorded(tmp_path / "a", program)
    first, second = named(run, "aten::exp")
    assert first.inputs[0].hash != second.inputs[0].hash


def test_what_is_written_between_two_recordings_is_seen(tmp_path: Path) -> None:
    """Past torch's count of writes too."""
    x = torch.zeros(4)
    found = []
    for name in ("a", "b"):
        (exp,) = named(recorded(tmp_path / name, x.exp), "aten::exp")
        found.append(exp.inputs[0])
        x.data[1] = -0.0
    assert found[0].hash != found[1].hash and found[1].writer == -1


def test_what_an_op_of_another_library_writes_in_secret_is_seen(tmp_path: Path) -> None:
    with torch.library._scoped_library("repdl_secret", "DEF") as other:  # type: ignore[attr-defined]
        other.define("step(Tensor x, Tensor[] more) -> Tensor")  # it does not say that it writes
        other.impl(
            "step", lambda x, more: (np.add(x.numpy(), 1, out=x.numpy()), more[0].numpy().fill(3), x.neg())[2], "CPU"
        )

        def program() -> None:
            x, y = torch.zeros(4), torch.zeros(4)
            x.exp(), y.sin()
            torch.ops.repdl_secret.step(x, [y])
            x.exp(), y.sin()

        run = recorded(tmp_path / "a", program)
    for name in ("aten::exp", "aten::sin"):
        first, second = named(run, name)
        assert first.inputs[0].hash != second.inputs[0].hash
        assert first.outputs[0].hash != second.outputs[0].hash


def test_what_other_threads_do_is_not_recorded(tmp_path: Path) -> None:
    def aside() -> None:
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters())
        for (x,) in DataLoader(TensorDataset(torch.ones(2, 3))):
            model(x).sum().backward()
            optimizer.step()

    def program() -> None:
        thread = threading.Thread(target=aside)
        thread.start()
        thread.join()
        torch.ones(1).exp()

    run = recorded(tmp_path / "a", program)
    assert [call.name for call in calls(run)] == ["aten::ones", "aten::exp"]


def test_our_own_layers_and_optimizers(tmp_path: Path) -> None:
    def program() -> None:
        model = repdl.from_torch_module(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
        optimizer = repdl.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(4, 3)).sum().backward()
            optimizer.step()

    run = recorded(tmp_path / "a", program)
    states = named(run, "state of Adam")
    assert [call.step for call in states] == [0, 1] and states[0].outputs != states[1].outputs
    assert {call.phase for call in named(run, "repdl::adam_step")} == {"optimizer"}
