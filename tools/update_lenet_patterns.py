# SPDX-License-Identifier: MIT
"""Writes python/repdl/golden/lenet_patterns.json: digests of examples/cpp/train_lenet.cc, from the slow reference.

    python tools/update_lenet_patterns.py REFERENCE_PROGRAM [--check]

REFERENCE_PROGRAM is repdl_reference_lenet. What the example makes by itself, weights, images and labels, is made here a
second time.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lenet_reference import train, write_golden

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "python/repdl/golden/lenet_patterns.json"
BATCH, STEPS, TEST_IMAGES, LR = 4, 40, 20, 0.005
CLASSES, PIXELS = 10, 28 * 28
# Numbers of elements of the parameters, and the exponent of their scale.
PARAMETERS = (
    (6 * 25, -3), (6, -3), (16 * 6 * 25, -5), (16, -5), (120 * 400, -5), (120, -5), (84 * 120, -4), (84, -4),
    (CLASSES * 84, -4), (CLASSES, -4),
)  # fmt: skip


def bits(seed: int, n: int) -> npt.NDArray[np.uint64]:
    """SplitMix64 of the counters seed * 2^32 + 0, 1, …"""
    z = (np.arange(n, dtype=np.uint64) + np.uint64((seed << 32) + 1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


def normal(seed: int, *shape: int) -> npt.NDArray[np.float32]:
    """The generator `normal` of repdl/conformance.h."""
    x = bits(seed, int(np.prod(shape)))
    parts = [(x >> np.uint64(shift) & np.uint64(0xFFFF)).astype(np.int64) for shift in (0, 16, 32, 48)]
    return ((sum(parts) - 2 * 65535) * 2.0**-15).astype(np.float32).reshape(shape)


def inputs() -> dict[str, npt.NDArray[Any]]:
    trained = BATCH * STEPS
    n = trained + TEST_IMAGES
    labels = (bits(1, n) % np.uint64(CLASSES)).astype(np.int64)
    images = normal(2, CLASSES, PIXELS)[labels] + np.float32(0.125) * normal(3, n, PIXELS)
    start = [normal(4 + i, size) * np.float32(2.0**scale) for i, (size, scale) in enumerate(PARAMETERS)]
    return {
        "start": np.concatenate(start), "schedule": np.arange(trained),
        "images": images[:trained], "labels": labels[:trained],
        "test-images": images[trained:], "test-labels": labels[trained:],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference", type=Path, help="the program repdl_reference_lenet")
    parser.add_argument("--check", action="store_true", help="fail if the file would change")
    options = parser.parse_args()
    digests = {
        order: train(options.reference, inputs(), batch=BATCH, order=order, lr=LR)
        for order in ("blocked", "sequential")
    }
    write_golden(GOLDEN, digests, check=options.check)


if __name__ == "__main__":
    main()
