# SPDX-License-Identifier: MIT
"""What a sweep found, and the file of lines of JSON that it is kept in."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FORMAT = "repdl torch sweep 1"
KINDS = ("differs", "wrong", "breaks", "crashes", "hangs")
"""Other bits in another setting, layout or form; far from the exact value; an error where torch has none; no end."""


class ResultError(ValueError):
    """A file that holds no sweep."""


@dataclass
class Finding:
    """What is not as it must be, of an op and dtype: kind is one of KINDS.

    form: "forward", "gradient", "in place" or "out". detail: in which settings, layouts or forms, or the error.
    cases: the calls of which it holds.
    """

    kind: str
    op: str
    dtype: str
    form: str
    detail: str
    cases: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.op} of {self.dtype}, {self.form}: {self.kind}: {self.detail}"


@dataclass
class Sweep:
    """The outcome.

    head: commit, version of torch, date, CPU and settings. classes: by op, by dtype, "ours", "exact" or "raises".
    findings: what is not as it must be. raises: by op and dtype, the forms that raise NotReproducibleError.
    trials: how many calls were tried. cut: by op and dtype, how many were left out because the time ran out.
    stock_ends: by op and dtype, whether stock torch "crashes" or "hangs" with the samples, so that none was tried.
    left: by dtype, how many ops were not done yet in all settings.
    """

    head: dict[str, Any]
    classes: dict[str, dict[str, str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    raises: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    trials: int = 0
    cut: dict[tuple[str, str], int] = field(default_factory=dict)
    stock_ends: dict[tuple[str, str], str] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Nothing was found, and something was tried."""
        return not self.findings and self.trials > 0

    def save(self, path: Path) -> None:
        path.write_text(
            "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self._lines()), encoding="utf-8"
        )

    def _lines(self) -> Iterable[dict[str, Any]]:
        yield {"format": FORMAT, **self.head, "trials": self.trials, "left": self.left}
        for op, by_dtype in sorted(self.classes.items()):
            yield {"op": op, "classes": by_dtype}
        for (op, dtype), forms in sorted(self.raises.items()):
            yield {"raises": op, "dtype": dtype, "forms": forms}
        for (op, dtype), trials in sorted(self.cut.items()):
            yield {"cut": op, "dtype": dtype, "trials": trials}
        for (op, dtype), fate in sorted(self.stock_ends.items()):
            yield {"stock": fate, "op": op, "dtype": dtype}
        for finding in self.findings:
            yield asdict(finding)

    @staticmethod
    def load(path: Path) -> Sweep:
        """Reads what `save` wrote; raises ResultError, naming the file, for anything else."""
        try:
            head, *lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
            if head.pop("format") != FORMAT:
                raise ResultError(f"it does not say that its format is '{FORMAT}'")
            result = Sweep(head, trials=head.pop("trials"), left=head.pop("left"))
            for line in lines:
                if "classes" in line:
                    result.classes[line["op"]] = line["classes"]
                elif "raises" in line:
                    result.raises[line["raises"], line["dtype"]] = line["forms"]
                elif "cut" in line:
                    result.cut[line["cut"], line["dtype"]] = line["trials"]
                elif "stock" in line:
                    result.stock_ends[line["op"], line["dtype"]] = line["stock"]
                else:
                    result.findings.append(Finding(**line))
        except OSError as error:
            raise ResultError(f"{path} cannot be read: {error.strerror}") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ResultError(f"{path} holds no sweep of `repdl conformance --torch --record`: {error}") from error
        return result
