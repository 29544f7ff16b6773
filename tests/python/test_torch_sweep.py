# SPDX-License-Identifier: MIT
"""The sweep of torch's ops: a slice of it, and that it finds what is broken."""

from __future__ import annotations

import math
import queue
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from repdl import _core
from repdl.cli.main import app
from repdl.conformance import torch_sweep
from repdl.conformance.torch_sweep import accuracy, calls, children, hostile, layouts, stock
from repdl.conformance.torch_sweep.database import entries
from repdl.conformance.torch_sweep.outcome import Finding, Outcome, ResultError, Run, Sweep
from repdl.conformance.torch_sweep.samples import Sample
from repdl.conformance.torch_sweep.settings import settings
from repdl.interception import classes
from repdl.interception.machine import CAPABILITIES, CAPABILITY
from support import TARGETS

BROKEN = "broken_entries:entries"


def test_slice_holds() -> None:
    """One or two ops of each family, in the first and the least setting."""
    result = torch_sweep.sweep(short=True)
    assert result.trials > 120
    assert not result.findings
    assert not any(outcome.raises for _, _, outcome in result.pairs())
    words = {(op, dtype): outcome.word for op, dtype, outcome in result.pairs()}
    assert words["mm", "float32"] == words["mm", "bfloat16"] == "ours"
    assert words["cat", "float32"] == words["cat", "bfloat16"] == "exact"


@pytest.fixture(scope="module")
def broken() -> Sweep:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent)
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=":")
        return torch_sweep.sweep(short=True, source=BROKEN)


FOUND = {
    "by_threads": ("differs", "forward", "7 threads"),
    "by_layout": ("differs", "forward", "transposed"),
    "by_alignment": ("differs", "forward", "misaligned"),
    "by_capability": ("differs", "forward", "all held back"),
    "by_batch": ("differs", "forward", "row 1 alone"),
    "by_zero": ("differs", "forward", "3 threads"),
    "by_layout_backwards": ("differs", "gradient", "stepped"),
    "in_place_other": ("differs", "in place", "not as forward"),
    "out_other": ("differs", "out", "not as forward"),
    "far_off": ("wrong", "forward", "an error of"),
    "breaking": ("breaks", "forward", "TypeError: no such kernel"),
    "crashing": ("crashes", "forward", "this machine"),
} | ({"by_target": ("differs", "forward", "all held back")} if "scalar" in TARGETS[:-1] else {})


@pytest.mark.parametrize("op", FOUND)
def test_what_is_broken_is_found(op: str, broken: Sweep) -> None:
    kind, form, detail = FOUND[op]
    found = [f for f in broken.findings if (f.op, f.kind, f.form) == (op, kind, form)]
    assert found, broken.findings
    assert detail in found[0].detail


def test_what_is_sound_is_not_found(broken: Sweep) -> None:
    assert {f.op for f in broken.findings} == FOUND.keys()
    raising = {(op, dtype): outcome.raises for op, dtype, outcome in broken.pairs() if outcome.raises}
    assert raising == {("raising", "float32"): ["forward"]}
    assert not broken.passed


def test_a_crash_of_stock_torch_costs_its_samples_alone(broken: Sweep) -> None:
    outcome = broken.outcomes["crashing_in_stock"]["float32"]
    assert outcome.stock == "crashes" and outcome.skipped == 2  # small and large
    assert outcome.trials == broken.outcomes["held"]["float32"].trials - 2


def test_a_worker_hangs_after_many_steps_of_silence() -> None:
    """One step ends while all processes are stopped, and the line comes in the next."""
    waits: list[float] = []

    class Silent(queue.Queue[str | None]):
        def get(self, block: bool = True, timeout: float | None = None) -> str | None:
            waits.append(timeout or 0.0)
            if len(waits) == 2:
                return "a line"
            raise queue.Empty

    assert children._next(Silent()) == "a line"
    assert children._next(Silent()) == ""
    assert sum(waits[2:]) == pytest.approx(children.SILENCE)


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match="no op 'maximun' here; did you mean maximum"):
        _known("op", ["maximun"], ["maximum", "mm"])


