# SPDX-License-Identifier: MIT
"""Writes python/repdl/golden/lenet.json: digests of examples/mnist_training.py, from the slow reference.

    python tools/update_lenet.py REFERENCE_PROGRAM --data DIR [--check]

REFERENCE_PROGRAM is repdl_reference_lenet (tests/reference), which shares no arithmetic with the library. It gets the
first weights, which torch's generator draws, and the order in which the samples are visited. Minutes of work.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))

import repdl  # noqa: E402
from datasets import Images, load_digits, load_mnist  # noqa: E402
from lenet_reference import train, write_golden  # noqa: E402
from mnist_training import BATCH, EPOCHS, LeNet, Samples  # noqa: E402

GOLDEN = repdl.conformance.GOLDEN / "lenet.json"


def reference(program: Path, data: Images, order: str) -> dict[str, str | float]:
    torch.manual_seed(0)
    with repdl.random.stream("torch"):
        model = repdl.from_torch_module(LeNet())
    start = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    loader = Samples(data.train_images, torch.arange(len(data.train_labels))).loader(shuffle=True)
    schedule = torch.cat([indices for _ in range(EPOCHS) for _, indices in loader])
    tensors = {
        "start": start, "images": data.train_images, "labels": data.train_labels, "schedule": schedule,
        "test-images": data.test_images, "test-labels": data.test_labels,
    }  # fmt: skip
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    values = train(program, arrays, batch=BATCH, order=order)
    print(f"{data.name}, {order}: {values}")
    return {name: value for name, value in values.items() if name != "losses"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference", type=Path, help="the program repdl_reference_lenet")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with MNIST's IDX files")
    parser.add_argument("--check", action="store_true", help="fail if the file would change")
    options = parser.parse_args()
    digests = {
        f"{data.name}, {order}": reference(options.reference, data, order)
        for data in (load_mnist(options.data), load_digits())
        for order in ("sequential", "blocked")
    }
    write_golden(GOLDEN, digests, check=options.check)


if __name__ == "__main__":
    main()
