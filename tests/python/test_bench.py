# SPDX-License-Identifier: MIT
"""The benchmarks list what they measure, time it, and record it for the documents. Nothing here asks how fast it is."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import torch

import repdl
from support import ROOT, without_kernel

sys.path += [str(ROOT / "bench"), str(ROOT / "tools")]

import calls
import convolution
import figures
import gpu
import gpu_clock
import mm
from docs_cuda import cuda_page
from docs_speed import speed_pages
from gpu_rows import BANDWIDTH, FAMILIES, MICROSECONDS, MILLISECONDS, TERAFLOPS, Call, Row


@pytest.mark.filterwarnings("ignore:Sparse (CSR tensor support|invariant checks)")
def test_each_of_many_calls_has_a_name_of_its_own() -> None:
    names = [(family, name) for family, name, _, _ in calls.chosen()]
    assert len(set(names)) == len(names) >= 150


def test_calls_are_timed_and_recorded(tmp_path: Path) -> None:
    measured: calls.Measured = {}
    raises = ("special functions", "refused", without_kernel, (torch.ones(4),))
    for family, name, function, operands in (*calls.chosen("products"), raises):
        if name in ("mm, 64²", "refused"):
            steps = calls.measure(calls.steps_of(function, operands), 1, time.thread_time)
            measured.setdefault(family, {})[name] = steps
    product, refused = measured["products"]["mm, 64²"], measured["special functions"]["refused"]
    assert list(product) == [calls.FORWARD, calls.WITH_GRADIENT]
    for speed in product.values():
        assert isinstance(speed, calls.Speed) and min(speed.torch, speed.ours, speed.ratio) > 0
    assert "linear_combination" in str(refused[calls.FORWARD])
    every, slow, means = calls.tables(measured, 1)
    assert every.row_count == 2 + 3 and slow.row_count >= 1 and means.row_count == 2
    calls.save(tmp_path / "calls.json", {1: measured})
    ((of_target),) = json.loads((tmp_path / "calls.json").read_text()).values()
    assert of_target["threads"]["1"]["summary"]["all"]["timed"] == 2
    assert of_target["threads"]["1"]["calls"]["special functions"]["refused"]["forward"].keys() == {"raises"}


def test_speeds_are_recorded_and_become_a_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for suite in (mm, convolution):
        quickly = partial(suite.time_in_turn, seconds=1e-3, rounds=1)
        monkeypatch.setattr(suite, "time_in_turn", lambda of, quickly=quickly, **_: quickly(of))
    monkeypatch.setattr(mm, "SHAPES", [mm.peers.Product(8, 4, 5, True)])
    threads = torch.get_num_threads()
    products = {n: mm.measure(n) for n in (1, 2)}
    layers = {n: convolution.measure(n, "tiny") for n in (1, 2)}
    repdl.set_num_threads(threads)
    torch.set_num_threads(threads)
    assert mm.table(products[1], 1).row_count == 3
    assert [table.row_count for table in convolution.tables(layers[2], 2)] == [2, 2]
    figures.save(tmp_path, "mm", products)
    figures.save(tmp_path, "convolution", layers)
    document = json.loads((tmp_path / "speed.json").read_text())
    (target,) = document
    assert document[target]["convolution"]["threads"]["1"]["special"].keys() == layers[1]["special"].keys()
    assert all(0 < speed < 1e6 for speed in document[target]["mm"]["threads"]["2"]["8 x 4 x 5 NT"].values())

    # A CPU target that measured other things.
    document["another"] = {"mm": {"machine": "M", "commit": "C", "threads": {"1": {"9 x 9 x 9": {"torch": 3.0}}}}}
    of_another = document["another"]["mm"]["threads"]["1"]["9 x 9 x 9"]
    of_another |= {"blocked": 6.0, "sequential": 1.5, "ratio blocked": 2.0, "ratio sequential": 0.5}
    (tmp_path / "speed.json").write_text(json.dumps(document))
    places = ("table: products", "table: throughput", "table: convolutions", "plot: products")
    head = "# Head\n\n" + "".join(f"<!-- {place} -->\n" for place in places)

    def table(columns: list[str], rows: list[list[str]]) -> str:
        return "".join(f"{' | '.join(row)}\n" for row in [columns, *rows])

    pages = speed_pages(head, table, tmp_path)
    page, plot = pages["speed.md"], pages["speed/products.svg"]
    assert page.startswith("# Head\n")
    assert f"m × n × k | another, 1 thread | {target}, 1 thread | {target}, 2 threads" in page
    assert "\n9 × 9 × 9 | 2.00 / 0.50 | – | –\n" in page and "\n9 × 9 × 9 | 3 / 6 | – | –\n" in page
    assert "\n8 × 4 × 5 NT | – | " in page and "- another: commit C, M.\n" in page
    assert speed_pages(head, table, tmp_path) == pages and "![Ratios of products](speed/products.svg)" in page
    assert all(f">{text}</text>" in plot for text in ("9 × 9 × 9", "8 × 4 × 5 NT", "another, 1 thread"))
    assert "tiny: 1×4×16 with 4×4×3, padding 1 | " in page and "*geometric mean, special* | " in page


def on_cpu(results: Path | None = None, only: str | None = None, go_on: bool = False) -> list[str | None]:
    """Titles of the tables of tiny rows."""
    return [str(of.title) for of in gpu.run(10.0, only, results, go_on, "cpu", 6)]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """With turns of no time, and cuDNN's settings as they were."""
    monkeypatch.setattr(gpu_clock, "SECONDS", 1e-6)
    monkeypatch.setattr(gpu_clock, "HOST_BLOCKS", 2)
    monkeypatch.setattr(gpu, "ROUNDS", 1)
    before = torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark
    yield
    torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark = before