def _known(what: str, named: list[str], there: list[str]) -> list[str]:
    from repdl.conformance.torch_sweep.compare import _chosen

    return _chosen(what, named, there)


def test_saved_and_loaded(broken: Sweep, tmp_path: Path) -> None:
    broken.save(tmp_path / "sweep.jsonl")
    again = Sweep.load(tmp_path / "sweep.jsonl")
    assert again == broken
    (tmp_path / "other.jsonl").write_text("{}\n")
    with pytest.raises(ResultError, match=r"other\.jsonl holds no sweep"):
        Sweep.load(tmp_path / "other.jsonl")
    with pytest.raises(ResultError, match="cannot be read"):
        Sweep.load(tmp_path / "none")


TORCH = "2.13.0"


HERE = Run("abc", "2026-01-01", "a CPU", ("this machine",))
ELSEWHERE = Run("def", "2026-01-01", "another CPU", ("this machine",))


def outcomes(run: Run = HERE, **words: str) -> dict[str, Outcome]:
    return {dtype: Outcome(word, run, trials=7) for dtype, word in words.items()}


def test_page() -> None:
    made = {"mm": outcomes(float32="ours", int64="exact", int8="raises")}
    finding = Finding("differs", "mm", "float32", "forward", "a | b", ["0"])
    text = torch_sweep.page(Sweep(TORCH, {}, made, [finding]))
    assert "| mm | ours | – | – | – | – | – | – | exact / raises |" in text
    assert "| mm | float32 | differs | forward | a \\| b |" in text
    assert "Measured with torch 2.13.0: 21 calls" in text
    assert "| 3 | abc | 2026-01-01 | a CPU | this machine |" in text


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    names = "i0", "lu_unpack", "jiterator_unary"
    result = Sweep(TORCH, {"float32": 4, "float64": 6}, {name: outcomes(float32="ours") for name in names})
    result.outcomes["i0"]["float64"] = Outcome("ours", HERE, 3, ["gradient"], 2)
    result.outcomes["jiterator_unary"]["float32"].trials = 0
    result.outcomes["i0"]["float32"].cut = 3
    result.outcomes["lu_unpack"]["float32"].stock = "crashes"
    result.outcomes["lu_unpack"]["float32"].skipped = 2
    result.save(tmp_path / "sweep.jsonl")
    assert Sweep.load(tmp_path / "sweep.jsonl") == result
    text = torch_sweep.page(result)
    assert "5 calls were left out: i0 of float32, float64." in text
    assert "torch itself crashes with 2 samples of lu_unpack of float32" in text
    assert "no sample that it takes on a CPU: jiterator_unary of float32." in text
    assert "This is a part of the sweep" in text and "1 of float32, 5 of float64" in text


def test_a_record_is_extended(tmp_path: Path) -> None:
    """Op by op and dtype by dtype, from several machines; of what is done again, earlier findings go."""
    findings = [Finding("differs", "mm", dtype, "forward", "a", ["0"]) for dtype in ("float32", "float64")]
    earlier = Sweep(TORCH, {"float32": 2}, {"mm": outcomes(float32="ours", float64="ours")}, findings)
    new = {"mm": outcomes(ELSEWHERE, float32="exact"), "abs": outcomes(ELSEWHERE, float32="ours")}
    both = Sweep(TORCH, {"float32": 2}, new).onto(earlier)
    assert both.outcomes == {
        "mm": outcomes(ELSEWHERE, float32="exact") | outcomes(float64="ours"),
        "abs": outcomes(ELSEWHERE, float32="ours"),
    }
    assert both.findings == findings[1:]
    assert both.trials == 21 and not both.left
    assert both.runs == {ELSEWHERE: 2, HERE: 1}
    both.save(tmp_path / "sweep.jsonl")
    assert Sweep.load(tmp_path / "sweep.jsonl") == both
    with pytest.raises(ResultError, match=r"it is of torch 2\.13\.0, and this is 2\.14\.0"):
        Sweep("2.14.0").onto(earlier)


