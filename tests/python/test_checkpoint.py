# SPDX-License-Identifier: MIT
"""Checkpoints: what goes in comes out, bit for bit; what is not a whole one of this run changes nothing."""

from __future__ import annotations

import copy
import errno
import json
import math
import os
import pickle
import random
import struct
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

import repdl
from repdl import checkpoint
from repdl.checkpoint import CheckpointError, file as checkpoint_file, generators, settings
from support import run_python

Model = torch.nn.Module


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.ckpt"


def bits(x: float) -> bytes:
    return struct.pack("<d", x)


def same(a: Any, b: Any) -> bool:
    """Written apart from the library's own comparison: types, order, sharing of tensors and bits are the same."""
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        same_form = (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
        raw = [t.resolve_conj().resolve_neg().contiguous().flatten().view(torch.uint8).tolist() for t in (a, b)]
        return same_form and raw[0] == raw[1]
    if isinstance(a, np.ndarray | np.generic):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, float):
        return bits(a) == bits(b)
    if isinstance(a, complex):
        return same([a.real, a.imag], [b.real, b.imag])
    if isinstance(a, dict):
        is_same = same(list(a.keys()), list(b.keys())) and same(list(a.values()), list(b.values()))
        return is_same and (type(a) is dict or same(dict(vars(a)), dict(vars(b))))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


FLOATS = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -2.2e-308, 1.7976931348623157e308, 0.1, 1 / 3]
NAN_WITH_PAYLOAD = struct.unpack("<d", b"\x01\x02\x03\x04\x05\x06\xf9\xff")[0]

VALUES: dict[str, Any] = {
    "none": None,
    "bools": [True, False],
    "integers": [0, 1, -1, 2**63, -(2**200), 10**4000],
    "floats": [*FLOATS, NAN_WITH_PAYLOAD],
    "complex": [complex(-0.0, math.nan), 1j],
    "texts": ["", 'ä\0\n"\\', "\U0001f600", "list", '"sha256":"' + "0" * 64 + '"'],
    "bytes": [b"", bytes(range(256))],
    "nested": [[], (), {}, [[()]], ({"a": [{1: (2.0,)}]},)],
    "keys": {1: "1", "1": 1, None: 0, -7: {}, False: 2, "": 3},
    "order": {"b": 1, "a": 2, 3: 4},
    "ordered": OrderedDict([("b", 1), ("a", OrderedDict())]),
    "counter": Counter({30: 1, 80: 2}),
    "torch's": [torch.float32, torch.bfloat16, torch.device("cuda:1"), torch.Size([2, 3]), torch.Size([])],
    "arrays": [np.arange(6, dtype=np.uint32).reshape(2, 3), np.array(2.5), np.zeros((0, 3), np.int8), np.array([True])],
    "strided arrays": [np.arange(12.0).reshape(3, 4).T[::2].copy(), np.float64(-0.0), np.float32(0.1), np.bool_(True)],
}


def special(dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(FLOATS, dtype=torch.float64).to(dtype)


def reals() -> dict[str, torch.Tensor]:
    return {
        str(dtype): torch.arange(256, dtype=torch.uint8).view(dtype)
        for dtype in (
            *(torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32, torch.int64),
            *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
            *(torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz),
        )
    }


TENSORS: dict[str, Any] = {
    **reals(),
    "bool": torch.tensor([True, False]),
    "complex64": torch.complex(special(torch.float32), special(torch.float32).flip(0)),
    "complex128": torch.complex(special(torch.float64), special(torch.float64).flip(0)),
    "0-d": torch.tensor(-0.0, dtype=torch.bfloat16),
    "0-d complex": torch.tensor(1j),
    "empty": [torch.empty(0), torch.empty(0, 3), torch.empty(2, 0, dtype=torch.int8), torch.empty(0)],
    "channels last": torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "transposed": torch.arange(12.0).reshape(3, 4).t(),
    "permuted": torch.arange(24).reshape(1, 2, 3, 4).permute(2, 0, 3, 1),
}


@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize("values", [VALUES, TENSORS], ids=["values", "tensors"])
def test_what_goes_in_comes_out(values: dict[str, Any], enabled: bool, path: Path) -> None:
    if enabled:
        repdl.enable()
    try:
        checkpoint.save(path, values=values)
        for found in (checkpoint.load(path), checkpoint.read(path)):
            for name, value in values.items():
                assert same(found["values"][name], value), name
            assert same(found, {"values": values})
    finally:
        repdl.disable()


def test_views_come_out_as_their_numbers(path: Path) -> None:
    base = torch.arange(12) * torch.tensor(1 - 2j)
    views = {
        "conjugate": base.conj(),
        "negative": base.conj().imag,
        "part": base[2:5],
        "spread": base[::3],
        "expanded": torch.tensor([1.0]).expand(3),
        "reversed": base.flip(0),
        "all": base,
        "another form": base.view(3, 4),
        "requires a gradient": torch.ones(2, requires_grad=True),
        "parameter": torch.nn.Parameter(torch.tensor([math.nan, -0.0])),
    }
    checkpoint.save(path, **{name.replace(" ", "_"): value for name, value in views.items()})
    found = checkpoint.read(path)
    for name, value in views.items():
        result = found[name.replace(" ", "_")]
        assert same(result, value.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format))
        assert type(result) is torch.Tensor and not result.requires_grad


