# SPDX-License-Identifier: MIT
"""`repdl run` and `repdl audit`: the program sees what `python SCRIPT` would show it, and runs enabled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from repdl.cli._program import run_program
from repdl.cli.main import app
from runs import recorded
from support import ROOT

LOADED = "import sys; from repdl.cli import main; sys.argv[0] = 'repdl'; main()"


def repdl(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
        timeout=300,
    )


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=folder)


SEEN = """
import json, sys
import beside
print(json.dumps([sys.argv, sys.path[0], __name__, __file__, sys.modules["__main__"].__file__, beside.X]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "seen.py").write_text(SEEN)
    (tmp_path / "sub" / "beside.py").write_text("X = 1\n")
    (tmp_path / "beside.py").write_text("X = 2\n")
    (tmp_path / "seen.py").write_text(SEEN)
    return tmp_path


ARGUMENTS = ["--order", "x", "-m", "--help", "--", "-h", "a b", "*"]


def test_a_script_sees_what_python_shows_it(folder: Path) -> None:
    ours = repdl(folder, "run", "--order", "sequential", "--strict", "warn", "sub/seen.py", *ARGUMENTS)
    theirs = python(folder, "sub/seen.py", *ARGUMENTS)
    assert ours.returncode == 0, ours.stderr
    assert json.loads(ours.stdout) == json.loads(theirs.stdout)


def test_a_module_sees_what_python_shows_it(folder: Path) -> None:
    ours = repdl(folder, "run", "--order", "blocked", "-m", "seen", *ARGUMENTS)
    theirs = python(folder, "-m", "seen", *ARGUMENTS)
    assert ours.returncode == 0, ours.stderr
    assert json.loads(ours.stdout) == json.loads(theirs.stdout)


def test_it_is_enabled_from_the_first_line(folder: Path) -> None:
    (folder / "enabled.py").write_text(
        "import repdl, torch\n"
        "x = torch.linspace(-3, 3, 1000)\n"
        "print(repdl.is_enabled(), repdl.get_order(), torch.equal(x.exp().sum(), repdl.ops.sum(repdl.ops.exp(x))))\n"
        "torch._compute_linear_combination(x, torch.ones(1, 1000))\n"
    )
    result = repdl(folder, "run", "--order", "sequential", "enabled.py")
    assert (result.returncode, result.stdout) == (1, "True sequential True\n"), result.stderr
    assert "NotReproducibleError" in result.stderr and "enabled.py" in result.stderr.splitlines()[1]


def test_processes_that_the_script_starts_are_enabled(folder: Path) -> None:
    (folder / "starts.py").write_text(
        "import multiprocessing\n"
        "def work(queue):\n"
        "    import repdl\n"
        "    kernels = repdl.interception\n"
        "    queue.put((repdl.get_order(), kernels.strict.level(), kernels.switch.rng_in_force()))\n"
        "if __name__ == '__main__':\n"
        "    for method in ('fork', 'forkserver', 'spawn'):\n"
        "        context = multiprocessing.get_context(method)\n"
        "        queue = context.Queue()\n"
        "        process = context.Process(target=work, args=(queue,))\n"
        "        process.start()\n"
        "        print(method, *queue.get())\n"
        "        process.join()\n"
    )
    result = repdl(folder, "run", "--order", "sequential", "--strict", "warn", "--rng", "torch", "starts.py")
    lines = [f"{method} sequential warn torch" for method in ("fork", "forkserver", "spawn")]
    assert result.stdout.splitlines() == lines, result.stderr


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int | str | None]:
    """Runs a text as a script in this process; gives what SystemExit holds."""
    for name in ("argv", "excepthook"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.chdir(folder)

    def run(text: str) -> int | str | None:
        (folder / "ends.py").write_text(text)
        with pytest.raises(SystemExit) as ended:
            run_program("ends.py", [], False)
        return ended.value.code

    return run


@pytest.mark.parametrize(
    ("last", "status", "text"),
    [
        ("sys.exit(7)", 7, ""),
        ("sys.exit('told')", "told", ""),
        ("sys.exit()", None, ""),
        ("raise EOFError('mine')", 1, "EOFError: mine\n"),
        ("raise OSError(32, 'mine')", 1, "BrokenPipeError: [Errno 32] mine\n"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt\n"),
    ],
)
def test_the_end_of_a_script_is_kept(
    run: Callable[[str], Any], capsys: pytest.CaptureFixture[str], folder: Path, last: str, status: Any, text: str
) -> None:
    assert run(f"import sys\n{last}\n") == status
    error = capsys.readouterr().err
    trace = f'Traceback (most recent call last):\n  File "{folder}/ends.py", line 2, in <module>\n    {last}\n'
    assert error == (trace + text if text else "")


def test_a_script_that_python_cannot_read(
    run: Callable[[str], Any], capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert run("x = (\n") == 1
    assert capsys.readouterr().err.startswith(f'  File "{folder}/ends.py", line 1\n')


def test_the_report_of_a_script(folder: Path) -> None:
    (folder / "program.py").write_text(
        "import os, sys, torch\nx = torch.ones(3)\ntorch._compute_linear_combination(x, x[None])\nx.exp()\n"
        "print('said', flush=True)\nif os.fork() == 0:\n    sys.exit()\nos.wait()\nos.chdir('/')\n"
        "sys.exit(int(sys.argv[1]))\n"
    )
    result = repdl(folder, "audit", "--json", "report.json", "program.py", "3")
    assert result.returncode == 3
    assert result.stdout.startswith("said\n")
    assert "program.py:3" in result.stdout
    assert result.stdout.count("Not reproducible: 1 not, 1 reproducible") == 1  # not of the process that it forks too
    report = json.loads((folder / "report.json").read_text())
    assert not report["ok"] and report["ops"][0]["places"] == ["program.py:3"]
    result = repdl(folder, "audit", "--json", "/dev/full", "program.py")
    assert result.returncode == 2 and "--json: /dev/full: No space left on device" in result.stderr
    result = repdl(folder, "audit", "program.py", "many")
    assert result.returncode == 1
    assert "ValueError" in result.stderr and "Not reproducible" in result.stdout


def test_a_script_that_leaves_without_unwinding(folder: Path) -> None:
    """Its children may leave so, too."""
    (folder / "leaves.py").write_text(
        "import os, sys, torch\ntorch.ones(3).exp()\nif os.fork() == 0:\n    os._exit(1)\nos.wait()\n"
        "print('said', flush=True)\nos._exit(7)\n"
    )
    result = repdl(folder, "run", "--receipt", "leaves.receipt", "leaves.py")
    assert (result.returncode, result.stdout) == (7, "said\n") and "leaves.receipt has 0 steps" in result.stderr
    result = repdl(folder, "verify", "leaves.receipt")
    assert result.returncode == 0 and "the end with status 7" in result.stdout
    result = repdl(folder, "audit", "leaves.py")
    assert result.returncode == 7 and result.stdout.count("Reproducible: ") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nowhere.py"], "can't open 'nowhere.py'"),
        (["audit", "nowhere.py"], "can't open 'nowhere.py'"),
        (["run", ""], "can't open ''"),
        (["run", "."], "can't run the folder '.': it has no __main__.py"),
        (["record", "--steps", "5:2", "seen.py"], "--steps: '5:2' is no step"),
        (["run", "--order", "random", "seen.py"], "'random'"),
        (["run", "--strict", "loud", "seen.py"], "'loud'"),
        (["audit", "--rng", "dice", "seen.py"], "'dice'"),
        (["audit", "--json", "no/where", "seen.py"], "there is no folder"),
        (["audit", "--json", "seen.py", "seen.py"], "--json: seen.py is what the command reads"),
        (["record", "-o", "seen.py", "seen.py"], "-o: seen.py is what the command reads"),
        (["run", "--receipt", "./seen.py", "seen.py"], "--receipt: seen.py is what the command reads"),
    ],
)
def test_wrong_calls(folder: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert message in result.output


CHILD = """
import subprocess, sys
print(subprocess.run([sys.executable, "-c", sys.argv[1]], capture_output=True, text=True, check=True).stdout.strip())
"""


def test_processes_that_a_program_starts_are_enabled(folder: Path) -> None:
    (folder / "parent.py").write_text(CHILD)
    child = (
        "import sys; before = 'torch' in sys.modules; import torch, repdl; "
        "print(before, repdl.is_enabled(), repdl.get_order())"
    )
    run = repdl(folder, "run", "--order", "sequential", "parent.py", child)
    assert run.stdout == "False True sequential\n", run.stderr
    assert run.stderr == ""
    for imports in ("import repdl, torch", "import repdl.nn, repdl", "from repdl import ops; import repdl"):
        first = repdl(folder, "run", "parent.py", f"{imports}; print(repdl.is_enabled())")
        assert first.stdout == "True\n", first.stderr


def test_a_process_without_repdl_says_that_it_is_not_reproducible(folder: Path) -> None:
    (folder / "parent.py").write_text(CHILD.replace("capture_output=True", "stdout=-1"))
    (folder / "sub" / "torch.py").write_text("")
    without = "import sys; sys.modules['repdl'] = None; sys.path.insert(0, 'sub')"
    run = repdl(folder, "run", "parent.py", f"{without}; import torch; print('goes on')")
    assert run.stdout == "goes on\n"
    assert "is not reproducible: import of repdl halted" in run.stderr


def test_children_keep_the_sitecustomize_of_the_machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "parent.py").write_text(CHILD)
    (folder / "sub" / "sitecustomize.py").write_text("import builtins; builtins.seen = 1\n")
    monkeypatch.setenv("PYTHONPATH", str(folder / "sub"))
    code = [sys.executable, "-m", "repdl", "run", "parent.py", "print(seen)"]
    environment = os.environ | {"PYTHONPATH": f"{folder / 'sub'}{os.pathsep}{ROOT / 'python'}"}
    run = subprocess.run(code, capture_output=True, text=True, check=False, cwd=folder, env=environment, timeout=300)
    assert run.stdout == "1\n", run.stderr


needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")


def status_of(words: str, folder: Path, **streams: Any) -> tuple[int, str]:
    """Of a command, and its error output where that is not given."""
    options: dict[str, Any] = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL} | streams
    command = [sys.executable, "-m", "repdl", *words.split()]
    done = subprocess.run(command, cwd=folder, text=True, check=False, **options)
    return done.returncode, done.stderr or ""


@needs_full
def test_what_cannot_be_printed_is_an_error_and_no_difference(tmp_path: Path) -> None:
    for name in "ab":
        recorded(tmp_path / name, lambda: torch.ones(3).sum())
    for words in ("diff a b", "diff --json a b"):
        with open("/dev/full", "w") as full:
            status, told = status_of(words, tmp_path, stdout=full)
        assert (status, told.count("\n")) == (2, 1) and "cannot be written: No space left" in told
    read, write = os.pipe()
    os.close(read)
    status, told = status_of("diff a b", tmp_path, stdout=write)
    os.close(write)
    assert (status, told.count("\n")) == (2, 1) and "cannot be written: Broken pipe" in told


@needs_full
@pytest.mark.parametrize("words", ["record -o run", "run --receipt receipt"])
def test_a_full_error_output_leaves_the_programs_exit_status(words: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import torch\ntorch.ones(3).sum()\n")
    with open("/dev/full", "w") as full:
        assert status_of(f"{words} program.py", tmp_path, stderr=full)[0] == 0
