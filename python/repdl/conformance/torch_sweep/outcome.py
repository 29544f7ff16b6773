# SPDX-License-Identifier: MIT
"""What a sweep found, and the file of lines of JSON that it is kept in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any

FORMAT = "repdl torch sweep 3"
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


@dataclass(frozen=True)
class Run:
    """Where and when ops and dtypes were swept: a record may hold parts from several machines.

    commit: of the source tree, or the version of repdl.
    """

    commit: str
    date: str
    CPU: str
    settings: tuple[str, ...]


@dataclass
class Outcome:
    """Of an op and dtype.

    word: "ours", "exact" or "raises", as `repdl.audit` has it. trials: how many calls were tried.
    raises: the forms in which calls raise NotReproducibleError. cut: how many calls were left out because the time ran
    out. stock: "crashes" or "hangs", what stock torch does with `skipped` of the samples, which were left out.
    """

    word: str
    run: Run
    trials: int = 0
    raises: list[str] = field(default_factory=list)
    cut: int = 0
    stock: str = ""
    skipped: int = 0

    def left_out(self, op: str, dtype: str) -> str:
        samples = "a sample" if self.skipped == 1 else f"{self.skipped} samples"
        return f"torch itself {self.stock} with {samples} of {op} of {dtype}, left out here"


@dataclass
class Sweep:
    """What is known: of those ops and dtypes that were done in all settings.

    torch: its version. of: by dtype, how many ops there are. outcomes: by op, by dtype.
    findings: what is not as it must be.
    """

    torch: str
    of: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, dict[str, Outcome]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def pairs(self) -> Iterable[tuple[str, str, Outcome]]:
        """Op, dtype and outcome."""
        for op, by_dtype in self.outcomes.items():
            for dtype, outcome in by_dtype.items():
                yield op, dtype, outcome

    @property
    def trials(self) -> int:
        return sum(outcome.trials for _, _, outcome in self.pairs())

    @property
    def runs(self) -> dict[Run, int]:
        """Of each run, how many ops and dtypes; the largest first."""
        return dict(Counter(outcome.run for _, _, outcome in self.pairs()).most_common())

    @property
    def left(self) -> dict[str, int]:
        """By dtype, of how many ops nothing is known."""
        done = Counter(dtype for _, dtype, _ in self.pairs())
        return {dtype: count - done[dtype] for dtype, count in self.of.items() if count > done[dtype]}

    @property
    def passed(self) -> bool:
        """Nothing was found, and something was tried."""
        return not self.findings and self.trials > 0

    def onto(self, earlier: Sweep) -> Sweep:
        """What an earlier sweep found, but of the ops and dtypes of this one what this one found.

        Raises ResultError if they are of different versions of torch.
        """
        if self.torch != earlier.torch:
            raise ResultError(f"it is of torch {earlier.torch}, and this is {self.torch}: name another file")
        outcomes = {op: dict(by_dtype) for op, by_dtype in earlier.outcomes.items()}
        for op, by_dtype in self.outcomes.items():
            outcomes.setdefault(op, {}).update(by_dtype)
        kept = [f for f in earlier.findings if f.dtype not in self.outcomes.get(f.op, {})]
        return Sweep(self.torch, self.of, outcomes, kept + self.findings)

    def save(self, path: Path) -> None:
        path.write_text(
            "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self._lines()), encoding="utf-8"
        )

    def _lines(self) -> Iterable[dict[str, Any]]:
        yield {"format": FORMAT, "torch": self.torch, "of": self.of}
        numbers = {run: number for number, run in enumerate(sorted(self.runs, key=astuple))}
        for run, number in numbers.items():
            yield {"run": number, **asdict(run)}
        for op, by_dtype in sorted(self.outcomes.items()):
            told = {dtype: _told(outcome, numbers[outcome.run]) for dtype, outcome in sorted(by_dtype.items())}
            yield {"op": op, "dtypes": told}
        for finding in sorted(self.findings, key=lambda f: (f.kind, f.op, f.dtype, f.form)):
            yield asdict(finding)

    @staticmethod
    def load(path: Path) -> Sweep:
        """Reads what `save` wrote; raises ResultError, naming the file, for anything else."""
        try:
            head, *lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
            if head.pop("format") != FORMAT:
                raise ResultError(f"it does not say that its format is '{FORMAT}'")
            result = Sweep(head["torch"], head["of"])
            runs: dict[int, Run] = {}
            for line in lines:
                if "run" in line:
                    number = line.pop("run")
                    runs[number] = Run(**line | {"settings": tuple(line["settings"])})
                elif "dtypes" in line:
                    result.outcomes[line["op"]] = {
                        dtype: Outcome(**told | {"run": runs[told["run"]]}) for dtype, told in line["dtypes"].items()
                    }
                else:
                    result.findings.append(Finding(**line))
        except OSError as error:
            raise ResultError(f"{path} cannot be read: {error.strerror}") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ResultError(f"{path} holds no sweep of `repdl conformance --torch --record`: {error}") from error
        return result


def _told(outcome: Outcome, run: int) -> dict[str, Any]:
    return {name: value for name, value in asdict(outcome).items() if value} | {"run": run}