def test_shared_tensors_stay_shared_and_are_written_once(path: Path) -> None:
    x = torch.rand(10000)
    checkpoint.save(path, a=x, b=[x.detach(), x[:]], c=x.clone(), d=x[1:])
    assert 120000 < path.stat().st_size < 160000
    found = checkpoint.read(path)
    assert found["a"] is found["b"][0] is found["b"][1]
    assert found["c"].data_ptr() != found["a"].data_ptr()
    assert same(found["d"], x[1:].clone())


def test_nothing_of_the_program_changes(path: Path) -> None:
    x = torch.rand(3, 4).t()
    before = x.clone()
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    expected = copy.deepcopy(generators.states())
    checkpoint.save(path, x=x)
    checkpoint.read(path)
    assert same(generators.states(), expected) and same(x.contiguous(), before.contiguous())
    x.zero_()
    assert checkpoint.read(path)["x"].any()


def as_state(value: Any) -> Any:
    return {"a": [value]}


class Other:
    pass


class MyList(list[int]):
    pass


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (Other(), TypeError, r"x\['a'\]\[0\] is a test_checkpoint.Other, which a checkpoint does not hold"),
        (MyList(), TypeError, "is a test_checkpoint.MyList"),
        (print, TypeError, "is a builtins.builtin_function_or_method"),
        ({1}, TypeError, "is a builtins.set"),
        (
            {(1, 2): 3},
            TypeError,
            r"x\['a'\]\[0\] has the key \(1, 2\); keys must be texts, integers, .* or None",
        ),
        ({1.5: 3}, TypeError, "has the key 1.5"),
        ("\ud800", ValueError, "has a text that is not Unicode"),
        ({"\udc00": 1}, ValueError, "has a text that is not Unicode"),
        (torch.eye(2).to_sparse(), TypeError, r"x\['a'\]\[0\] must be dense and hold data"),
        (torch.empty(2, device="meta"), TypeError, "must be dense and hold data"),
        (np.array([object()]), TypeError, r"an array of dtype\('O'\), which torch does not hold"),
        (np.array(["a"]), TypeError, "an array of dtype"),
        (np.zeros(2, ">f4"), TypeError, "an array of dtype"),
        (np.zeros(2, "f4,i4"), TypeError, "an array of dtype"),
        (np.datetime64(1, "s"), TypeError, "an array of dtype"),
    ],
)
def test_what_a_checkpoint_does_not_hold_is_named(value: Any, error: Any, text: str, path: Path) -> None:
    checkpoint.save(path, good=1)
    whole = path.read_bytes()
    with pytest.raises(error, match=r"\[checkpoint.save\] .*" + text):
        checkpoint.save(path, x=as_state(value))
    assert path.read_bytes() == whole and os.listdir(path.parent) == [path.name]


def test_what_holds_itself_and_what_is_too_long(path: Path) -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="holds itself, or is nested too deeply"):
        checkpoint.save(path, loop=loop)
    with pytest.raises(ValueError, match="too many outside of tensors"):
        checkpoint.save(path, text='"' * 60_000_000)
    with pytest.raises(ValueError, match="must be an identifier"):
        checkpoint.save(path, **{"a b": 1})
    assert not os.listdir(path.parent)