def rows_of(monkeypatch: pytest.MonkeyPatch, **functions: Callable[[], object]) -> None:
    rows = [Row(name, lambda call=call: call, MILLISECONDS) for name, call in functions.items()]
    monkeypatch.setattr(gpu, "FAMILIES", {"some": lambda _: iter(rows)})


def test_each_row_of_a_gpu_has_a_name_of_its_own_and_work() -> None:
    rows = [row for of_family in gpu.chosen(8, None).values() for row in of_family]
    assert len({row.name for row in rows}) == len(rows) >= 80
    assert all((row.work > 0) == (row.unit in (TERAFLOPS, BANDWIDTH)) for row in rows)
    assert [row.name for row in gpu.chosen(8, "small calls")["small calls"] if row.unit == MICROSECONDS]
    sizes = {row.name: row.work for row in gpu.chosen(None, "products")["products"]}
    assert sizes["mm, 4096 × 4096 × 4096"] == 2 * 4096**3 and sizes["mm, 1 × 4096 × 4096"] == 4 * (4096**2 + 2 * 4096)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("family", [of for of in FAMILIES if of not in ("training", "optimizers", "layers of images")])
def test_rows_of_a_gpu_run_and_agree(family: str, tmp_path: Path) -> None:
    assert on_cpu(tmp_path / "cuda.json", family)[0] == f"{family}: torch without TF32, and repdl.enable()"
    found = json.loads((tmp_path / "cuda.json").read_text())["cpu"]
    assert found["left out"] == [] and list(found["families"]) == [family]
    for name, row in found["families"][family].items():
        assert "raises" not in row, name
        assert "differs" not in row or name in ("dropout", "normal_"), name  # of few numbers
        assert min(row["peer"], row["ours"], row["ratio"], row["host"]) > 0


@pytest.mark.usefixtures("quick")
def test_rows_of_a_gpu_that_fail_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("first line\nsecond line")

    rows_of(
        monkeypatch,
        refused=partial(without_kernel, torch.ones(4)),
        wrong=lambda: torch.full((3,), 2.0 + repdl.is_enabled()),
        nan=lambda: torch.full((3,), float("nan") if repdl.is_enabled() else 1.0),
        more=lambda: [torch.ones(2)] * (1 + repdl.is_enabled()),
        broken=fail,
        good=lambda: torch.ones(3),
    )
    on_cpu(tmp_path / "cuda.json")
    rows = json.loads((tmp_path / "cuda.json").read_text())["cpu"]["families"]["some"]
    assert "linear_combination" in rows["refused"]["raises"]
    assert rows["refused"]["peer"] > 0 and "ours" not in rows["refused"]
    assert rows["wrong"]["differs"] == "by 5.0e-01 of the largest" and rows["wrong"]["ratio"] > 0
    assert "nan" in rows["nan"]["differs"]
    assert rows["more"]["raises"].startswith("comparison: ") and rows["more"]["ratio"] > 0
    assert rows["broken"].keys() == {"unit", "raises"} and rows["broken"]["raises"] == "first line"
    assert rows["good"].keys() == {"unit", "peer", "ours", "ratio", "host"}
    page = cuda_page(
        "# Head", lambda columns, of: "".join(f"{row}\n" for row in [columns, *of]), tmp_path / "cuda.json"
    )
    assert page.startswith("# Head\n") and "'raises: first line'" in page and "differs by 5.0e-01" in page


