# SPDX-License-Identifier: MIT
"""Images and labels for the examples: MNIST from IDX files, or the digits that ship inside scikit-learn."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import math
import struct
import urllib.request
import zlib
from dataclasses import dataclass
from pathlib import Path

import torch

import repdl

MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
MNIST_FILES = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
"""Names of the files, and the SHA-256 of what they hold, not gzipped."""


@dataclass(frozen=True)
class Images:
    """Images as float32 in [0, 1], (n, 1, 28, 28), and labels as int64, (n)."""

    name: str
    train_images: torch.Tensor
    train_labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor


def read_idx(path: Path) -> torch.Tensor:
    """The bytes of an IDX file, gzipped or not, as a uint8 tensor of the file's shape.

    Raises:
        ValueError: naming the file, if it is not an IDX file of bytes or does not hold what its header says.
    """

    def corrupt(what: str) -> ValueError:
        return ValueError(f"{path}: {what}; delete it and fetch it again")

    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":  # whatever its name says
            data = gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise corrupt(f"cannot be read ({error})") from error
    if len(data) < 4 or data[:3] != b"\x00\x00\x08":
        raise corrupt(f"not an IDX file of bytes (it starts with {data[:4].hex() or 'nothing'})")
    rank = data[3]
    header = 4 + 4 * rank
    if len(data) < header:
        raise corrupt("ends within its header")
    shape = struct.unpack(f">{rank}I", data[4:header])
    if len(data) - header != math.prod(shape):
        raise corrupt(f"holds {len(data) - header} bytes of data, but its header {shape} says {math.prod(shape)}")
    if len(data) == header:
        raise corrupt("holds no data")
    return torch.frombuffer(bytearray(data[header:]), dtype=torch.uint8).reshape(shape)


def find(directory: Path, name: str) -> Path | None:
    """The file of that name, gzipped or not, if it is there."""
    return next((path for path in (directory / f"{name}.gz", directory / name) if path.exists()), None)


def load_mnist(directory: Path) -> Images:
    """MNIST from the four IDX files in a directory.

    Raises:
        FileNotFoundError: naming the folder or the file that is missing.
        ValueError: naming the file that is corrupt.
    """
    if not directory.is_dir():
        raise FileNotFoundError(f"{directory}: no such folder; it should hold the four IDX files of MNIST")
    paths = {name: find(directory, name) for name in MNIST_FILES}
    parts = {}
    for name, path in paths.items():
        if path is None:
            raise FileNotFoundError(f"{directory / name}: no such file, gzipped or not; fetch it from {MNIST_URL}")
        parts[name] = read_idx(path)
    for kind in ("train", "t10k"):
        images_name, labels_name = f"{kind}-images-idx3-ubyte", f"{kind}-labels-idx1-ubyte"
        images, labels = parts[images_name], parts[labels_name]
        if images.dim() != 3 or images.shape[1:] != (28, 28):
            raise ValueError(
                f"{paths[images_name]}: holds the shape {tuple(images.shape)}, not (n, 28, 28); fetch MNIST's file"
            )
        if labels.shape != images.shape[:1]:
            raise ValueError(
                f"{paths[labels_name]}: holds the shape {tuple(labels.shape)}, but {paths[images_name]} has "
                f"{len(images)} images; fetch both again"
            )
        if int(labels.max()) > 9:
            raise ValueError(f"{paths[labels_name]}: holds the label {int(labels.max())}, above 9; fetch it again")
    return Images(
        "MNIST",
        repdl.ops.div(parts["train-images-idx3-ubyte"].unsqueeze(1).float(), 255),
        parts["train-labels-idx1-ubyte"].long(),
        repdl.ops.div(parts["t10k-images-idx3-ubyte"].unsqueeze(1).float(), 255),
        parts["t10k-labels-idx1-ubyte"].long(),
    )


def download_mnist(directory: Path) -> None:
    """Downloads what is missing of MNIST into a directory.

    Raises:
        OSError: if there is no connection, or what arrives is not MNIST.
    """
    for name, sha256 in MNIST_FILES.items():
        if find(directory, name) is not None:
            continue
        try:
            with urllib.request.urlopen(f"{MNIST_URL}{name}.gz", timeout=20) as response:
                data = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise OSError(f"{MNIST_URL}{name}.gz: {getattr(error, 'reason', error)}") from error
        try:
            intact = hashlib.sha256(gzip.decompress(data)).hexdigest() == sha256
        except (EOFError, OSError, zlib.error):
            intact = False
        if not intact:
            raise OSError(f"{MNIST_URL}{name}.gz: what arrived is not the file of MNIST")
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{name}.gz").write_bytes(data)


def load_digits() -> Images:
    """The 1797 digits of scikit-learn, 8 x 8 with 17 grey levels: each pixel becomes 3 x 3, inside a border of 2."""
    from sklearn.datasets import load_digits as sklearn_digits

    digits = sklearn_digits()
    images = torch.from_numpy(digits.images).float() / 16  # exact
    images = images.repeat_interleave(3, dim=1).repeat_interleave(3, dim=2)
    images = torch.nn.functional.pad(images, (2, 2, 2, 2)).unsqueeze(1)
    labels = torch.from_numpy(digits.target).long()
    return Images("digits", images[:1500], labels[:1500], images[1500:], labels[1500:])
