# SPDX-License-Identifier: MIT
"""Models of the transformer family and recurrent ones train to the same bits on every CPU target and thread number."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import torch

import repdl
from repdl import _core
from support import CAPABILITIES

# CPU target of ours, instruction set of torch's own kernels, threads.
SETTINGS = [("avx512", "avx512", 1), ("avx2", "avx2", 2), ("sse4", "default", 3), ("scalar", "default", 1)]
NAMES = ["BERT", "GPT-2", "Llama", "T5", "Whisper", "ViT", "nn.LSTM", "nn.GRU", "nn.TransformerEncoder"]


@cache
def trained() -> dict[str, dict]:
    """What each setting of this machine gives, by its name."""
    pytest.importorskip("transformers")
    results = {}
    for target, capability, threads in SETTINGS:
        if target not in _core.supported_targets() or capability not in CAPABILITIES:
            continue
        environment = os.environ | {
            "REPDL_TARGET": target,
            "ATEN_CPU_CAPABILITY": capability,
            "OMP_NUM_THREADS": str(threads),
            "MKL_NUM_THREADS": str(threads),
        }
        done = subprocess.run(
            [sys.executable, Path(__file__).with_name("models.py")],
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        results[f"{target}, torch's {capability}, {threads} threads"] = json.loads(done.stdout.splitlines()[-1])
    return results


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_everywhere(name):
    results = {setting: result["ours"][name] for setting, result in trained().items()}
    first = next(iter(results.values()))
    assert first["last loss"] == first["last loss"]  # a number
    assert all(result == first for result in results.values()), json.dumps(results, indent=2)


def test_stock_torch_differs():
    """The matrix is one in which torch's own bits change; they are printed beside ours."""
    for setting, result in trained().items():
        print(setting)
        for name in NAMES:
            print(f"  {name:22} ours {result['ours'][name]['weights'][:12]}  stock {result['stock'][name][:12]}")
    if len(trained()) < 2:
        pytest.skip("this CPU runs one target only")
    stock = [result["stock"] for result in trained().values()]
    assert all(len({result[name] for result in stock}) > 1 for name in NAMES)


def _causal(name):
    pytest.importorskip("transformers")
    from models import models

    torch.manual_seed(0)
    return models()[name][0]().eval()


@pytest.mark.parametrize("name", ["GPT-2", "Llama"])
def test_a_row_does_not_see_its_batch(name):
    with repdl.reproducible(), torch.no_grad():
        model = _causal(name)
        tokens = torch.randint(3, 60, (7, 11))
        together = model(input_ids=tokens).logits
        for i in range(7):
            assert torch.equal(model(input_ids=tokens[i : i + 1]).logits, together[i : i + 1])
        assert torch.equal(model(input_ids=tokens[2:5]).logits, together[2:5])


@pytest.mark.parametrize("name", ["GPT-2", "Llama"])
@pytest.mark.parametrize("pieces", [(1,) * 11, (11,), (4, 7), (3, 1, 1, 6), (10, 1)])
def test_a_prompt_in_pieces_gives_the_bits_of_the_whole(name, pieces):
    with repdl.reproducible(), torch.no_grad():
        model = _causal(name)
        tokens = torch.randint(3, 60, (2, 11))
        whole = model(input_ids=tokens).logits
        cache, at, logits = None, 0, []
        for piece in pieces:
            result = model(input_ids=tokens[:, at : at + piece], past_key_values=cache, use_cache=True)
            cache, at = result.past_key_values, at + piece
            logits.append(result.logits)
        assert torch.equal(torch.cat(logits, 1), whole)