def test_a_write_that_fails_leaves_the_file_of_before(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint.save(path, x=1)
    whole = path.read_bytes()

    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with pytest.raises(OSError, match="No space"):
                checkpoint.save(path, x=2)
        assert path.read_bytes() == whole and os.listdir(path.parent) == [path.name], name
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        checkpoint.save(path.parent / "no" / "such", x=1)
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        checkpoint.save(path.parent, x=1)


def test_the_file_has_the_permissions_of_others_and_links_stay(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.touch()
    link = tmp_path / "link"
    link.symlink_to(path)
    checkpoint.save(str(link), x=3)
    assert link.is_symlink() and path.stat().st_mode == other.stat().st_mode
    assert checkpoint.load(str(path)) == {"x": 3}


def model_of(kind: str = "plain") -> Model:
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 4))
    if kind == "tied":
        model[2].weight = model[0].weight
    if kind == "bfloat16":
        model.bfloat16()
    if kind == "channels last":
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(16, 2))
        model.to(memory_format=torch.channels_last)
    return model


def step(model: Model, optimizer: torch.optim.Optimizer) -> None:
    shape = (5, 3, 4, 4) if isinstance(model[0], torch.nn.Conv2d) else (5, 4)
    dtype = next(model.parameters()).dtype

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        torch.manual_seed(2)
        found: torch.Tensor = model(torch.rand(shape, dtype=dtype)).square().mean()
        found.backward()
        return found

    optimizer.step(loss)


OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "Adam with groups": lambda p: torch.optim.Adam([{"params": [q], "lr": 0.1 * i} for i, q in enumerate(p)]),
    "AdamW with a tensor": lambda p: torch.optim.AdamW(p, lr=torch.tensor(0.01), amsgrad=True, foreach=False),
    "fused": lambda p: torch.optim.Adam(p, lr=np.float64(0.01), fused=True),
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "SGD without momentum": lambda p: torch.optim.SGD(p, lr=0.1),
    "LBFGS": lambda p: torch.optim.LBFGS(p, lr=0.1, max_iter=3),
    "Rprop": lambda p: torch.optim.Rprop(p),
    "Adagrad": lambda p: torch.optim.Adagrad(p),
    "RMSprop": lambda p: torch.optim.RMSprop(p, centered=True, momentum=0.5),
    "NAdam": lambda p: torch.optim.NAdam(p),
    "ASGD": lambda p: torch.optim.ASGD(p),
    "repdl's": lambda p: repdl.optim.Adam(p, lr=0.01),
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [("plain", name) for name in OPTIMIZERS] + [(kind, "SGD") for kind in ("tied", "bfloat16", "channels last")],
)
def test_a_model_and_its_optimizer_go_on(kind: str, name: str, path: Path) -> None:
    model = model_of(kind)
    optimizer = OPTIMIZERS[name](model.parameters())
    step(model, optimizer)
    checkpoint.save(path, model=model, optimizer=optimizer)
    assert same(checkpoint.read(path)["optimizer"], optimizer.state_dict())
    assert same(checkpoint.read(path)["model"], model.state_dict())
    other = model_of(kind)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.fill_(math.nan)
    resumed = OPTIMIZERS[name](other.parameters())
    checkpoint.load(path, model=other, optimizer=resumed)
    for _ in range(2):
        step(model, optimizer)
        step(other, resumed)
    assert same(model.state_dict(), other.state_dict())
    assert same(optimizer.state_dict(), resumed.state_dict())


def schedulers(optimizer: Any) -> dict[str, Any]:
    s = torch.optim.lr_scheduler
    return {
        "steps": s.MultiStepLR(optimizer, [2, 2, 3]),
        "one_cycle": s.OneCycleLR(optimizer, 0.1, total_steps=20),
        "cosine": s.CosineAnnealingWarmRestarts(optimizer, 3),
        "chain": s.SequentialLR(optimizer, [s.ConstantLR(optimizer), s.ExponentialLR(optimizer, 0.9)], [2]),
        "of_lambda": s.LambdaLR(optimizer, lambda epoch: 0.9**epoch),
        "plateau": s.ReduceLROnPlateau(optimizer),
    }


