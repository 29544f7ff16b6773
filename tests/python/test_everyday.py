# SPDX-License-Identifier: MIT
"""What programs do around their models, under `repdl.enable()` in strict mode: none of it may raise."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import prune
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler, random_split

import repdl
from complex_places import at_places
from support import same_bits


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    repdl.enable(rng="torch")
    yield
    repdl.disable()


ACTIONS: dict[str, Callable[[], Any]] = {}


def action(function: Callable[[], Any]) -> Callable[[], Any]:
    ACTIONS[function.__name__] = function
    return function


@pytest.mark.parametrize("name", ACTIONS)
def test_runs(name: str) -> None:
    ACTIONS[name]()


def model() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.linspace(-1, 1, 24).reshape(6, 4), torch.arange(6) % 3


@action
def show() -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool, torch.complex64):
        assert str(torch.tensor([0.5, 1e-7, 3e8]).to(dtype))
    assert "Linear" in repr(model())
    assert f"{torch.tensor(0.25):.2f}" == "0.25"
    assert str(torch.randn(2000))


@action
def read() -> None:
    x = torch.arange(3.0)
    assert x.tolist() == [0, 1, 2] and x[1].item() == 1 and float(x.sum()) == 3 and x.numpy().shape == (3,)
    assert bool((x > -1).all()) and len(x) == 3 and int(x.argmax()) == 2 and [float(v) for v in x] == [0, 1, 2]


@action
def load_data() -> None:
    data = TensorDataset(torch.arange(12.0), torch.arange(12))
    for workers in (0, 2):
        for shuffle in (False, True):
            seen = [y for _, y in DataLoader(data, 5, shuffle=shuffle, num_workers=workers)]
            assert torch.cat(seen).sort()[0].tolist() == list(range(12))
    train, rest = random_split(data, [8, 4])
    assert len(train) == 8 and len(rest) == 4
    assert len(random_split(data, [0.5, 0.5])) == 2
    assert len(list(WeightedRandomSampler([1.0] * 4, 3))) == 3


@action
def measure_accuracy() -> None:
    x, y = batch()
    scores = model()(x)
    assert 0 <= (scores.argmax(1) == y).float().mean().item() <= 1
    assert (scores.argmax(1) == y).sum().item() <= 6
    assert scores.topk(2).indices.eq(y[:, None]).any(1).float().mean() <= 1
    assert F.one_hot(y, 3).sum() == 6 and torch.bincount(y).tolist() == [2, 2, 2]
    assert torch.allclose(scores, scores) and torch.isclose(scores, scores).all()
    assert torch.unique(y).tolist() == [0, 1, 2]
    confusion = torch.zeros(3, 3, dtype=torch.int64)
    confusion.index_put_((y, scores.argmax(1)), torch.tensor(1), accumulate=True)
    assert confusion.sum() == 6
    assert torch.histc(scores.detach(), 4).sum() == 18
    assert scores.detach().quantile(torch.tensor([0.1, 0.5])).shape == (2,)


@action
def make_grids() -> None:
    a, b = torch.meshgrid(torch.linspace(0, 1, 3), torch.linspace(0, 1, 4), indexing="ij")
    assert a.shape == b.shape == (3, 4)
    assert torch.arange(0, 1, 0.1).shape == (10,)
    assert torch.eye(3).tril().sum() == 3


@action
def save_and_load() -> None:
    net = model()
    optimizer = torch.optim.AdamW(net.parameters())
    net(batch()[0]).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    state = torch.load(file)
    other = model()
    other.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    for a, b in zip(net.parameters(), copy.deepcopy(other).parameters(), strict=True):
        assert torch.equal(a, b)
    assert torch.equal(pickle.loads(pickle.dumps(net[0].weight)), net[0].weight)


@action
def schedule() -> None:
    parameter = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([parameter], 0.1, momentum=0.9)
    S = torch.optim.lr_scheduler
    schedulers = [
        S.StepLR(optimizer, 2),
        S.CosineAnnealingLR(optimizer, 10),
        S.LinearLR(optimizer),
        S.ExponentialLR(optimizer, 0.9),
        S.OneCycleLR(optimizer, 0.1, 20),
        S.ReduceLROnPlateau(optimizer),
        S.LambdaLR(optimizer, lambda step: 1 / (step + 1)),
        S.CosineAnnealingWarmRestarts(optimizer, 3),
        S.CyclicLR(optimizer, 0.01, 0.1),
        S.PolynomialLR(optimizer, 10),
    ]
    for _ in range(3):
        optimizer.zero_grad()
        parameter.square().sum().backward()
        optimizer.step()
        for scheduler in schedulers:
            scheduler.step(*([1.0] if isinstance(scheduler, S.ReduceLROnPlateau) else []))


@action
def average_models() -> None:
    net = model()
    for average in (
        torch.optim.swa_utils.AveragedModel(net),
        torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)),
    ):
        for _ in range(3):
            average.update_parameters(net)
    torch.optim.swa_utils.update_bn([batch()[0]], nn.Sequential(nn.BatchNorm1d(4)))


@action
def scale_gradients() -> None:
    net, (x, y) = model(), batch()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=1)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        assert nn.utils.clip_grad_norm_(net.parameters(), 1.0) > 0
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 4096


@action
def clip() -> None:
    for foreach in (None, True, False):
        net = model()
        net(batch()[0]).square().sum().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.1, foreach=foreach)
        nn.utils.clip_grad_norm_(net.parameters(), 0.1, norm_type=float("inf"), foreach=foreach)
        nn.utils.clip_grad_value_(net.parameters(), 0.01, foreach=foreach)
        assert nn.utils.get_total_norm([p.grad for p in net.parameters()]) <= 0.11
    flat = nn.utils.parameters_to_vector(net.parameters())
    nn.utils.vector_to_parameters(flat, net.parameters())


@action
def initialise() -> None:
    init = nn.init
    for function in (
        init.uniform_, init.normal_, init.ones_, init.zeros_, init.eye_, init.xavier_uniform_, init.xavier_normal_,
        init.kaiming_uniform_, init.kaiming_normal_, init.trunc_normal_, lambda w: init.constant_(w, 0.3),
        lambda w: init.sparse_(w, 0.1), lambda w: init.dirac_(w[:, :, None]), init.orthogonal_,
    ):  # fmt: skip
        assert function(torch.empty(6, 5)).isfinite().all()


@action
def pad_and_resize() -> None:
    x = torch.randn(1, 4, 5, 6)
    for mode in ("constant", "reflect", "replicate", "circular"):
        assert F.pad(x, (1, 1, 1, 1), mode=mode).shape == (1, 4, 7, 8)
    assert F.interpolate(x, scale_factor=2).shape == (1, 4, 10, 12)
    assert F.pixel_shuffle(x, 2).shape == (1, 1, 10, 12)


@action
def recompute() -> None:
    def grads(run: Callable[..., torch.Tensor]) -> list[torch.Tensor]:
        net = nn.Sequential(model(), nn.Dropout(0.5))
        torch.manual_seed(2)
        run(net, batch()[0].requires_grad_()).square().sum().backward()
        return [p.grad for p in net.parameters() if p.grad is not None]

    plain = grads(lambda net, x: net(x))
    for reentrant in (False, True):
        again = grads(lambda net, x, reentrant=reentrant: checkpoint(net, x, use_reentrant=reentrant))
        assert all(torch.equal(a, b) for a, b in zip(plain, again, strict=True))


@action
def transform() -> None:
    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    net = model()

    def loss(row: torch.Tensor) -> torch.Tensor:
        return net(row).square().sum()

    one = torch.func.grad(loss)
    each = torch.func.vmap(one)(x)
    for row, grad in zip(x, each, strict=True):
        assert torch.allclose(one(row), grad, atol=1e-6)
    assert torch.func.jacrev(lambda v: v.exp())(x[0]).shape == (4, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch's own use of torch.jit
        assert torch.func.jacfwd(lambda v: v.sin())(x[0]).shape == (4, 4)
        assert torch.func.hessian(lambda v: v.square().sum())(x[0]).shape == (4, 4)
    assert torch.equal(torch.func.vmap(torch.exp)(x), x.exp())
    assert torch.equal(torch.func.vmap(torch.dot)(x, x), torch.stack([torch.dot(r, r) for r in x]))


@action
def trace() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that torch.jit is old
        for layer, shape in (
            (nn.Conv2d(2, 4, 3), (2, 2, 6, 6)),
            (nn.ConvTranspose1d(2, 3, 2), (2, 2, 6)),
            (model(), (5, 4)),
        ):
            traced = torch.jit.trace(layer, torch.zeros(shape))
            file = io.BytesIO()
            torch.jit.save(traced, file)
            file.seek(0)
            x = torch.randn(shape, requires_grad=True)
            results = [run(x) for run in (layer, traced, torch.jit.load(file), torch.jit.script(layer))]
            grads = [torch.autograd.grad(y.square().sum(), x)[0] for y in results]
            for y, grad in zip(results, grads, strict=True):
                assert torch.equal(y, results[0]) and torch.equal(grad, grads[0])


@action
def cast_automatically() -> None:
    net, (x, y) = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten()), batch()
    image = x.reshape(6, 1, 2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(net(image), y)
    loss.backward()
    assert loss.dtype == torch.float32 and all(p.grad.dtype == torch.float32 for p in net.parameters())


@action
def contract_all_dimensions_under_autocast() -> None:
    """What leaves nothing is not cast, as torch does not cast it."""
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    expected = torch.tensordot(x, y, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(torch.tensordot(x, y, ([0, 1], [0, 1])), expected)
        assert torch.inner(x[0], y[0]).dtype == torch.tensordot(x[0, 0], y[0, 0], 0).dtype == torch.float32
        assert torch.tensordot(x, y, ([0], [0])).dtype == torch.inner(x, y).dtype == torch.bfloat16


@action
def contract_single_numbers() -> None:
    x = torch.randn(2, 3, requires_grad=True)
    product = torch.tensordot(x[0, 0], x[1, 2], 0)
    assert product.shape == () and torch.equal(product, x[0, 0] * x[1, 2])
    product.backward()
    assert torch.equal(x.grad[0, 0], x[1, 2].detach())
    assert torch.equal(torch.tensordot(x[0, 0], x, 0), x[0, 0] * x)


@action
def hold_rows_of_an_embedding_by_int32() -> None:
    weight, rows = torch.randn(9, 4), torch.tensor([[3, 7], [3, 0]])
    by_int64, by_int32 = (F.embedding(rows.to(t), weight.clone(), max_norm=0.5) for t in (torch.int64, torch.int32))
    assert torch.equal(by_int64, by_int32) and by_int64.norm(dim=-1).max() < 0.51


@action
def find_anomalies() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is slow
        detect = torch.autograd.detect_anomaly(check_nan=True)
    with detect:
        model()(batch()[0]).sum().backward()


@action
def prune_and_normalise() -> None:
    net = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    net(batch()[0]).sum().backward()
    prune.l1_unstructured(nn.Linear(4, 3), "weight", 0.5)


@action
def pretend_to_quantise() -> None:
    x = torch.randn(20, requires_grad=True)
    y = torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -8, 7)
    y.sum().backward()
    assert torch.equal(y, (x / 0.1).round().clamp(-8, 7) * 0.1) and x.grad.min() == 0 and x.grad.max() == 1


@action
@pytest.mark.filterwarnings("ignore:.*nested")
def reduce_jagged_rows() -> None:
    rows = [torch.randn(n, 4, requires_grad=True) for n in (3, 7, 5)]
    jagged = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
    padded = torch.nested.to_padded_tensor(jagged, 0.0)
    assert padded.shape == (3, 7, 4) and torch.equal(padded[0, :3], rows[0])
    assert torch.allclose(jagged.mean(1), torch.stack([row.mean(0) for row in rows]), atol=1e-6)
    assert jagged.softmax(1).values().sum() > 0
    padded.square().sum().backward()
    assert all(torch.equal(row.grad, 2 * row) for row in rows)


@action
def seed() -> None:
    state = torch.get_rng_state()
    a = torch.rand(3)
    torch.set_rng_state(state)
    assert torch.equal(a, torch.rand(3))
    with torch.random.fork_rng():
        torch.rand(3)
    assert torch.randperm(5).sort()[0].tolist() == [0, 1, 2, 3, 4]


@action
def run_layers() -> None:
    torch.manual_seed(0)
    x = torch.randn(5, 2, 8)
    for layer in (nn.LSTM(8, 8), nn.GRU(8, 8), nn.RNN(8, 8), nn.LSTM(8, 8, 2, bidirectional=True, dropout=0.1)):
        layer(x)[0].square().sum().backward()
    for layer in (nn.TransformerEncoderLayer(8, 2, 16), nn.TransformerEncoderLayer(8, 2, 16).eval()):
        layer(x).square().sum().backward()
    nn.TransformerDecoderLayer(8, 2, 16)(x, x).sum().backward()
    nn.MultiheadAttention(8, 2)(x, x, x)[0].sum().backward()
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]))
    output, _ = nn.utils.rnn.pad_packed_sequence(nn.GRU(8, 8)(packed)[0])
    output.sum().backward()


@action
def use_distributions() -> None:
    d = torch.distributions
    for distribution in (
        d.Uniform(torch.zeros(3), torch.ones(3)), d.Bernoulli(torch.full((3,), 0.3)),
        d.Laplace(torch.zeros(3), torch.ones(3)), d.Normal(torch.zeros(3), torch.ones(3)), d.Exponential(torch.ones(3)),
    ):  # fmt: skip
        assert distribution.log_prob(distribution.sample()).isfinite().all()
        assert distribution.entropy().isfinite().all()
    categorical = d.Categorical(logits=torch.zeros(3))
    assert categorical.entropy() > 1 and categorical.log_prob(torch.tensor(1)) < 0
    assert d.kl_divergence(d.Normal(0.0, 1.0), d.Normal(1.0, 1.0)) == 0.5


@action
def decompose() -> None:
    """Whitening, Procrustes' problem, steps of Shampoo and Muon, adapters begun by SVD, low ranks."""
    linalg = torch.linalg
    torch.manual_seed(3)
    x = torch.randn(80, 5) @ torch.randn(5, 5)
    values, vectors = linalg.eigh(torch.cov(x.T))
    white = (x - x.mean(0)) @ vectors * values.rsqrt()
    assert torch.allclose(torch.cov(white.T), torch.eye(5), atol=1e-3)
    turn = linalg.qr(torch.randn(5, 5))[0]
    u, _, vh = linalg.svd((x @ turn).T @ x)
    assert torch.allclose((u @ vh).T, turn, atol=1e-4)
    w = torch.randn(6, 4)
    u, s, vh = linalg.svd(w, full_matrices=False)
    down, up = u[:, :2] * s[:2].sqrt(), s[:2].sqrt()[:, None] * vh[:2]
    assert abs(linalg.matrix_norm(w - down @ up, 2) - s[2]) < 1e-5
    values, vectors = linalg.eigh(w.T @ w + 1e-3 * torch.eye(4))
    assert (w @ (vectors * values**-0.25) @ vectors.T).isfinite().all()
    near = w / linalg.matrix_norm(w, 2)
    for _ in range(30):
        near = 1.5 * near - 0.5 * near @ near.T @ near
    assert torch.allclose(near, u @ vh, atol=1e-4)
    assert linalg.matrix_rank(down @ up) == 2 and linalg.cond(w) >= 1 and torch.corrcoef(x.T).diagonal().sum() == 5
    assert torch.pca_lowrank(x, 3)[1].shape == (3,) and torch.svd_lowrank(x, 3)[1].shape == (3,)
    assert torch.allclose(linalg.lstsq(x, x @ turn).solution, turn, atol=1e-4)