def test_a_lazy_module_has_samples() -> None:
    entry = entries()["nn.LazyConv1d"]
    assert all(isinstance(x, torch.Tensor) for sample in entry.samples("float32") for x in sample.args[0].values())


def test_settings_have_every_target_and_capability() -> None:
    environments = [setting.environment for setting in settings()]
    assert {e["REPDL_TARGET"] for e in environments if "REPDL_TARGET" in e} == set(TARGETS) - {_core.active_target()}
    held_back = set(CAPABILITIES) - {CAPABILITY}
    assert {e["ATEN_CPU_CAPABILITY"] for e in environments if e} == (held_back or {"default"})


def test_an_op_that_seeds_itself_is_random() -> None:
    def seeded(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(42)
        return torch.rand_like(x)

    x = torch.linspace(1, 2, 6)
    assert stock.ask_stock(Sample("0", seeded, (x,), {}), torch.float32, False, 0).random
    assert not stock.ask_stock(Sample("0", torch.abs, (x,), {}), torch.float32, False, 0).random
    assert stock.ask_stock(Sample("0", torch.dropout, (x * 0, 0.5, True), {}), torch.float32, False, 0).random


def test_digest_of_a_tensor_that_holds_nothing() -> None:
    assert calls.digest(torch._efficientzerotensor((3,))) == calls.digest(torch.zeros(3))


def test_rows() -> None:
    """Of zeros, and of numbers so small that all seem alike."""

    def row(function: Callable[..., torch.Tensor], x: torch.Tensor) -> int | None:
        return stock.ask_stock(Sample("0", function, (x,), {}), x.dtype, False, 1).row

    def last(x: torch.Tensor) -> torch.Tensor:
        return x.flatten()[-3:].expand(4, 3) if len(x) > 1 else x

    x = torch.linspace(-1, 1, 12).reshape(4, 3)
    assert row(torch.abs, x) == 1
    assert row(lambda x: x * x.mean(), x * 1e-6) is None
    zeros = torch.copysign(torch.zeros(4, 3), x)
    assert row(last, zeros) is None
    assert row(last, torch.complex(zeros, zeros)) is None
    assert row(torch.neg, torch.complex(zeros, zeros)) == 1


@pytest.mark.parametrize("numbers", [[0, 1, 2, 3, 4], [3, 1, 2, 4]])
def test_hostile_indices_keep_their_range(numbers: list[int]) -> None:
    sample = Sample("0", torch.take, (torch.ones(9), torch.tensor(numbers)), {})
    ties = hostile.hostile(sample, "ties", torch.float32)
    assert ties is not None
    assert (int(ties.args[1].min()), len(set(ties.args[1].tolist()))) in ((0, 3), (1, 3))


def test_sums_may_round_more_often_than_elements() -> None:
    one = torch.ones(1)
    off = one * (1 + 8 * 2.0**-23)
    assert accuracy.wrong("sum", off, one, one.double(), False, 100_003) is None
    assert accuracy.wrong("sum", off, one, one.double(), False, 1) is not None
    assert accuracy.wrong("linalg.householder_product", off, one, one.double(), False, 1) is None
    assert accuracy.wrong("abs", off, one, one.double(), True, 100_003) is not None


@pytest.mark.parametrize(
    ("name", "label", "has_equals", "free"),
    [("topk", "0", False, False), ("topk", "0 ties", False, True), ("topk", "0 flat sizes", True, True),
     ("nn.functional.elu", "0 special", False, True), ("nn.functional.elu", "0", False, False),
     ("tanh", "0 special", True, False)],
)  # fmt: skip
def test_gradients_that_are_free(name: str, label: str, has_equals: bool, free: bool) -> None:
    assert accuracy.gradient_is_free(name, label, has_equals, False) == free


def test_eigenvalues_are_compared_by_size() -> None:
    eig = entries()["linalg.eig"]
    sample = next(s for s in eig.samples("float32") if s.tensors()[0].numel())
    values, vectors = sample.function(*sample.args, **sample.kwargs)
    ours, swapped = sample.reduced((values, vectors)), sample.reduced((values.flip(-1), -vectors.flip(-1)))
    assert all(torch.equal(a, b) for a, b in zip(ours, swapped, strict=True))
    assert not torch.equal(ours[0], sample.reduced((values + 1, vectors))[0])


def test_what_has_nothing_wider_to_be_compared_with() -> None:
    assert accuracy.gradient_is_free("nn.LayerNorm", "5", False, True)
    assert not accuracy.gradient_is_free("nn.LayerNorm", "5", False, False)
    assert accuracy.gradient_is_free("acosh", "5", False, True, is_complex=True)
    assert not accuracy.gradient_is_free("acosh", "5", False, True)
    assert accuracy.gradient_is_free("linalg.eigvals", "5", False, False)
    assert accuracy.gradient_is_free("corrcoef", "2 sizes", False, False)
    assert not accuracy.gradient_is_free("corrcoef", "2", False, False)
    infinite, nan = torch.full((1,), math.inf, dtype=torch.float64), torch.full((1,), math.nan, dtype=torch.float64)
    assert accuracy.wrong("mm", infinite, nan, None, False, 9) is None
    assert accuracy.wrong("sum", infinite, nan, None, False, 9) is not None
    assert accuracy.wrong("mm", infinite.float(), nan.float(), nan, False, 9) is not None


def test_a_limit_is_not_nan() -> None:
    limit, nan = -torch.zeros(1), torch.full((1,), float("nan"))
    assert accuracy.wrong("nn.functional.silu", limit, nan, nan.double(), True, 1) is None
    assert accuracy.wrong("tanh", limit, nan, nan.double(), True, 1) is not None
    assert accuracy.wrong("nn.functional.silu", nan, limit, limit.double(), True, 1) is not None


def test_stock_is_no_judge_at_poles() -> None:
    x, inf = torch.tensor([-3.0, -2.5, -4.0]), float("inf")
    ours, stock, wide = torch.tensor([inf, inf, 1.0]), torch.tensor([1e16, 2.0, 5.0]), torch.tensor([7e31, 2.0, 5.0])
    sample = Sample("0", torch.polygamma, (1, x), {})
    found = accuracy.without_poles("polygamma", sample, [ours, stock, wide])
    assert [t.tolist() for t in found] == [[0.0, inf, 1.0], [0.0, 2.0, 5.0], [0.0, 2.0, 5.0]]
    assert accuracy.without_poles("lgamma", sample, [ours])[0] is ours
    assert accuracy.without_poles("polygamma", sample.with_tensors([x > 0]), [ours])[0] is ours
    assert accuracy.is_hardly_defined("mode", "0 special") and not accuracy.is_hardly_defined("mode", "0 ties")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--torch", "--lines", "--target", "scalar"], "leave out --target"),
        (["--torch", "--lines", "--device", "cuda:99"], "--device cuda:99: "),
        (["--torch", "--lines", "--device", "moon"], "--device moon: "),
        (["--torch", "--threads", "2"], "--threads goes with --torch --lines"),
        (["--lines"], "--lines goes with --torch"),
        (["--torch", "--page", "/none/page.md"], "--page: there is no folder /none"),
        (["--dtype", "float32"], "--dtype goes with --torch"),
        (["--slice"], "--slice goes with --torch"),
        (["--torch", "--dtype", "float23"], "--dtype: there is no dtype 'float23' here; did you mean float"),
        (
            ["--torch", "--op", "nn.functional.geluu"],
            "no op of torch 'nn.functional.geluu' here; did you mean nn.functional.gelu",
        ),
    ],
)
def test_wrong_calls(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["conformance", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr


MISSING = """
import sys
sys.modules[{name!r}] = None
sys.argv = ["repdl", "conformance", "--torch"]
from repdl.cli import main
try:
    main()
except SystemExit as end:
    print(end.code)
"""


@pytest.mark.parametrize("name", ["torch", "expecttest"])
def test_missing_packages(name: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", MISSING.format(name=name)], capture_output=True, text=True, check=False, timeout=300
    )
    assert result.stdout == "2\n"
    assert result.stderr.strip().startswith("--torch: ")
    assert f"pip install {name}" in result.stderr


def test_hostile_numbers() -> None:
    x = torch.linspace(-1, 1, 999)
    sample = Sample("0", torch.add, (x, x), {"alpha": 2})
    ties = hostile.hostile(sample, "ties", torch.float32)
    assert ties is not None and ties.kwargs == {"alpha": 2.3}
    zeros = ties.args[0][ties.args[0] == 0]
    assert zeros.signbit().any() and not zeros.signbit().all()
    assert not torch.equal(ties.args[0], ties.args[1])
    special = hostile.hostile(sample, "special", torch.float32)
    assert special is not None
    assert special.args[0].isnan().any() and special.args[0].isinf().any()
    assert ((special.args[0].abs() < 2.0**-126) & (special.args[0] != 0)).any()
    low = hostile.values(x.bfloat16(), "special", 0)
    assert low.isnan().any() and not low[low.isnan()].signbit().any()
    sizes = hostile.hostile(sample, "sizes", torch.float32)
    assert sizes is not None and sizes.args[0].isfinite().all()


def test_hostile_indices_come_twice() -> None:
    sample = Sample("0", torch.take, (torch.ones(9), torch.arange(9)), {})
    ties = hostile.hostile(sample, "ties", torch.float32)
    assert ties is not None
    assert ties.args[1].tolist() == [0, 0, 2, 2, 4, 4, 6, 6, 8]


@pytest.mark.parametrize("name", layouts.LAYOUTS)
def test_layouts_keep_the_numbers(name: str) -> None:
    x = torch.arange(120.0).reshape(2, 3, 4, 5)
    sample = layouts.laid_out(Sample("0", torch.abs, (x,), {}), name)
    assert sample is not None
    y = calls.fresh(sample).tensors()[0]
    assert torch.equal(x, y)
    assert (y.stride(), y.storage_offset()) != (x.stride(), 0)


def test_digest_of_zeros_and_nan() -> None:
    assert calls.digest(torch.zeros(3)) != calls.digest(-torch.zeros(3))
    payload = torch.tensor([0x7FC00001, 0x7F800001], dtype=torch.int32).view(torch.float32)
    assert calls.digest(payload) == calls.digest(torch.full((2,), float("nan")))
    assert calls.digest(torch.zeros(3)) != calls.digest(torch.zeros(3, dtype=torch.bfloat16))
    assert calls.digest(torch.zeros(2, 3)) != calls.digest(torch.zeros(3, 2))


def test_classes_are_those_of_the_audit() -> None:
    x, i = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.int64)
    assert classes.word(*classes.classify("mm", [x, x])) == "ours"
    assert classes.word(*classes.classify("mm", [i, i])) == "exact"
    assert classes.word(*classes.classify("t", [x])) == "exact"
    assert classes.word(*classes.classify("_compute_linear_combination", [x, x])) == "raises"


def test_numbers_are_the_same_on_every_machine() -> None:
    """SplitMix64, by Python's integers."""
    mask = 2**64 - 1
    z = ((3 * 1_000_003 + 1) + 4) * 0x9E3779B97F4A7C15 & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    assert int(hostile.counted(5, 3)[4]) == z ^ z >> 31