@pytest.mark.usefixtures("quick")
def test_a_run_goes_on_where_one_lost_the_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    state = {"lost": False}
    called: list[str] = []

    def lose() -> None:
        if repdl.is_enabled():
            state["lost"] = True
            raise RuntimeError("illegal memory access")

    def wait(_: gpu_clock.Gpu) -> None:
        if state["lost"]:
            raise RuntimeError("illegal memory access")

    def good(name: str) -> Call:
        return lambda: (called.append(name), torch.ones(1))

    rows_of(monkeypatch, before=good("before"), loses=lose, after=good("after"))
    monkeypatch.setattr(gpu_clock.Gpu, "wait", wait)
    file = tmp_path / "cuda.json"
    with pytest.raises(SystemExit) as ended:
        on_cpu(file)
    assert ended.value.code == gpu.STOPPED and not repdl.is_enabled()
    state["lost"] = False
    monkeypatch.setattr(gpu, "TOGETHER", 1)
    on_cpu(file, go_on=True)
    found = json.loads(file.read_text())["cpu"]
    assert found["left out"] == [] and found["families"]["some"]["loses"]["raises"] == "illegal memory access"
    assert all(found["families"]["some"][name]["ratio"] > 0 for name in ("before", "after"))
    called.clear()
    on_cpu(file, go_on=True)
    assert called == []
    gpu.run(0.0, None, file, False, "cpu", 6)
    assert json.loads(file.read_text())["cpu"]["left out"] == ["before", "loses", "after"]


@pytest.mark.usefixtures("quick")
def test_a_slow_row_of_a_gpu_is_timed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gpu_clock, "SLOW", 0.01)
    monkeypatch.setattr(gpu_clock, "LIMIT", 0.01)
    monkeypatch.setattr(gpu, "ROUNDS", 3)
    called = []

    def slow() -> None:
        called.append(repdl.is_enabled())
        time.sleep(0.02)

    rows_of(monkeypatch, slow=slow)
    on_cpu(tmp_path / "cuda.json")
    row = json.loads((tmp_path / "cuda.json").read_text())["cpu"]["families"]["some"]["slow"]
    assert called.count(True) == 1 and called.count(False) > 1
    assert row["ours"] >= 20 and row["peer"] >= 20


@pytest.mark.usefixtures("quick")
def test_rows_for_which_there_is_no_time_are_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows_of(monkeypatch, slow=lambda: time.sleep(0.3), other=lambda: torch.ones(1))
    gpu.run(0.2, None, tmp_path / "cuda.json", False, "cpu")
    assert json.loads((tmp_path / "cuda.json").read_text())["cpu"]["left out"] == ["slow", "other"]


def test_a_call_that_never_returns_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, said = threading.Event(), []
    monkeypatch.setattr(os, "_exit", lambda status: (said.append(status), ended.set()))
    with gpu.ends_within(0.01, lambda: said.append("row")):
        assert ended.wait(10)
    assert said == ["row", gpu.STOPPED]
    with gpu.ends_within(0.01, lambda: said.append("another")):
        pass
    time.sleep(0.05)
    assert "another" not in said


def test_the_clock_of_a_gpu_is_its_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as it can be seen without one."""
    now = 0.0

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            self.at = now

        def synchronize(self) -> None:
            pass

        def elapsed_time(self, later: Event) -> float:
            return later.at - self.at

    def call() -> None:
        nonlocal now
        now += 2.0 if now else 50.0  # the first is slower

    device = gpu_clock.Gpu("cuda")
    device.is_there = True
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    of_device, of_host = device.seconds([call] * 5)
    assert of_device == pytest.approx(2e-3) and of_host > 0
    made: list[int] = []
    monkeypatch.setattr(gpu_clock.Gpu, "cache", lambda _: 50)
    monkeypatch.setattr(gpu_clock.Gpu, "allocated", lambda _: 30 * len(made))
    monkeypatch.setattr(device, "device", "cpu")
    row = Row("", lambda: made.append(1) or call, BANDWIDTH, 1.0)  # type: ignore[func-returns-value]
    assert len(gpu_clock.Contender(row, device).calls) == 4  # of 30 bytes, beside a cache of 50
