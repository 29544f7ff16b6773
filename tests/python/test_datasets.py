# SPDX-License-Identifier: MIT
"""The example's files: what they hold comes back, and one that is broken is named."""

from __future__ import annotations

import gzip
import math
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings, strategies as st

from support import ROOT

sys.path.insert(0, str(ROOT / "examples"))

from datasets import MNIST_FILES, load_mnist, read_idx


def idx(shape: tuple[int, ...], data: bytes) -> bytes:
    return b"\0\0\x08" + bytes([len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + data


TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = MNIST_FILES


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    """A folder like MNIST's, with three training images and two test images."""
    for name, count in ((TRAIN_IMAGES, 3), (TEST_IMAGES, 2)):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(idx((count, 28, 28), bytes(range(196)) * 4 * count)))
    for name, count in ((TRAIN_LABELS, 3), (TEST_LABELS, 2)):
        (tmp_path / name).write_bytes(idx((count,), bytes(range(count))))
    return tmp_path


def test_gzipped_and_plain_files_are_read(mnist: Path) -> None:
    data = load_mnist(mnist)
    assert data.train_images.shape == (3, 1, 28, 28) and data.test_images.shape == (2, 1, 28, 28)
    assert data.train_labels.tolist() == [0, 1, 2] and data.test_labels.tolist() == [0, 1]
    assert data.train_images.flatten()[195].item() == torch.tensor(195 / 255).item()


def test_what_a_file_holds_counts_not_its_name(mnist: Path) -> None:
    expected = load_mnist(mnist).train_images
    packed = mnist / f"{TRAIN_IMAGES}.gz"
    packed.rename(mnist / TRAIN_IMAGES)
    assert torch.equal(load_mnist(mnist).train_images, expected)
    packed.write_bytes(gzip.decompress((mnist / TRAIN_IMAGES).read_bytes()))
    assert torch.equal(load_mnist(mnist).train_images, expected)


IMAGE = bytes(784)
BROKEN: dict[str, tuple[str, bytes, str]] = {
    "empty": (TRAIN_IMAGES, b"", "not an IDX file of bytes .it starts with nothing."),
    "a web page": (TRAIN_LABELS, b"<html>404</html>", "not an IDX file of bytes .it starts with 3c68746d."),
    "numbers of another type": (
        TEST_LABELS,
        b"\0\0\x0d\1" + struct.pack(">I", 2) + bytes(8),
        "not an IDX file of bytes",
    ),
    "cut in its header": (TRAIN_IMAGES, idx((3, 28, 28), b"")[:9], "ends within its header"),
    "cut in its data": (TRAIN_IMAGES, idx((3, 28, 28), IMAGE * 2), r"1568 bytes .* header \(3, 28, 28\) says 2352"),
    "too long": (TEST_LABELS, idx((2,), bytes(3)), r"3 bytes .* header \(2,\) says 2"),
    "a count beyond all files": (TRAIN_IMAGES, idx((2**32 - 1, 2**31, 28), b"x"), "1 bytes .* says"),
    "without images": (TEST_IMAGES, idx((0, 28, 28), b""), "holds no data"),
    "gzip cut short": (TRAIN_IMAGES, gzip.compress(idx((3, 28, 28), IMAGE * 3))[:-9], "cannot be read .*end"),
    "gzip cut in its header": (TRAIN_IMAGES, b"\x1f\x8b\x08", "cannot be read"),
    "gzip with a flipped bit": (
        TRAIN_LABELS,
        bytes(b ^ (i == 12) for i, b in enumerate(gzip.compress(idx((3,), bytes(3))))),
        "cannot be read|bytes",
    ),
    "gzip with something behind it": (TEST_LABELS, gzip.compress(idx((2,), bytes(2))) + b"junk", "cannot be read"),
    "fewer labels than images": (TRAIN_LABELS, idx((2,), bytes(2)), rf"\(2,\), but .*{TRAIN_IMAGES}.* has 3 images"),
    "labels of two dimensions": (TEST_LABELS, idx((2, 1), bytes(2)), r"\(2, 1\), but .* has 2 images"),
    "images of another size": (TEST_IMAGES, idx((2, 14, 56), IMAGE * 2), r"\(2, 14, 56\), not \(n, 28, 28\)"),
    "a label above 9": (TRAIN_LABELS, idx((3,), b"\1\x0a\0"), "holds the label 10"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_named_with_a_remedy(kind: str, mnist: Path) -> None:
    name, content, message = BROKEN[kind]
    path = mnist / (f"{name}.gz" if "images" in name else name)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        load_mnist(mnist)
    assert str(path) in str(caught.value) and "fetch" in str(caught.value)


@pytest.mark.parametrize(
    "spoil", [lambda p: (p / TRAIN_LABELS).unlink(), lambda p: (p / TEST_LABELS).rename(p / "labels")]
)
def test_a_missing_file_is_named(spoil: Callable[[Path], None], mnist: Path) -> None:
    spoil(mnist)
    with pytest.raises(FileNotFoundError, match=r"labels-idx1-ubyte: no such file, gzipped or not; fetch it from"):
        load_mnist(mnist)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere: no such folder; it should hold the four IDX files"):
        load_mnist(tmp_path / "nowhere")


def test_a_folder_in_place_of_a_file_is_named(mnist: Path) -> None:
    (mnist / TRAIN_LABELS).unlink()
    (mnist / TRAIN_LABELS).mkdir()
    with pytest.raises(ValueError, match=rf"{TRAIN_LABELS}: cannot be read .*irectory"):
        load_mnist(mnist)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("idx") / "file"


shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


@given(shape=shapes, seed=st.binary(min_size=1, max_size=8), packed=st.booleans())
@settings(deadline=None)
def test_what_is_written_is_read(file: Path, shape: tuple[int, ...], seed: bytes, packed: bool) -> None:
    data = (seed * math.prod(shape))[: math.prod(shape)]
    content = idx(shape, data)
    file.write_bytes(gzip.compress(content) if packed else content)
    tensor = read_idx(file)
    assert tuple(tensor.shape) == shape and tensor.dtype == torch.uint8
    assert bytes(tensor.flatten().tolist()) == data


@given(
    content=st.one_of(
        st.binary(),
        st.binary().map(lambda tail: b"\0\0\x08" + tail),
        st.binary().map(lambda tail: b"\x1f\x8b" + tail),
        st.binary().map(lambda tail: gzip.compress(b"\0\0\x08" + tail)),
        st.tuples(shapes, st.integers(0, 60), st.integers(0, 255)).map(
            lambda x: bytes(b ^ (x[2] if i == x[1] else 0) for i, b in enumerate(gzip.compress(idx(x[0], bytes(9)))))
        ),
    )
)
@settings(deadline=None)
def test_any_bytes_are_read_or_named(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    try:
        tensor = read_idx(file)
    except ValueError as error:
        message = str(error)
        assert message.startswith(f"{file}: ") and message.endswith("; delete it and fetch it again")
    else:
        assert tensor.numel() > 0
