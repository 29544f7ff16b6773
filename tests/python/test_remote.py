# SPDX-License-Identifier: MIT
"""`repdl diff RUN HOST:PATH`: a run on another machine is compared by kilobytes, and what it says is checked."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import struct
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from time import monotonic, sleep
from typing import Any

import msgpack
import pytest
import torch
import xxhash
import zstandard
from safetensors.torch import load_file, save_file
from torch.utils.data import DataLoader, TensorDataset
from typer.testing import CliRunner

from faults import FAULTS, compared
from repdl.cli.main import app
from repdl.experiments.settings import threads
from repdl.runs import capture as capturing, difference, remote, serving
from repdl.runs.columns import Call, Value
from repdl.runs.file import Frames, RecordError, Writer
from repdl.runs.log import Log
from repdl.runs.page import page
from repdl.runs.remote import RemoteRun, SilentHostError, place
from repdl.runs.run import Run
from repdl.runs.sentence import as_json, sentence
from repdl.runs.settings import harmless
from runs import of_script

HEADER = {"first_step": 0, "end_step": sys.maxsize, "every": 1, "threads": 1}


def test_what_is_a_place() -> None:
    assert place("host:run") == ("host", "run") and place("me@host:/a b/c:d") == ("me@host", "/a b/c:d")
    assert place("run") is None and place("./a:b") is None and place("/a:b") is None and place("host:") is None
    assert place(":x") is None


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a script of the shell in the place of ssh."""

    def put(script: str) -> None:
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / "ssh").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / "ssh").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)

    return put


class Peer:
    """In the place of a process of ssh: the other side is a thread."""

    def __init__(self, words: list[str], bufsize: int, stdin: int, stdout: int) -> None:
        questions, answers = os.pipe(), os.pipe()
        self.stdin, self.stdout = os.fdopen(questions[1], "wb", bufsize), os.fdopen(answers[0], "rb", bufsize)
        self.sides = os.fdopen(questions[0], "rb"), os.fdopen(answers[1], "wb")
        self.thread = Thread(target=self._serve, args=(Path(shlex.split(words[-1])[-1]),))
        self.thread.start()

    def _serve(self, path: Path) -> None:
        with self.sides[0], self.sides[1], contextlib.suppress(BrokenPipeError):
            serving.serve(path, *self.sides)

    def terminate(self) -> None:
        pass

    def wait(self, timeout: float | None = None) -> int:
        self.thread.join()
        return 0


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote.subprocess, "Popen", Peer)


def write(path: Path, ops: int, other: int | None = None, steps: int = 931) -> None:
    """A record of so many ops; from one of them on it has other values."""
    log = Log(Writer(path), HEADER)
    log.op("random generators", "threads=1", "forward", "", "", [], [("generator", bytes(16))], None, True)
    before = xxhash.xxh3_128_digest(b"")
    for number in range(ops):
        if number % steps == steps - 1:
            log.end_step()
            log.op("random generators", "threads=1", "forward", "", "", [], [("generator", before)], None, True)
        value = xxhash.xxh3_128_digest(struct.pack("<QQ", number, other is not None and number >= other))
        reads = [("float32[8, 16]", before, log.ops - 1), ("float32[16, 16]", value[::-1], -1)]
        place = "forward", f"layers.{number % 48}.attn", f"model.py:{number % 97}"
        log.op(f"aten::op_{number % 60}", "alpha=1", *place, reads, [("float32[8, 16]", value)], None, False)
        before = value
    log.close("ended", 1.0, 0.1)