def test_schedulers_and_scalers(path: Path) -> None:
    def parts() -> tuple[torch.optim.Optimizer, dict[str, Any]]:
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1, momentum=0.9)
        return optimizer, schedulers(optimizer) | {"scaler": torch.amp.GradScaler("cpu", init_scale=2.0**127)}

    optimizer, first = parts()
    optimizer.step()
    for name, scheduler in first.items():
        if name != "scaler":
            scheduler.step(*([math.inf] if name == "plateau" else []))
    checkpoint.save(path, optimizer=optimizer, **first)
    states = {name: copy.deepcopy(part.state_dict()) for name, part in first.items()}
    resumed, second = parts()
    checkpoint.load(path, optimizer=resumed, **second)
    assert same({name: part.state_dict() for name, part in second.items()}, states)
    assert same(resumed.state_dict(), optimizer.state_dict())


class Part:
    """Anything with a state."""

    def __init__(self, state: Any = None, refuses: bool = False) -> None:
        self.state, self.refuses = state, refuses

    def state_dict(self) -> Any:
        return {"state": self.state}

    def load_state_dict(self, state: Any) -> None:
        self.state = state["state"]
        if self.refuses:
            self.refuses = False
            random.random(), np.random.random(), torch.rand(1)
            raise KeyError("no such thing")


def test_generators_go_on(path: Path) -> None:
    random.seed(1), np.random.seed(2), torch.manual_seed(-3)
    own = torch.Generator().manual_seed(4)
    random.gauss(0, 1), np.random.randn(), torch.randn(3), torch.rand(5, generator=own)  # leave halves behind

    def drawn() -> list[Any]:
        found: list[Any] = [random.gauss(0, 1), np.random.randn(3).tolist(), torch.randn(4).tolist()]
        return [*found, torch.initial_seed(), torch.randn(17, generator=own).tolist(), own.initial_seed()]

    for enabled in (False, True):
        with repdl.reproducible() if enabled else torch.enable_grad():
            checkpoint.save(path, own=own)
            expected = drawn()
            repdl.manual_seed(9)
            own.manual_seed(9)
            checkpoint.load(path, own=own)
            assert drawn() == expected


def state_of_everything(parts: dict[str, Any]) -> Any:
    states = {k: p.get_state() if isinstance(p, torch.Generator) else p.state_dict() for k, p in parts.items()}
    return copy.deepcopy((states, generators.states()))


def a_run() -> dict[str, Any]:
    model = model_of()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    step(model, optimizer)
    return {"model": model, "optimizer": optimizer, "own": torch.Generator(), "part": Part([1])}


WRONG_PARTS: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "one is missing": (lambda p: {k: v for k, v in p.items() if k != "optimizer"}, "has states of optimizer too"),
    "one is new": (lambda p: p | {"sampler": Part()}, "has no state of sampler; it has those of model, optimizer, own"),
    "a value": (lambda p: p | {"best": Part()}, "has no state of best"),
    "another shape": (
        lambda p: (
            p | {"model": torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 5))}
        ),
        "model refuses its state: RuntimeError: .*size mismatch",
    ),
    "other layers": (lambda p: p | {"model": torch.nn.Linear(4, 4)}, "model refuses its state"),
    "another dtype": (
        lambda p: p | {"model": model_of("bfloat16")},
        "float32 of shape .* in the file, but torch.bfloat16",
    ),
    "other groups": (
        lambda p: p | {"optimizer": OPTIMIZERS["Adam with groups"](p["model"].parameters())},
        "optimizer refuses its state: ValueError",
    ),
    "another optimizer": (
        lambda p: p | {"optimizer": torch.optim.AdamW(p["model"].parameters(), lr=0.01)},
        "it has optimizer of the class Adam, but here it is of AdamW",
    ),
    "no optimizer": (lambda p: p | {"optimizer": Part()}, "it has optimizer of the class Adam, but here it is of Part"),
    "a generator": (lambda p: p | {"part": torch.Generator()}, "part refuses its state: TypeError"),
    "the last refuses": (lambda p: p | {"part": Part([2], refuses=True)}, "part refuses its state: KeyError: 'no such"),
}