@action
def keep_weights_orthogonal() -> None:
    p = nn.utils.parametrizations
    x = batch()[0]
    p.spectral_norm(nn.Linear(4, 3))(x).sum().backward()
    for way in ("matrix_exp", "cayley", "householder"):
        p.orthogonal(nn.Linear(4, 4), orthogonal_map=way)(x).sum().backward()


@action
def fit_directions() -> None:
    d = torch.distributions
    place, spread = torch.tensor(0.3, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.Adam([place, spread], 0.1)
    x = d.VonMises(1.0, 4.0).sample((50,))
    for _ in range(3):
        optimizer.zero_grad()
        d.VonMises(place, spread).log_prob(x).mean().neg().backward()
        optimizer.step()
    assert 0 < d.Gamma(2.0, spread).cdf(torch.tensor(0.7)) < 1 and 0 < d.Chi2(3.0).cdf(torch.tensor(2.0)) < 1


REFUSED: dict[str, Callable[[], Any]] = {
    "products of complex matrices at places": at_places,
}
"""What has no reproducible kernel yet, and so must raise."""


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(repdl.NotReproducibleError):
        REFUSED[name]()


OPTIMIZERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "SGD": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01, "dampening": 0.1}),
    "SGD nesterov": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    "SGD plain": (torch.optim.SGD, {"lr": 0.1}),
    "Adam": (torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.1}),
    "Adam amsgrad": (torch.optim.Adam, {"lr": 0.01, "amsgrad": True, "maximize": True}),
    "AdamW": (torch.optim.AdamW, {"lr": 0.01}),
    "AdamW amsgrad": (torch.optim.AdamW, {"lr": 0.01, "amsgrad": True}),
    "Adagrad": (torch.optim.Adagrad, {"lr": 0.1, "weight_decay": 0.1, "lr_decay": 0.1}),
    "RMSprop": (torch.optim.RMSprop, {"momentum": 0.9, "centered": True}),
    "Adadelta": (torch.optim.Adadelta, {}),
    "Adamax": (torch.optim.Adamax, {"weight_decay": 0.1}),
    "NAdam": (torch.optim.NAdam, {"weight_decay": 0.1}),
    "RAdam": (torch.optim.RAdam, {"weight_decay": 0.1}),
    "ASGD": (torch.optim.ASGD, {"weight_decay": 0.1}),
    "Rprop": (torch.optim.Rprop, {}),
    "Adafactor": (torch.optim.Adafactor, {}),
    "Muon": (torch.optim.Muon, {}),
    "LBFGS": (torch.optim.LBFGS, {"lr": 0.1, "max_iter": 4}),
    "LBFGS line search": (torch.optim.LBFGS, {"line_search_fn": "strong_wolfe", "max_iter": 4}),
}
_ALL: list[dict[str, bool]] = [{}, {"foreach": False}, {"foreach": True}, {"fused": True}]
FORMS: dict[str, list[dict[str, bool]]] = {
    "SGD": _ALL,
    "Adam": _ALL,
    "AdamW": _ALL,
    "Adagrad": _ALL,
    "LBFGS": [{}],
    "Muon": [{}],
}
OTHER_FORMULA = {"ASGD", "NAdam", "RAdam"}
"""Optimizers whose foreach form torch writes in other steps, which round otherwise."""