def test_a_long_run_compares_by_kilobytes(
    tmp_path: Path, ssh: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command itself, as ssh starts it; of a run of 100,000 ops, that differs late."""
    ssh(f'echo "$1" "$2" > {tmp_path}/asked\nexec sh -c "$2"')
    write(tmp_path / "a", 100_000)
    write(tmp_path / "a run", 100_000, 77_777)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    local = Run(tmp_path / "a")
    command = f"{sys.executable} -m repdl"
    with RemoteRun("me@host", str(tmp_path / "a run"), command) as other:
        found = difference.find(local, other)
        expected = difference.find(local, Run(tmp_path / "a run"))
        assert found is not None and found == expected
        assert sentence(found, local, other) == sentence(expected, local, other)
        assert found.a is not None and found.a.name == f"aten::op_{77_777 % 60}" and found.kind == "input"
        assert other.received + other.sent < 60_000 < (tmp_path / "a run").stat().st_size / 50
    assert (tmp_path / "asked").read_text() == f"me@host {command} serve '{tmp_path}/a run'\n"


def test_equal_runs_cost_nothing(tmp_path: Path, peer: None) -> None:
    write(tmp_path / "a", 100_000)
    with RemoteRun("host", str(tmp_path / "a"), "repdl") as other:
        assert difference.find(Run(tmp_path / "a"), other) is None
        assert other.received + other.sent < 4_000


LONG = {"one bit", "one bit of a backward pass", "race of an op"}
"""Which take their time, and are told of as others are."""


def shuffled(seed: int) -> Callable[[], None]:
    def program() -> None:
        torch.manual_seed(seed)
        for (batch,) in DataLoader(TensorDataset(torch.arange(40.0).reshape(20, 2)), 2, shuffle=True):
            batch.exp()

    return program


@pytest.mark.parametrize("name", [*sorted(FAULTS.keys() - LONG), "order"])
def test_each_fault_is_told_as_of_files(tmp_path: Path, peer: None, name: str) -> None:
    fault = FAULTS.get(name)
    a, b = (shuffled(1), shuffled(2)) if fault is None else (fault.a, fault.b)
    found, _ = compared(tmp_path, a, b)
    files = Run(tmp_path / "a"), Run(tmp_path / "b")
    for side in range(2):
        with RemoteRun("host", str(files[side].path), "repdl") as other:
            pair = (other, files[1]) if side == 0 else (files[0], other)
            there = difference.find(*pair)
            assert there == found
            assert sentence(there, *pair) == sentence(found, *files)
            assert page(there, *pair).count("<tr") == page(found, *files).count("<tr")
            assert as_json(there, *pair)["a"] == as_json(found, *files)["a"]


def test_a_run_that_was_cut_off(tmp_path: Path, peer: None) -> None:
    write(tmp_path / "a", 3000)
    whole = (tmp_path / "a").read_bytes()
    (tmp_path / "b").write_bytes(whole[: len(whole) * 2 // 3])
    with RemoteRun("host", str(tmp_path / "b"), "repdl") as other:
        assert other.end is None
        found = difference.find(Run(tmp_path / "a"), other)
        assert found == difference.find(Run(tmp_path / "a"), Run(tmp_path / "b"))
        assert found is not None and "was cut off" in sentence(found, Run(tmp_path / "a"), other)


def test_what_is_not_there(tmp_path: Path, peer: None) -> None:
    for path, text in ((tmp_path / "none", "host: .*none: there is no such file"), (tmp_path, "host: .* is no file")):
        with pytest.raises(RecordError, match=text):
            RemoteRun("host", str(path), "repdl")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(RecordError, match=r"host: .*text is no record of a run"):
        RemoteRun("host", str(tmp_path / "text"), "repdl")
    with pytest.raises(RecordError, match="'-oProxyCommand=x' is no host"):
        RemoteRun("-oProxyCommand=x", "run", "repdl")


class Liar:
    """In the place of a process of ssh: it answers with what it was made with."""

    answers = b""

    def __init__(self, words: list[str], bufsize: int, stdin: int, stdout: int) -> None:
        self.stdin, self.stdout = (TemporaryFile(buffering=bufsize) for _ in range(2))  # noqa: SIM115
        self.stdout.write(self.answers)
        self.stdout.seek(0)

    def terminate(self) -> None:
        pass

    def wait(self, timeout: float | None = None) -> int:
        return 255


def frame(kind: bytes, value: Any, packed: bytes | None = None, raw: int | None = None) -> bytes:
    data = msgpack.packb(value) if packed is None else packed
    payload = zstandard.ZstdCompressor().compress(data)
    size = len(data) if raw is None else raw
    return struct.pack("<cII16s", kind, len(payload), size, xxhash.xxh3_128_digest(payload)) + payload


ABOUT = {"protocol": 1, "header": HEADER, "end": None, "counts": [5, 1, 1]}
BEGUN = serving.MAGIC + frame(b"A", ABOUT)
OTHER = BEGUN + frame(b"A", [bytes(15) + b"x", 5])
NAMES = frame(b"T", [["aten::mm", "", "float32[1]"], [[0, 1, [2], [2]]]])


def part(begin: int, count: int, **columns: Any) -> bytes:
    values = {"signatures": [0], "wheres": [1, 1], "phases": [0], "reads": [0], "writers": [0], "made": [0]}
    values = {name: value * count for name, value in (values | {"generators": [0]}).items()} | columns
    return frame(b"O", [0, begin, *values.values(), columns.get("data", bytes(16))][:10])


LIES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "host gave no whole answer: ssh ended with exit status 255"),
    "a shell that talks": (b"Welcome to host!\n", "host answers with b'Welcome '…, and not as `repdl serve` does"),
    "no frame": (serving.MAGIC + b"?" * 40, "the answer of host is damaged at byte 8: no frame begins there"),
    "half": (BEGUN[:-3], "host gave no whole answer"),
    "a bomb": (serving.MAGIC + frame(b"A", None, bytes(1 << 26)), "no frame begins there"),
    "a hidden bomb": (serving.MAGIC + frame(b"A", None, bytes(1 << 26), 100), "its size is another"),
    "a checksum": (BEGUN[:-1] + b"?", "its checksum is another"),
    "no mapping": (serving.MAGIC + frame(b"A", [1]), "the answer of host is damaged"),
    "counts": (serving.MAGIC + frame(b"A", ABOUT | {"counts": [-1, 1, 1]}), "-1 is no index"),
    "another version": (serving.MAGIC + frame(b"A", ABOUT | {"protocol": 2}), "host has another version of repdl"),
    "another format": (serving.MAGIC + frame(b"A", ABOUT | {"header": {"format": 2}}), "run is a record of format 2"),
    "a message": (serving.MAGIC + frame(b"X", "a\x1b[31mb"), r"host: a \[31mb"),
    "no digest": (BEGUN + frame(b"A", [3, 4]), "it has no digest"),
    "no number": (BEGUN + frame(b"A", [bytes(16), "x"]), "'x' is no index"),
    "too many frames": (OTHER + 600 * NAMES, "the answer of host has more frames than were asked for"),
    "too many calls": (OTHER + NAMES + part(0, 200) + frame(b"A", 0), "it has more calls than were asked for"),
    "other calls": (OTHER + NAMES + part(1, 5) + frame(b"A", 0), "has other calls than were asked for"),
    "no calls": (OTHER + frame(b"A", 0), "has other calls than were asked for"),
    "no names": (OTHER + part(0, 5) + frame(b"A", 0), "parts of it are missing"),
    "texts for hashes": (OTHER + NAMES + part(0, 5, data="x" * 16) + frame(b"A", 0), "it has no hashes"),
    "an index of none": (OTHER + NAMES + part(0, 5, made=[-1] * 5) + frame(b"A", 0), "-1 is no index"),
}


@pytest.mark.parametrize("name", LIES)
def test_answers_that_are_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    answers, text = LIES[name]
    write(tmp_path / "a", 5)
    monkeypatch.setattr(remote.subprocess, "Popen", type("Peer", (Liar,), {"answers": answers}))
    with pytest.raises(RecordError, match=text), RemoteRun("host", "run", "repdl") as other:
        difference.find(Run(tmp_path / "a"), other)


def test_answers_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_MOST_BYTES", len(BEGUN) + 1000)
    monkeypatch.setattr(remote.subprocess, "Popen", type("Peer", (Liar,), {"answers": OTHER + 600 * NAMES}))
    write(tmp_path / "a", 5)
    with pytest.raises(RecordError, match="host answers with more than"), RemoteRun("host", "run", "repdl") as other:
        difference.find(Run(tmp_path / "a"), other)


SILENCE = {
    "from the first": "exec sleep 30",
    "after a greeting": f"printf {serving.MAGIC.decode()}; exec sleep 30",
    "of a child that holds the pipe": "sleep 30",
}


@pytest.mark.parametrize("how", SILENCE)
def test_a_host_that_is_silent(ssh: Callable[[str], None], how: str) -> None:
    ssh(SILENCE[how])
    begin = monotonic()
    with pytest.raises(SilentHostError, match=r"host has not answered for 0\.3 s: see whether `ssh host true`"):
        RemoteRun("host", "run", "repdl", 0.3)
    assert monotonic() - begin < 10


def test_a_host_without_repdl_or_login(ssh: Callable[[str], None]) -> None:
    for status, remedy in (
        (127, "say with --remote-repdl how it is called there"),
        (255, "see whether `ssh host true`"),
    ):
        ssh(f"exit {status}")
        with pytest.raises(RecordError, match=f"exit status {status}; .*{remedy}"):
            RemoteRun("host", "run", "repdl")


def test_a_host_that_takes_no_question(tmp_path: Path, ssh: Callable[[str], None]) -> None:
    (tmp_path / "begun").write_bytes(BEGUN)
    ssh(f"cat {tmp_path}/begun; exec sleep 30")
    with RemoteRun("host", "run", "repdl", 0.3) as other, pytest.raises(SilentHostError):
        other.missing_entries({struct.pack("<QQ", number, 0) for number in range(5000)})  # more than a pipe holds


def test_a_slow_host_is_waited_for(tmp_path: Path, ssh: Callable[[str], None]) -> None:
    """Byte after byte, as long as each answer is there in time."""
    half = len(BEGUN) // 2
    (tmp_path / "begun").write_bytes(BEGUN)
    ssh(f"head -c {half} {tmp_path}/begun; sleep 0.2; tail -c +{half + 1} {tmp_path}/begun")
    with RemoteRun("host", "run", "repdl", 20) as other:
        assert other.ops == 5


@pytest.mark.parametrize(
    "question",
    [
        "",
        "[]",
        '["none", 1]',
        '["calls", 1]',
        '["calls", [0, -1]]',
        '["prefix", 99]',
        '["prefix", "x"]',
        "[" * 99999,
        '["missing", ["x"]]',
        '["segments"]',
        '["again", 1]',
        '["again", [99, {}, []]]',
        '["again", [0, [], []]]',
        '["again", [0, {"environment": 5}, []]]',
        "\xff",
    ],
)
def test_questions_that_are_none(tmp_path: Path, question: str) -> None:
    write(tmp_path / "a", 5)
    answers = BytesIO()
    serving.serve(tmp_path / "a", BytesIO(question.encode() + b"\n"), answers, again=True)
    codec, data = Frames(), answers.getvalue()
    second = 8 + 25 + struct.unpack("<I", data[9:13])[0]
    head = codec.head(data[second : second + 25], 0, (b"X",), "it")
    assert "no question that this version of repdl answers" in codec.read(head, data[second + 25 :], "it")


def test_the_command(tmp_path: Path, peer: None) -> None:
    write(tmp_path / "a", 50)
    write(tmp_path / "b", 50, 20)
    result = CliRunner().invoke(app, ["diff", str(tmp_path / "a"), f"host:{tmp_path}/b", "--json"])
    values = json.loads(result.stdout)
    assert result.exit_code == 1 and values["runs"][1]["path"] == f"host:{tmp_path}/b"
    assert CliRunner().invoke(app, ["diff", f"host:{tmp_path}/a", f"host:{tmp_path}/a"]).exit_code == 0
    compared(tmp_path, FAULTS["another kernel"].a, FAULTS["another kernel"].b)
    result = CliRunner().invoke(app, ["diff", f"host:{tmp_path}/a", str(tmp_path / "b"), "--cause"])
    assert result.exit_code == 1 and "not looked for: where A lies no program is run again" in result.output


def test_the_command_gives_up_on_a_silent_host(tmp_path: Path, ssh: Callable[[str], None]) -> None:
    write(tmp_path / "a", 5)
    ssh("exec sleep 30")
    result = CliRunner().invoke(app, ["diff", str(tmp_path / "a"), "host:a", "--remote-timeout", "0.3"])
    assert result.exit_code == 2 and "repdl diff: host has not answered for 0.3 s" in result.output


def test_tensors_of_the_run_that_lies_here_are_captured(
    tmp_path: Path, peer: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, _ = compared(tmp_path, shuffled(1), shuffled(2))
    assert found is not None and found.a is not None
    asked: list[str] = []

    def captured_here(name: str, call: Call, run: Run, path: Path, command: Any) -> dict[str, Any]:
        asked.append(name)
        save_file({"input.self": torch.ones(2)}, path)
        return {"untried": "", "here": [None] * len(call.outputs)}

    monkeypatch.setattr(capturing, "captured", captured_here)
    with RemoteRun("host", str(tmp_path / "b"), "repdl") as other:
        captured = capturing.capture(found, Run(tmp_path / "a"), other, tmp_path / "tensors")
    assert asked == ["A"] and list(load_file(tmp_path / "tensors")) == ["A.input.self"]
    why = "there no program is run again, as `repdl serve` was started without --again"
    assert captured.problems == [why]
    with pytest.raises(OSError, match=r"No space left on device: ./dev/full"):
        capturing.capture(found, Run(tmp_path / "a"), Run(tmp_path / "b"), Path("/dev/full"))
    assert Path("/dev/full").is_char_device()


@pytest.fixture
def reached(ssh: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Asks `repdl diff --cause` of the runs "a", here or on a host, and "b" of scripts that are in a folder."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    ssh(f'echo "$@" >> {tmp_path}/asked\nfor word; do :; done\nexec sh -c "$word"')

    def ask(place: str, *options: str) -> Any:
        command = ["--remote-repdl", f"{sys.executable} -m repdl", "--json", *options]
        result = CliRunner().invoke(app, ["diff", f"{place}{tmp_path}/a", str(tmp_path / "b"), *command])
        return json.loads(result.stdout) if result.exit_code == 1 else result

    return ask


def runs_of(folder: Path, text: str, again: str = "pass") -> Path:
    """again: what the program does first when it is run again."""
    script, flag = folder / "script.py", folder / "recorded"
    script.write_text(f"import os, planted_ops, torch\nif os.path.exists('{flag}'):\n    {again}\n{text}\n")
    for name, count in (("a", 1), ("b", 2)):
        torch.manual_seed(12)
        with threads(count):
            of_script(folder / name, script)
    flag.touch()
    return script


def test_the_cause_is_looked_for_where_a_lies(
    tmp_path: Path, reached: Callable[..., Any], capfd: pytest.CaptureFixture[str]
) -> None:
    runs_of(tmp_path, "print('of the program')\ntorch.ops.planted_ops.threads(torch.linspace(-3, 3, 24))")
    capfd.readouterr()
    there = reached("host:", "--cause", "--remote-timeout", "20")
    printed = capfd.readouterr()
    assert there["cause"]["sentence"].startswith("The cause is the number of threads: made again with 2 threads it giv")
    assert "24 of 24 numbers differ" in there["cause"]["sentence"] and len(there["cause"]["ways"]) > 8
    assert there["cause"] == reached("", "--cause")["cause"]
    assert reached("host:")["cause"] is None
    assert printed.err.count("of the program") == 1 and "of the program" not in printed.out
    assert "Traceback" not in printed.err
    serve = f"host {sys.executable} -m repdl serve"
    asked = [f"-o ServerAliveInterval=20 {serve} --again {tmp_path}/a", f"{serve} {tmp_path}/a"]
    assert (tmp_path / "asked").read_text().splitlines() == asked


def test_what_cannot_be_run_again_there_is_told_as_here(tmp_path: Path, reached: Callable[..., Any]) -> None:
    script = runs_of(tmp_path, "torch.ops.planted_ops.threads(torch.rand(3))")
    there = reached("host:", "--cause")
    assert "not looked for: A's program does not run alike" in there["cause"]["sentence"]
    assert there["cause"] == reached("", "--cause")["cause"]
    script.unlink()
    there = reached("host:", "--cause")
    assert there["cause"]["untried"] == f"run A cannot be run again, since there is no {script}"
    assert there["cause"] == reached("", "--cause")["cause"]


def test_a_host_that_ends_amid_the_experiments(tmp_path: Path, reached: Callable[..., Any]) -> None:
    """What is known without it is told, and what went wrong."""
    runs_of(tmp_path, "torch.ops.planted_ops.threads(torch.ones(3))", "os.kill(os.getppid(), 9)")
    result = reached("host:", "--cause", "--html", str(tmp_path / "page.html"))
    there = json.loads(result.stdout)
    failed = "host gave no whole answer: ssh ended with exit status"
    assert there["a"]["op"] == "planted_ops::threads" and there["kind"] == "result"
    assert f"The cause is not known, as looking for it failed: {failed}" in there["sentence"]
    assert failed in there["cause"]["failure"] and there["cause"]["ways"] == []
    assert result.exit_code == 2 and "repdl diff: host takes no more questions" in result.stderr
    assert not (tmp_path / "page.html").exists()


def test_tensors_are_captured_where_a_run_lies(tmp_path: Path, reached: Callable[..., Any]) -> None:
    """In pieces of a megabyte."""
    runs_of(tmp_path, "torch.ops.planted_ops.threads(torch.arange(600_000.0).reshape(600, 1000).t())")
    captured = reached("host:", "--capture", str(tmp_path / "tensors"))["captured"]
    assert captured["problems"] == []
    assert ", first [0, 0] of output 0, 1.0 in A and 2.0 in B." in captured["sentence"]
    x = torch.arange(600_000.0).reshape(600, 1000).t()
    tensors = load_file(tmp_path / "tensors")
    expected = {"A.input.x": x, "A.output.0": x + 1, "B.input.x": x, "B.output.0": x + 2}
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)
    asked = [*shlex.split((tmp_path / "asked").read_text())]
    assert asked.count("--again") == 1


def test_a_program_ends_with_those_who_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And leaves nothing behind, though it handles the signal."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    pid = tmp_path / "pid"
    again = (
        f"signal.signal(15, signal.SIG_IGN); print(os.getpid(), file=open('{pid}', 'w'), flush=True); time.sleep(99)"
    )
    runs_of(tmp_path, "torch.ones(3).exp()", f"import signal, time; {again}")
    command = [sys.executable, "-m", "repdl", "serve", "--again", str(tmp_path / "a")]
    serving_side = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert serving_side.stdin is not None
    serving_side.stdin.write(b'["again", [1, {}, []]]\n')
    serving_side.stdin.flush()
    while not (pid.exists() and pid.read_text()):
        assert serving_side.poll() is None
        sleep(0.1)
    assert len(os.listdir(tmp_path / "temporary")) == 1
    serving_side.stdin.close()
    assert serving_side.wait(20) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert os.listdir(tmp_path / "temporary") == []


def test_a_host_whose_repdl_is_older(tmp_path: Path, ssh: Callable[[str], None]) -> None:
    write(tmp_path / "b", 5)
    ssh("exit 2")
    result = CliRunner().invoke(app, ["diff", "host:a", str(tmp_path / "b"), "--cause"])
    assert (
        result.exit_code == 2 and "install one version on both, or ask without --cause and --capture" in result.output
    )


WAY = {"kind": "threads", "name": "2 threads", "answer": {"difference": None, "refused": None, "hashes": ["00" * 16]}}
FAR = {"elements": 1, "of": 1, "ulps": 2, "first": [0, [3], "1.0", "2.0"]}
TOLD: dict[str, Any] = {"untried": "", "here": ["00" * 16], "ways": [WAY]}


def way_with(**answer: Any) -> dict[str, Any]:
    return TOLD | {"ways": [WAY | {"answer": WAY["answer"] | answer}]}  # type: ignore[operator]


LIES_OF_EXPERIMENTS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "host gave no whole answer: ssh ended with exit status 255"),
    "half": (frame(b"A", TOLD)[:-3], "host gave no whole answer: ssh ended with exit status 255"),
    "a bomb": (frame(b"A", None, bytes(1 << 26)), "no frame begins there"),
    "garbage": (b"\x80\x04K\x01." * 20, "no frame begins there"),
    "an older version": (frame(b"X", "no question that"), "host: no question that"),
    "a number": (frame(b"A", 5), "the answer of host is damaged"),
    "nothing told": (frame(b"A", {}), "the answer of host is damaged"),
    "a list for a text": (frame(b"A", TOLD | {"untried": [1]}), "the answer of host is damaged"),
    "no hash": (frame(b"A", TOLD | {"here": ["xy"]}), "the answer of host is damaged"),
    "too few hashes": (frame(b"A", TOLD | {"here": []}), "it has other hashes than of the results"),
    "too many hashes": (frame(b"A", TOLD | {"here": [None] * 9}), "it has no list of at most 1 values"),
    "too many ways": (frame(b"A", TOLD | {"ways": [WAY] * 1001}), "it has no list of at most 1000 values"),
    "a kind": (frame(b"A", TOLD | {"ways": [WAY | {"kind": "magic"}]}), "a way of no kind that this version"),
    "a way": (frame(b"A", TOLD | {"ways": ["threads"]}), "the answer of host is damaged"),
    "a way without hashes": (frame(b"A", way_with(hashes=[])), "it has other hashes than of the results"),
    "a distance": (frame(b"A", way_with(difference=0)), "the answer of host is damaged"),
    "elements": (frame(b"A", way_with(difference=FAR | {"elements": "1"})), "'1' is no index"),
    "ulps": (frame(b"A", way_with(difference=FAR | {"ulps": -1})), "-1 is no index"),
    "where": (frame(b"A", way_with(difference=FAR | {"first": [0, [1.5], "", ""]})), "1.5 is no index"),
    "too few": (frame(b"A", way_with(difference=FAR | {"first": [0, [0], ""]})), "the answer of host is damaged"),
}


@pytest.mark.parametrize("name", LIES_OF_EXPERIMENTS)
def test_answers_to_experiments_that_are_lies(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    answers, text = LIES_OF_EXPERIMENTS[name]
    monkeypatch.setattr(remote.subprocess, "Popen", type("Peer", (Liar,), {"answers": BEGUN + answers}))
    with RemoteRun("host", "run", "repdl", again=True) as other, pytest.raises(RecordError, match=text):
        other.experiments(OP, {}, [])


OP = Call(3, 0, "aten::exp", "", "forward", "", "", (), (Value("float32[1]", bytes(16)),), None, False, bytes(16))


def test_what_a_terminal_may_obey_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    told = way_with(difference=FAR | {"first": [0, [3], "\x1b[2J", "2.0"]}) | {"here": [None], "more": "x"}
    told["ways"] += [WAY | {"name": "a\x1bb"}, *way_with(refused="\x07" * 9999, hashes=[])["ways"]]
    answers = BEGUN + frame(b"A", told) + frame(b"A", {"untried": "no\nway\x1b"})
    monkeypatch.setattr(remote.subprocess, "Popen", type("Peer", (Liar,), {"answers": answers}))
    with RemoteRun("host", "run", "repdl", again=True) as other:
        found = other.experiments(OP, {}, [])
        assert other.experiments(OP, {}, []) == {"untried": "no way "}
    assert found.keys() == {"untried", "without", "here", "ways"} and found["here"] == [None]
    far, named, refused = found["ways"]
    assert far["answer"]["difference"]["first"] == [0, [3], " [2J", "2.0"] and named["name"] == "a b"
    assert refused["answer"]["refused"] == " " * 2000


LIES_OF_TENSORS: dict[str, tuple[list[Any], str]] = {
    "a list": ([[1]], "the answer of host is damaged"),
    "no size": ([{"untried": "", "here": [None]}], "the answer of host is damaged"),
    "a size below 0": ([{"untried": "", "here": [None], "size": -1}], "-1 is no index"),
    "no hash": ([{"untried": "", "here": ["x"], "size": 1}], "the answer of host is damaged"),
    "too many hashes": ([{"untried": "", "here": [None] * 2, "size": 1}], "it has no list of at most 1 values"),
    "too large": ([{"untried": "", "here": [None], "size": 1 << 31}], "host has 2147483648 bytes of tensors"),
    "a text": ([{"untried": "", "here": [None], "size": 9}, "x"], "it has other bytes than were asked for"),
    "nothing": ([{"untried": "", "here": [None], "size": 9}, b""], "it has other bytes than were asked for"),
    "too much": ([{"untried": "", "here": [None], "size": 9}, bytes(10)], "it has other bytes than were asked for"),
    "half": ([{"untried": "", "here": [None], "size": 9}, bytes(4)], "host gave no whole answer"),
    "no tensors": ([{"untried": "", "here": [None], "size": 9}, bytes(9)], ""),
    "a pickle": ([{"untried": "", "here": [None], "size": 11}, b"cos\nsystem\n"[:11]], ""),
}


@pytest.mark.parametrize("name", LIES_OF_TENSORS)
def test_tensors_that_are_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    told, text = LIES_OF_TENSORS[name]
    answers = BEGUN + b"".join(frame(b"A", value) for value in told)
    monkeypatch.setattr(remote.subprocess, "Popen", type("Peer", (Liar,), {"answers": answers}))
    found = difference.Difference("result", OP, None, [], 0)
    with RemoteRun("host", "run", "repdl", again=True) as other:
        captured = capturing.capture(found, other, other, tmp_path / "tensors")
    assert captured.path is None and not (tmp_path / "tensors").exists()
    assert captured.problems[0].startswith("capturing on host failed: ") and text in captured.problems[0]
    assert captured.problems[1:] == ["run B has no such op"]


def test_all_of_a_file_is_read_if_asked(tmp_path: Path, peer: None) -> None:
    """A part that is damaged, or of another hand, behind the digests of its blocks."""
    write(tmp_path / "a", 5000)
    whole = (tmp_path / "a").read_bytes()
    command = ["diff", str(tmp_path / "a"), str(tmp_path / "b")]
    parts = [f for f in Run(tmp_path / "a").reader.frames() if f.kind == b"O"]
    at = parts[2].offset
    (tmp_path / "b").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert CliRunner().invoke(app, command).exit_code == 0
    damaged = CliRunner().invoke(app, [*command, "--verify"])
    assert damaged.exit_code == 2 and f"b is damaged at byte {at}: its checksum is another" in damaged.output
    there = CliRunner().invoke(app, ["diff", str(tmp_path / "a"), f"host:{tmp_path}/b", "--verify"])
    assert there.exit_code == 2 and "host: " in there.output and "its checksum is another" in there.output
    values = Run(tmp_path / "a").reader.read(parts[2])
    values[-1] = values[-1][:-1] + b"?"
    forged = frame(b"O", values)
    (tmp_path / "b").write_bytes(whole[: at - 25] + forged + whole[at + parts[2].packed :])
    assert CliRunner().invoke(app, command).exit_code == 0
    damaged = CliRunner().invoke(app, [*command, "--verify"])
    assert damaged.exit_code == 2 and "have another digest" in damaged.output
    same = ["diff", str(tmp_path / "a"), f"host:{tmp_path}/a", "--verify"]
    assert CliRunner().invoke(app, same).exit_code == 0


def test_settings_of_a_stranger_load_no_library() -> None:
    sent = {
        "threads": 10**9,
        "capability": "avx1024",
        "program": ["x"],
        "precision": "none",
        "deterministic": "yes",
        "onednn": 1,
        "environment": {
            "OMP_TOOL_LIBRARIES": "/x.so", "CUDA_INJECTION64_PATH": "/x.so", "MKL_VERBOSE_OUTPUT_FILE": "x",
            "LD_PRELOAD": "x.so", "CUBLAS_LOGDEST_DBG": "x", "MKL_CBWR": "COMPATIBLE",
        },
    }  # fmt: skip
    assert harmless(sent) == {"environment": {"MKL_CBWR": "COMPATIBLE"}}
    assert harmless({"threads": 2, "enabled": None, "capability": "default"}) == {
        "threads": 2,
        "enabled": False,
        "capability": "default",
    }
    assert harmless(kept := {"precision": "medium", "deterministic": True, "onednn": False}) == kept