@pytest.mark.parametrize("name", WRONG_PARTS)
def test_parts_that_do_not_fit_change_nothing(name: str, path: Path) -> None:
    checkpoint.save(path, **a_run(), best=1)
    parts = a_run()
    step(parts["model"], parts["optimizer"])
    make, text = WRONG_PARTS[name]
    parts = make(parts)
    torch.rand(3)
    before = state_of_everything(parts)
    with pytest.raises(CheckpointError, match=rf"(?s)\[checkpoint\] {path}: .*{text}"):
        checkpoint.load(path, **parts)
    assert same(state_of_everything(parts), before)


def test_a_part_that_refuses_all_states(path: Path) -> None:
    class Sealed(Part):
        def load_state_dict(self, state: Any) -> None:
            raise RuntimeError("no")

    checkpoint.save(path, first=Part([1]), sealed=Part([2]))
    first = Part([3])
    text = r"sealed refuses its state: RuntimeError: no; sealed refuses its former state too.*: RuntimeError: no"
    with pytest.raises(CheckpointError, match=rf"\[checkpoint\] {path}: {text}"):
        checkpoint.load(path, first=first, sealed=Sealed())
    assert first.state == [3]


def test_a_value_is_no_part(path: Path) -> None:
    checkpoint.save(path, part=Part())
    with pytest.raises(TypeError, match=r"\[checkpoint.load\] part must have state_dict and load_state_dict"):
        checkpoint.load(path, part=3)
    with pytest.raises(TypeError, match=r"\[checkpoint.load\] part must have"):
        checkpoint.load(path, part=Part)


def sealed(raw: bytes) -> bytes:
    """With the checksum that these bytes should have: what is left is what the checksum does not find."""
    place = raw.find(b'"sha256":"') + 10
    zeroed = raw[:place] + b"0" * 64 + raw[place + 64 :]
    return raw[:place] + __import__("hashlib").sha256(zeroed).hexdigest().encode() + raw[place + 64 :]


def rewritten(raw: bytes, change: Callable[[dict[str, Any]], Any], metadata: dict[str, str] | None = None) -> bytes:
    """The same file with other JSON in it."""
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    document = json.loads(header["__metadata__"]["state"])
    changed = change(document)
    header["__metadata__"]["state"] = json.dumps(document if changed is None else changed)
    header["__metadata__"] |= metadata or {}
    text = json.dumps(header, separators=(",", ":")).encode()
    text = text.replace(rb"\"%b\"" % DEEP.encode(), rb"[\"list\"," * 100_000 + b"0" + b"]" * 100_000)  # json would not
    text += b" " * (-len(text) % 8)
    return sealed(len(text).to_bytes(8, "little") + text + raw[8 + length :])


def put(*way: Any) -> Callable[[Any], None]:
    """Puts the last of these at the place that the others lead to."""

    def change(document: Any) -> None:
        for key in way[:-2]:
            document = document[key]
        document[way[-2]] = way[-1]

    return change


