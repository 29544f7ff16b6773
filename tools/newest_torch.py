# SPDX-License-Identifier: MIT
"""Runs a slice of the Python tests with the newest torch that pip finds, beside the pinned one.

    python tools/newest_torch.py [--strict] [--venv .venv-newest]

It is run by the Python of the environment with the tests. The newest torch gets an environment of its own, which takes
everything else from that one. Where the pinned torch is the newest, nothing is installed or run. Without --strict a
torch that cannot be installed, since there is no network say, is told and passed over.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import time
import venv
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SLICE = (
    *("test_torch_versions.py", "test_interception.py", "test_exact_ops.py", "test_everyday.py"),
    "test_torch_golden.py::test_every_line_passes",
)
"""What the version of torch may change: kernels that are there, those that are trusted, and the bits of programs."""

PIP = ("-m", "pip", "--disable-pip-version-check")


def newest() -> str:
    """The version that `pip install torch` would give now, "2.15.0", within the constraints that pip was given."""
    asked = [
        sys.executable,
        *PIP,
        "install",
        "--quiet",
        "--dry-run",
        "--ignore-installed",
        "--no-deps",
        "--report",
        "-",
    ]
    report = json.loads(subprocess.run([*asked, "torch"], check=True, stdout=subprocess.PIPE).stdout)
    version: str = report["install"][0]["metadata"]["version"]
    return version


def release(version: str) -> str:
    """Without the part that names the build, "+cpu"."""
    return version.partition("+")[0]


def environment(folder: Path, torch: str) -> Path:
    """The Python of an environment with this torch, made anew if it has another."""
    python, stamp = folder / "bin/python", folder / "torch.txt"
    if stamp.exists() and stamp.read_text() == torch:
        return python
    venv.create(folder, clear=True, with_pip=True)
    start = time.monotonic()
    # Not compiled: what is not imported is most of it.
    subprocess.run([python, *PIP, "install", "--quiet", "--no-compile", f"torch=={torch}"], check=True)
    print(f"torch {torch} was installed in {time.monotonic() - start:.0f} s", flush=True)
    ours, theirs = (
        Path(sysconfig.get_path("purelib")),
        Path(sysconfig.get_path("purelib", vars={"base": str(folder)})),
    )
    (theirs / "zz_everything_else.pth").write_text(f"import site; site.addsitedir({str(ours)!r})\n")
    stamp.write_text(torch)
    return python


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strict", action="store_true", help="fail where the newest torch cannot be installed")
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv-newest", help="the environment to make")
    options = parser.parse_args()
    pinned = release(version("torch"))
    try:
        torch = newest()
        if release(torch) == pinned:
            print(f"torch {pinned} is the newest, and the tests ran with it")
            return 0
        python = environment(options.venv.absolute(), torch)
    except subprocess.CalledProcessError as error:
        print(f"The newest torch could not be installed: {error}", file=sys.stderr)
        return 1 if options.strict else 0
    said = f"import torch; assert torch.__version__.startswith({release(torch)!r}), torch.__version__"
    subprocess.run([python, "-c", said], check=True)
    print(f"The slice with torch {torch}, beside {pinned}", flush=True)
    tests = [str(ROOT / "tests/python" / name) for name in SLICE]
    workers = f"-n{len(os.sched_getaffinity(0))}"
    return subprocess.run([python, "-m", "pytest", workers, "-q", *tests], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
