# SPDX-License-Identifier: MIT
"""The examples, run as programs: their digests are those of the slow reference, whatever runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from support import GOLDEN, ROOT, TARGETS

sys.path.insert(0, str(ROOT / "examples"))

import exact_policy
import mnist_training
import repdl
from repdl import _core

DIGESTS: dict[str, dict[str, Any]] = json.loads((GOLDEN / "lenet.json").read_text())
ORDERS = ("sequential", "blocked")
NO_NETWORK = {"https_proxy": "http://127.0.0.1:9"}
"""The example trains on the digits of scikit-learn where MNIST can be neither found nor downloaded."""


def run_example(name: str, *arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "examples" / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ | environment,
        timeout=1200,
    )


def values(output: str) -> dict[str, str]:
    """What the training example prints: name and value."""
    return dict(re.findall(r"^(initial model|trained model|logits|accuracy) +(\S+)", output, re.MULTILINE))


def expected(run: str) -> dict[str, str]:
    return {name: str(value) for name, value in DIGESTS[run].items()}


# Every target; orders, 1, 2 and 3 threads, and torch's own instruction sets take turns. Both orders on each are tested
# in C++, where they take less time: install.lenet in tests/install.
MATRIX = [
    (target, ORDERS[i % 2], i % 3 + 1, {"ATEN_CPU_CAPABILITY": "default"} if i % 4 < 2 else {})
    for i, target in enumerate(TARGETS)
]


@pytest.mark.parametrize(("target", "order", "threads", "isa"), MATRIX)
def test_digits_give_the_same_digests_everywhere(
    target: str, order: str, threads: int, isa: dict[str, str], tmp_path: Path
) -> None:
    result = run_example(
        "mnist_training.py",
        *("--no-progress", "--order", order, "--threads", str(threads)),
        cwd=tmp_path,
        REPDL_TARGET=target,
        **NO_NETWORK,
        **isa,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"order {order}, 2 epochs, {threads} threads" in result.stdout
    assert values(result.stdout) == expected(f"digits, {order}")
    assert result.stdout.count("= expected") == 4
    assert re.search(r"^training time +\d+\.\d s$", result.stdout, re.MULTILINE)
    assert not list(tmp_path.iterdir()), "nothing is left behind where nothing was downloaded"


def mnist_folder() -> Path | None:
    folders = [Path(os.environ["REPDL_MNIST"])] if os.environ.get("REPDL_MNIST") else []
    folders += [ROOT / folder for folder in ("data/mnist", "../data/mnist", "../shared/data/mnist")]
    return next((folder for folder in folders if list(folder.glob("train-images-idx3-ubyte*"))), None)


def test_mnist_gives_the_published_digests() -> None:
    folder = mnist_folder()
    if folder is None:
        pytest.skip("MNIST is not here; REPDL_MNIST names a folder with its four IDX files")
    result = run_example(
        "mnist_training.py",
        *("--no-progress", "--data", str(folder), "--threads", "1"),  # with more, tests beside it would wait for it
        ATEN_CPU_CAPABILITY="default",
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert values(result.stdout) == {
        "initial model": "2a2d133895b1684e55d0f152ead2914b55adc551d9790a4b4585309b79c60362",
        "trained model": "31ee86a7f75dbd76bac22f209617eb7349f93b0ede116dba924f328cac3013f1",
        "logits": "0ca34dcd37105b4af690c46a62407b4b9b097d1063864c6d99f4309aeb4bca3e",
        "accuracy": "0.9804",
    }
    assert result.stdout.count("= published") == 4


def test_another_number_of_epochs_is_compared_with_nothing(tmp_path: Path) -> None:
    result = run_example("mnist_training.py", "--epochs", "1", cwd=tmp_path, FORCE_COLOR="1", **NO_NETWORK)
    output = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", result.stdout)  # without the terminal's control codes
    assert result.returncode == 0, output + result.stderr
    assert "nothing is published to compare with: the digests in lenet.json are of 2 epochs" in output
    assert values(output).keys() == DIGESTS["digits, sequential"].keys()
    assert "= " not in output.split("initial model")[1] and "differs" not in output
    assert values(output)["trained model"] != expected("digits, sequential")["trained model"]
    # A terminal, which FORCE_COLOR stands for, gets a bar that counts to the end.
    assert "15/15" in output and re.search(r"loss \d\.\d{4}", output)


@pytest.fixture
def main(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The training example within this process, in an empty folder and without a network."""
    monkeypatch.chdir(tmp_path)
    for name, value in NO_NETWORK.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["mnist_training.py", *arguments])
        return mnist_training.main()

    return run


