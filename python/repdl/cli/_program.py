# SPDX-License-Identifier: MIT
"""Runs a program as `python SCRIPT` would, in this process."""

from __future__ import annotations

import builtins
import os
import runpy
import sys
import zipfile
from types import ModuleType, TracebackType

from repdl.interception import places


@places.edge
def run_program(target: str, arguments: list[str], module: bool) -> None:
    """Runs a script, or a module by name.

    sys.argv, sys.path and __main__ are as `python SCRIPT` and `python -m MODULE` make them. SystemExit leaves it as the
    script raised it; of another exception the traceback is printed, without our part of it, and SystemExit(1) raised.
    """
    sys.argv = [target, *arguments]
    sys.excepthook = sys.__excepthook__
    try:
        if module:
            sys.path[0] = os.getcwd()
            runpy.run_module(target, run_name="__main__", alter_sys=True)
        elif os.path.isdir(target) or zipfile.is_zipfile(target):
            runpy.run_path(target, run_name="__main__")
        else:
            _run_script(os.path.abspath(target))
    except SystemExit:
        raise
    except BaseException as error:
        trace = _within_program(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        raise SystemExit(130 if isinstance(error, KeyboardInterrupt) else 1) from None


def _run_script(path: str) -> None:
    """As runpy.run_path, but __main__ stays, for what the script leaves running, and sys.argv[0] is not changed."""
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=builtins, __cached__=None)
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, main.__dict__)


def _within_program(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the program's first frame on, if it has one."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__") != "__main__":
        trace = trace.tb_next
    return trace
