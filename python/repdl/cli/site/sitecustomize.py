# SPDX-License-Identifier: MIT
"""Python imports this when it starts in a process that a program under `repdl run` has started.

There `repdl.enable()` is called as soon as torch has been imported, and what it computes goes into the receipt, if the
program has one; a process without torch costs nothing.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from types import ModuleType


class _Enabling(importlib.abc.MetaPathFinder):
    """Finds modules as ever, with loaders that enable once torch is there and no module of repdl half imported."""

    def __init__(self) -> None:
        self.finding = False
        self.has_torch = False
        self.under_way = 0  # modules of repdl

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if self.finding or not (fullname == "torch" or fullname.partition(".")[0] == "repdl"):
            return None
        self.finding = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.finding = False
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_enable(module: ModuleType) -> None:
                self.under_way += fullname != "torch"
                try:
                    execute(module)
                finally:
                    self.under_way -= fullname != "torch"
                self.has_torch = self.has_torch or fullname == "torch"
                if self.has_torch and self.under_way == 0:
                    self.enable()

            spec.loader.exec_module = execute_and_enable  # type: ignore[method-assign]
        return spec

    def enable(self) -> None:
        if self not in sys.meta_path:
            return
        sys.meta_path.remove(self)
        try:
            import repdl
        except ImportError as error:
            print(f"repdl run: process {os.getpid()} is not reproducible: {error}", file=sys.stderr)
        else:
            repdl.enable(*json.loads(os.environ["REPDL_RUN"]))
            if "REPDL_RECEIPT" in os.environ:
                from repdl.receipts.follower import follow_started

                follow_started()


def _run_hidden() -> None:
    """The sitecustomize that this one hides, if there is one."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != here]
    spec = importlib.machinery.PathFinder.find_spec(__name__)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if "REPDL_RUN" in os.environ:
    sys.meta_path.insert(0, _Enabling())
_run_hidden()