def trained(name: str, **form: bool) -> list[torch.Tensor]:
    make, settings = OPTIMIZERS[name]
    torch.manual_seed(4)
    shapes = [(7, 5), (3, 4)] if name == "Muon" else [(7, 5), (11,), ()]
    parameters = [nn.Parameter(torch.randn(shape)) for shape in shapes]
    aims = [torch.randn(shape) for shape in shapes]
    optimizer = make(parameters, **settings, **form)

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        total = sum((p - a).square().sum() for p, a in zip(parameters, aims, strict=True))
        total.backward()
        return total

    for _ in range(4):
        optimizer.step(loss)
    return [p.detach() for p in parameters]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_forms_of_an_optimizer_agree(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forms = [trained(name, **form) for form in FORMS.get(name.split()[0], [{}, {"foreach": True}])]
    for form in forms if name not in OTHER_FORMULA else ():
        assert all(same_bits(a, b) for a, b in zip(forms[0], form, strict=True))
    repdl.disable()
    try:
        stock = trained(name)
    finally:
        repdl.enable(rng="torch")
    for form in forms:
        for ours, torchs in zip(form, stock, strict=True):
            assert torch.allclose(ours, torchs, rtol=1e-4, atol=1e-5)


def test_every_optimizer_has_a_case() -> None:
    named = {
        name
        for name, value in vars(torch.optim).items()
        if isinstance(value, type) and issubclass(value, torch.optim.Optimizer) and value is not torch.optim.Optimizer
    }
    assert named - {"SparseAdam"} == {name.split()[0] for name in OPTIMIZERS}