def test_a_digest_that_differs_is_said_and_fails(
    main: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    expectations = tmp_path / "lenet.json"
    expectations.write_text(json.dumps({"digits, blocked": DIGESTS["digits, blocked"] | {"logits": "0123"}}))
    monkeypatch.setattr(mnist_training, "DIGESTS", expectations)
    assert main("--no-progress", "--order", "blocked") == 1
    output = capsys.readouterr().out
    assert "differs from the expected 0123" in output
    assert output.count("= expected") == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epochs", "0"], "argument --epochs: must be at least 1, got 0"),
        (["--epochs", "two"], "argument --epochs: invalid positive value: 'two'"),
        (["--threads", "-1"], "argument --threads: must be at least 1, got -1"),
        (["--threads", "5000"], "[set_num_threads] n must be between 1 and 1024, got 5000"),
        (["--order", "random"], "argument --order: invalid choice: 'random'"),
        (["--data", "no[/]where"], "error: no[/]where: no such folder; it should hold the four IDX files of MNIST"),
        (["--data", "."], "train-images-idx3-ubyte: no such file, gzipped or not; fetch it from"),
    ],
)
def test_bad_options_are_named(
    arguments: list[str], message: str, main: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status: Any = main(*arguments)
    except SystemExit as error:  # argparse's way
        status = error.code
    assert status == 2
    output = capsys.readouterr()
    assert message in output.out + output.err


def test_reproducible_ops_agree_here() -> None:
    result = run_example("reproducible_ops.py")
    assert result.returncode == 0, result.stdout + result.stderr
    for op in ("mm", "div", "sqrt"):
        assert re.search(rf"^{op}: stock torch gives \d+ results?.*; repdl gives 1\b", result.stdout, re.MULTILINE)
    for target in TARGETS:
        assert target in result.stdout
    assert "repdl: the same bits everywhere" in result.stdout


def test_a_policy_is_trained_on_ratios_of_exactly_one() -> None:
    result = run_example("exact_policy.py", "--threads", "3", ATEN_CPU_CAPABILITY="default", OMP_WAIT_POLICY="passive")
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"^stock torch: \d+ of \d+ log-probabilities of sampler and trainer differ", result.stdout)
    assert (
        "repdl: 0 of 44211 log-probabilities of sampler and trainer differ, and every ratio is exactly 1"
        in result.stdout
    )
    assert f"policy {exact_policy.EXPECTED['float32']}  = expected" in result.stdout
    rewards = [float(reward) for reward in re.findall(r"reward +(\S+)$", result.stdout, re.MULTILINE)]
    assert len(rewards) == 9 and rewards[0] < 0 and rewards[-1] > 1


@pytest.fixture
def threads_and_target() -> Iterator[None]:
    threads, target = repdl.get_num_threads(), _core.active_target()
    yield
    repdl.set_num_threads(threads)
    _core.set_target(target)


@pytest.mark.parametrize("dtype", exact_policy.DTYPES.values(), ids=str)
@pytest.mark.usefixtures("threads_and_target")
def test_a_policy_is_the_same_on_every_target(dtype: torch.dtype) -> None:
    digests = set()
    for number, target in enumerate(TARGETS):
        _core.set_target(target)
        repdl.set_num_threads(number % 3 + 1)
        with repdl.reproducible():
            policy, agreement = exact_policy.train(1, dtype, lambda number, reward: None)
        assert agreement.tokens > 400 and agreement.different == 0 and agreement.ratio == 0
        digests.add(repdl.utils.get_hash(policy))
    assert len(digests) == 1


def test_keys_that_move_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Padding on the left of the sampler's keys gives other bits: its places are not those of the trainer."""
    attention = F.scaled_dot_product_attention

    def moved(query: Any, key: Any, value: Any, seen: Any = None, is_causal: bool = False) -> torch.Tensor:
        if seen is None:
            return attention(query, key, value, is_causal=is_causal)
        return attention(query, key.roll(3, 2), value.roll(3, 2), seen.roll(3, 3))

    monkeypatch.setattr(exact_policy.F, "scaled_dot_product_attention", moved)
    with repdl.reproducible():
        _, agreement = exact_policy.train(1, torch.float32, lambda number, reward: None)
    assert 0 < agreement.different < agreement.tokens and 0 < agreement.ratio < 1e-5
    assert re.fullmatch(
        r"\d+ of \d+ log-prob.* differ, by at most \S+, and a ratio by at most \S+ from 1", str(agreement)
    )


def test_a_proof_of_training_and_a_cheat() -> None:
    """The other cheats are in test_receipts.py, within its process."""
    result = run_example("proof_of_training.py", "--cheat", "edits a weight")
    assert result.returncode == 0, result.stdout + result.stderr
    some, whole, model, cheat = result.stdout.splitlines()
    assert re.search(r"^The trainer, some steps: +Confirmed: steps 0, \d+, \d+, drawn from seed \d+, .*, 3 of 30", some)
    assert whole.endswith("Confirmed: all 30 steps, and the end with status 0.")
    assert model.endswith("It is the one of the receipt.")
    assert cheat.endswith("Not confirmed: before step 21 the run differs in the state of model.")