X = ["parts", "x", 1]
DEEP = "a list of lists of lists"
UNKNOWN = "which no save has written"
HOSTILE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no object": (lambda d: [], "is not what save has written"),
    "nothing": (lambda d: {}, "is not what save has written"),
    "no parts": (put("parts", None), "is not what save has written"),
    "a part without a kind": (put("parts", "best", 3), "is not what save has written"),
    "a part of another kind": (put("parts", "best", 0, "class"), "unknown kind"),
    "no settings": (put("settings", {"same": 1, "told": {}}), "lacks the settings"),
    "no classes": (put("classes", ["optimizer"]), "has classes of no parts"),
    "a class of no text": (put("classes", "optimizer", 1), "has optimizer of the class 1, but here it is of Adam"),
    "a float of JSON": (put("parts", "best", 1, 0.5), UNKNOWN),
    "NaN of JSON": (put("parts", "best", 1, math.nan), UNKNOWN),
    "an object": (put("parts", "best", 1, {"a": 1}), UNKNOWN),
    "an empty list": (put("parts", "best", 1, []), UNKNOWN),
    "no kind": (put("parts", "best", 1, [1, 2]), UNKNOWN),
    "an unknown kind": (put("parts", "best", 1, ["module", "os"]), UNKNOWN),
    "a short float": (put("parts", "best", 1, ["float", "00"]), UNKNOWN),
    "a float with two": (put("parts", "best", 1, ["float", "0" * 16, "0" * 16]), UNKNOWN),
    "a float of no digits": (put("parts", "best", 1, ["float", "g" * 16]), UNKNOWN),
    "a float of a number": (put("parts", "best", 1, ["float", 3]), UNKNOWN),
    "a dtype": (put("parts", "best", 1, ["dtype", "nn"]), UNKNOWN),
    "a device": (put("parts", "best", 1, ["device", "moon"]), UNKNOWN),
    "a size": (put("parts", "best", 1, ["size", "a"]), UNKNOWN),
    "a key": (put("parts", "best", 1, ["dict", [[["list"], 1]]]), UNKNOWN),
    "a pair of three": (put("parts", "best", 1, ["dict", [[1, 2, 3]]]), UNKNOWN),
    "a tensor that is not there": (put(*X, ["tensor", "/y", None]), UNKNOWN),
    "a tensor without a name": (put(*X, ["tensor", ["list"], None]), UNKNOWN),
    "a tensor that nobody has": (put(*X, None), "has tensors that no part has"),
    "no complex numbers": (put(*X, 0, "complex_tensor"), UNKNOWN),
    "strides of too few": (put(*X, 2, [1]), UNKNOWN),
    "strides that overlap": (put(*X, 2, [1, 1]), UNKNOWN),
    "strides of a terabyte": (put(*X, 2, [2**38, 1]), UNKNOWN),
    "strides below 0": (put(*X, 2, [-3, 1]), UNKNOWN),
    "strides of text": (put(*X, 2, "31"), UNKNOWN),
    "strides of floats": (put(*X, 2, [3.0, 1.0]), UNKNOWN),
    "an attribute": (put("parts", "model", 1, 2, 5), UNKNOWN),
    "depth": (put("parts", "best", 1, DEEP), "is not what save has written"),
    "generators": (put("generators", 1, 0, 0, "Perl"), "lacks the states of generators"),
    "a generator less": (lambda d: d["generators"][1].__delitem__(0), "lacks the states of generators"),
    "devices": (put("generators", 1, 3, 1, None), "lacks the states of generators"),
    "a device that is not here": (
        put("generators", 1, 3, 1, ["dict", [["cuda", ["list", 1]]]]),
        "has the states of 1 generators on cuda, but this process uses 0",
    ),
    "Python's": (put("generators", 1, 0, 1, ["tuple", 3, ["tuple", 1, 2], None]), "a state of Python's generator"),
    "Python's place": (put("generators", 1, 0, 1, 2, -1, 625), "a state of Python's generator"),
    "NumPy's": (put("generators", 1, 1, 1, 1, 0, 1, "PCG64"), "a state of NumPy's generator"),
    "NumPy's place": (put("generators", 1, 1, 1, 1, 1, 1, 1, 1, 1, 10**9), "a state of NumPy's generator"),
    "torch's": (put("generators", 1, 2, 1, None), "a state of torch's generator|tensors that no part has"),
    "another arithmetic": (
        put("settings", "same", "arithmetic version", 2),
        "arithmetic version 2, but .* has 1; go on",
    ),
    "another order": (put("settings", "same", "order", "sequential"), "order 'sequential', but .* 'blocked'; call"),
    "enabled": (put("settings", "same", "repdl.enable", True), "repdl.enable True, but this process has False; call"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_with_a_good_checksum_changes_nothing(name: str, path: Path) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    checkpoint.save(path, **a_run(), best=1, x=x)
    change, text = HOSTILE[name]
    path.write_bytes(rewritten(path.read_bytes(), change))
    parts = a_run()
    before = state_of_everything(parts)
    with pytest.raises(CheckpointError, match=rf"\[checkpoint\] {path}: it .*({text})"):
        checkpoint.load(path, **parts)
    assert same(state_of_everything(parts), before)


def test_a_file_from_before_classes_were_kept_is_read(path: Path) -> None:
    checkpoint.save(path, **a_run())
    path.write_bytes(rewritten(path.read_bytes(), lambda d: {k: v for k, v in d.items() if k != "classes"}))
    checkpoint.load(path, **a_run())


def test_a_scheduler_of_another_class_is_named(path: Path) -> None:
    lr_scheduler, optimizer = torch.optim.lr_scheduler, a_run()["optimizer"]
    checkpoint.save(path, scheduler=lr_scheduler.StepLR(optimizer, 2))
    with pytest.raises(CheckpointError, match="it has scheduler of the class StepLR, but here it is of ExponentialLR"):
        checkpoint.load(path, scheduler=lr_scheduler.ExponentialLR(optimizer, 0.5))


def test_rewriting_alone_breaks_nothing(path: Path) -> None:
    checkpoint.save(path, x=torch.ones(2), best=1)
    path.write_bytes(rewritten(path.read_bytes(), lambda document: None))
    assert checkpoint.load(path)["best"] == 1


def test_every_byte_and_every_cut_is_noticed(path: Path) -> None:
    checkpoint.save(path, x=torch.rand(3), best=1.5)
    whole = path.read_bytes()
    choose = random.Random(3)
    header = 8 + int.from_bytes(whole[:8], "little")
    places = {*range(12), header - 1, header, len(whole) - 1, *choose.sample(range(len(whole)), 150)}
    for place in places:
        for bit in (1, 128):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            with pytest.raises(CheckpointError, match=r"it is damaged|it is no"):
                checkpoint.read(path)
    for length in {0, 1, 7, 8, 9, header, len(whole) - 1, *choose.sample(range(len(whole)), 40)}:
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match=r"it is damaged|it is no"):
            checkpoint.read(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(CheckpointError, match=r"it is damaged: its bytes have the SHA-256 .*, but it says"):
        checkpoint.read(path)
    path.write_bytes(sealed(whole + b"\0"))
    with pytest.raises(CheckpointError, match="it is no safetensors file"):
        checkpoint.read(path)


class Bomb:
    def __reduce__(self) -> Any:
        return (os.mkdir, ("exploded",))


def test_foreign_files(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for raw in (b"", b"text\n" * 99, pickle.dumps(Bomb()), b"\xff" * 200, b"\0" * 200, b"PK\3\4" + b"\0" * 99):
        path.write_bytes(raw)
        with pytest.raises(CheckpointError, match="it is no safetensors file"):
            checkpoint.load(path)
    torch.save({"x": Bomb()}, path)
    with pytest.raises(CheckpointError, match="it is no safetensors file"):
        checkpoint.load(path)
    save_file({"x": torch.ones(2)}, path)
    with pytest.raises(CheckpointError, match="it is no checkpoint of repdl: it has no checksum"):
        checkpoint.load(path)
    save_file({"x": torch.ones(2)}, path, {"sha256": "0" * 64})
    path.write_bytes(sealed(path.read_bytes()))
    with pytest.raises(CheckpointError, match="it has format None, and this version of repdl reads '1'"):
        checkpoint.load(path)
    checkpoint.save(path)
    path.write_bytes(rewritten(path.read_bytes(), lambda d: None, {"repdl.checkpoint": "2"}))
    with pytest.raises(CheckpointError, match="it has format '2', and this version"):
        checkpoint.load(path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CheckpointError, match="it is a pipe, not a file"):
        checkpoint.load(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe is a device or a pipe"):
        checkpoint.save(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()
    for other, error in ((tmp_path, IsADirectoryError), (tmp_path / "none", FileNotFoundError)):
        with pytest.raises(error):
            checkpoint.load(other)
    assert not (tmp_path / "exploded").exists()


def test_where_no_checkpoint_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of the system, with the path that the program gave, and nothing is left behind."""
    for place, text in ((tmp_path, "it is a folder"), (tmp_path / "none" / "run.ckpt", "there is no such folder")):
        with pytest.raises(OSError, match=text) as caught:
            checkpoint.save(place, x=torch.ones(3))
        assert caught.value.filename in (str(tmp_path), str(tmp_path / "none"))

    def full(*_: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        checkpoint.save(tmp_path / "run.ckpt", x=torch.ones(3))
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "run.ckpt"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("times", [1, 3, 100])
def test_a_file_that_is_replaced_while_it_is_read(path: Path, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    checkpoint.save(path, x=0)
    checksum = checkpoint_file._checksum
    replaced = 0

    def replacing(file: Any) -> Any:
        nonlocal replaced
        found = checksum(file)
        if file.mode == "rb" and replaced < times:  # not the one that is written
            replaced += 1
            checkpoint.save(path, x=replaced)
        return found

    monkeypatch.setattr(checkpoint_file, "_checksum", replacing)
    if times < checkpoint_file._ATTEMPTS:
        assert checkpoint.read(path) == {"x": times}
    else:
        with pytest.raises(CheckpointError, match="it was replaced while it was read, 20 times"):
            checkpoint.read(path)


def test_settings_of_this_process(path: Path) -> None:
    with repdl.reproducible(), repdl.order("sequential"):
        checkpoint.save(path, x=1)
        assert checkpoint.load(path) == {"x": 1}
    with (
        repdl.reproducible(),
        pytest.raises(CheckpointError, match="order 'sequential', but this process has 'blocked'"),
    ):
        checkpoint.load(path)
    with repdl.order("sequential"):
        with pytest.raises(CheckpointError, match=r"with repdl.enable True, but this process has False"):
            checkpoint.load(path)
        with repdl.reproducible(rng="torch"), pytest.raises(CheckpointError, match="with rng 'philox', but"):
            checkpoint.load(path)
    assert checkpoint.read(path) == {"x": 1}


def test_other_versions_are_told(path: Path) -> None:
    checkpoint.save(path, part=Part([1]))
    path.write_bytes(rewritten(path.read_bytes(), put("settings", "told", "torch", "1.0")))
    part = Part([2])
    with pytest.raises(checkpoint.VersionWarning, match=rf"written with torch 1.0 \(here {torch.__version__[:4]}"):
        checkpoint.load(path, part=part)  # warnings are errors here, and come before any change
    assert part.state == [2]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checkpoint.load(path, part=part)
    assert part.state == [1] and [w.filename for w in caught] == [__file__]


def test_threads_of_stock_torch_are_told_and_ours_are_not(path: Path) -> None:
    threads = torch.get_num_threads()
    try:
        checkpoint.save(path)
        torch.set_num_threads(threads + 1)
        with pytest.warns(checkpoint.VersionWarning, match=f"torch's threads {threads} .here {threads + 1}"):
            checkpoint.load(path)
        with repdl.reproducible():
            checkpoint.save(path)
            torch.set_num_threads(threads)
            checkpoint.load(path)
    finally:
        torch.set_num_threads(threads)


class Device:
    """What torch has for a kind of device, of which this machine has none; its generators are on the CPU."""

    def __init__(self, count: int) -> None:
        self.generators = [torch.Generator() for _ in range(count)]

    def is_available(self) -> bool:
        return True

    is_initialized = is_available

    def device_count(self) -> int:
        return len(self.generators)

    def get_rng_state(self, index: int) -> torch.Tensor:
        return self.generators[index].get_state()

    def set_rng_state(self, state: torch.Tensor, index: int) -> None:
        self.generators[index].set_state(state)


def test_generators_of_devices(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    devices = Device(3)
    generator = torch.Generator
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch, "get_device_module", lambda device: devices)
    for seed, each in enumerate(devices.generators):
        each.manual_seed(seed)
    with monkeypatch.context() as patch:
        patch.setattr(torch, "Generator", lambda device=None: generator())
        patch.setattr("repdl.checkpoint.parts._access", lambda part: None)
        checkpoint.save(path)
        expected = [torch.rand(2, generator=each).tolist() for each in devices.generators]
        checkpoint.load(path)
        assert [torch.rand(2, generator=each).tolist() for each in devices.generators] == expected
        devices.generators.pop()
        with pytest.raises(CheckpointError, match="states of 3 generators on cuda, but this process uses 2"):
            checkpoint.load(path)


def test_without_safetensors_the_error_names_the_extra() -> None:
    program = (
        "import sys; sys.modules['safetensors'] = None; import repdl\n"
        "try: repdl.checkpoint.save\nexcept ModuleNotFoundError as error: print(error)"
    )
    assert "safetensors, which is not installed: pip install 'repdl[checkpoint]'" in run_python(program)


def test_settings_name_a_remedy_for_each() -> None:
    assert settings.here()["same"].keys() == settings._REMEDIES.keys()
