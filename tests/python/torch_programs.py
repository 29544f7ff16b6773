# SPDX-License-Identifier: MIT
"""Small training programs of stock torch, and the digests of what they end with; for test_torch_versions.

    python tests/python/torch_programs.py [--write]    # prints the digests; with --write, into torch_programs.json

The file holds for every version of torch, every CPU target and every number of threads.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn, optim

import repdl

GOLDEN = Path(__file__).with_suffix(".json")
STEPS = 3

Program = Callable[[], Iterable[torch.Tensor]]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def fit(
    model: nn.Module,
    loss_of: Callable[[], torch.Tensor],
    optimizer: optim.Optimizer | None = None,
    clip: float | None = None,
) -> list[torch.Tensor]:
    """Trains for a few steps; gives the losses, the last gradients, the parameters and the buffers."""
    optimizer = optimizer or optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        if clip is not None:
            losses.append(nn.utils.clip_grad_norm_(model.parameters(), clip))
        optimizer.step()
        losses.append(loss.detach())
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    return [*losses, *gradients, *model.parameters(), *model.buffers()]


def labels(count: int, classes: int) -> torch.Tensor:
    return torch.randint(classes, (count,))


@program
def perceptron_of_relu_with_momentum() -> Iterable[torch.Tensor]:
    model = nn.Sequential(nn.Linear(20, 33), nn.ReLU(), nn.Linear(33, 4))
    x, y = torch.randn(17, 20), torch.randn(17, 4)
    sgd = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3)
    return fit(model, lambda: F.mse_loss(model(x), y), sgd)


@program
def perceptron_of_gelu_with_smoothed_labels() -> Iterable[torch.Tensor]:
    model = nn.Sequential(nn.Linear(20, 32), nn.GELU(), nn.LayerNorm(32), nn.Dropout(0.2), nn.Linear(32, 10))
    x, y = torch.randn(19, 20), labels(19, 10)
    return fit(model, lambda: F.cross_entropy(model(x), y, label_smoothing=0.1), clip=1.0)


@program
def convolutions_with_batch_norm() -> Iterable[torch.Tensor]:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3, stride=2),
        nn.BatchNorm2d(12), nn.ELU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(48, 5), nn.LogSoftmax(1),
    )  # fmt: skip
    x, y = torch.randn(6, 3, 12, 12), labels(6, 5)
    return fit(model, lambda: F.nll_loss(model(x), y), optim.Adam(model.parameters(), lr=1e-2, amsgrad=True))


@program
def convolutions_of_a_line() -> Iterable[torch.Tensor]:
    model = nn.Sequential(nn.Conv1d(4, 12, 5, dilation=2), nn.GroupNorm(3, 12), nn.SiLU(), nn.Conv1d(12, 4, 3))
    x, y = torch.randn(5, 4, 40), torch.randn(5, 4, 30)
    rmsprop = optim.RMSprop(model.parameters(), lr=1e-3, centered=True, momentum=0.5)
    return fit(model, lambda: F.smooth_l1_loss(model(x), y), rmsprop)


@program
def convolutions_of_a_volume() -> Iterable[torch.Tensor]:
    model = nn.Sequential(nn.Conv3d(2, 6, 3), nn.InstanceNorm3d(6, affine=True), nn.Mish(), nn.AvgPool3d(2))
    x, y = torch.randn(3, 2, 8, 8, 8), torch.randn(3, 6, 3, 3, 3)
    return fit(model, lambda: F.huber_loss(model(x), y, delta=0.7), optim.Adagrad(model.parameters(), lr=0.05))


@program
def transposed_convolutions() -> Iterable[torch.Tensor]:
    model = nn.Sequential(nn.ConvTranspose2d(6, 4, 4, 2, 1), nn.LeakyReLU(0.1), nn.ConvTranspose2d(4, 1, 3))
    x, y = torch.randn(4, 6, 5, 5), torch.rand(4, 1, 12, 12).round()
    adadelta = optim.Adadelta(model.parameters(), lr=0.5)
    return fit(model, lambda: F.binary_cross_entropy_with_logits(model(x), y), adadelta)


@program
def depthwise_convolutions_in_channels_last() -> Iterable[torch.Tensor]:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 1), nn.BatchNorm2d(8), nn.Hardswish(), nn.Conv2d(8, 8, 3, groups=8, padding=1), nn.ReLU6(),
        nn.Conv2d(8, 6, 1), nn.AdaptiveMaxPool2d(1), nn.Flatten(),
    ).to(memory_format=torch.channels_last)  # fmt: skip
    x, y = torch.randn(5, 3, 9, 9).to(memory_format=torch.channels_last), labels(5, 6)
    return fit(model, lambda: F.cross_entropy(model(x), y), optim.NAdam(model.parameters(), lr=1e-2))


@program
def residual_blocks() -> Iterable[torch.Tensor]:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
            self.norms = nn.ModuleList(nn.BatchNorm2d(8) for _ in range(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            inner = F.relu(self.norms[0](self.first(x)))
            return F.relu(x + self.norms[1](self.second(inner)))

    model = nn.Sequential(nn.Conv2d(3, 8, 3), Block(), Block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 7))
    x, y = torch.randn(4, 3, 10, 10), labels(4, 7)
    return fit(model, lambda: F.cross_entropy(model(x), y, weight=torch.arange(1.0, 8.0)), clip=0.5)


@program
def lstm_of_two_directions() -> Iterable[torch.Tensor]:
    layers, head = nn.LSTM(8, 12, 2, dropout=0.1, bidirectional=True, batch_first=True), nn.Linear(24, 5)
    x, y = torch.randn(4, 9, 8), labels(36, 5)
    model = nn.ModuleList([layers, head])
    return fit(model, lambda: F.cross_entropy(head(layers(x)[0]).flatten(0, 1), y), optim.Adam(model.parameters()))


@program
def gru_and_a_projected_lstm() -> Iterable[torch.Tensor]:
    model = nn.ModuleList([nn.GRU(6, 10), nn.LSTM(10, 12, proj_size=5)])
    x, y = torch.randn(7, 3, 6), torch.randn(7, 3, 5)
    radam = optim.RAdam(model.parameters(), lr=1e-2)
    return fit(model, lambda: F.mse_loss(model[1](model[0](x)[0])[0], y), radam)


@program
def recurrent_net_of_packed_sequences() -> Iterable[torch.Tensor]:
    model = nn.RNN(5, 8, nonlinearity="tanh", batch_first=True)
    x = torch.randn(4, 10, 5)
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([10, 7, 7, 2]), batch_first=True)
    return fit(model, lambda: model(packed)[0].data.square().mean(), optim.SGD(model.parameters(), lr=0.1))


@program
def cells_one_by_one() -> Iterable[torch.Tensor]:
    model = nn.ModuleList([nn.LSTMCell(4, 6), nn.GRUCell(6, 6), nn.RNNCell(6, 2, nonlinearity="relu")])
    x, y = torch.randn(5, 3, 4), torch.randn(3, 2)

    def loss() -> torch.Tensor:
        state, hidden, last = (torch.zeros(3, 6), torch.zeros(3, 6)), torch.zeros(3, 6), torch.zeros(3, 2)
        for step in x:
            state = model[0](step, state)
            hidden = model[1](state[0], hidden)
            last = model[2](hidden, last)
        return F.gaussian_nll_loss(last, y, last.square() + 0.1)

    return fit(model, loss)


@program
def transformer_encoder() -> Iterable[torch.Tensor]:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu", norm_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    x, hidden = torch.randn(3, 8, 16), torch.arange(8)[None] >= torch.tensor([8, 5, 6])[:, None]
    adamw = optim.AdamW(model.parameters(), lr=1e-2, foreach=True)
    return fit(model, lambda: model(x, src_key_padding_mask=hidden).square().mean(), adamw, clip=1.0)


@program
def transformer_with_a_decoder() -> Iterable[torch.Tensor]:
    model = nn.Transformer(16, 2, 1, 1, 24, dropout=0.1, batch_first=True)
    source, target = torch.randn(2, 7, 16), torch.randn(2, 5, 16)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    adam = optim.Adam(model.parameters(), lr=1e-2, fused=True)
    return fit(model, lambda: F.l1_loss(model(source, target, tgt_mask=mask), target), adam)


@program
def attention_with_its_weights() -> Iterable[torch.Tensor]:
    model = nn.MultiheadAttention(12, 3, dropout=0.1, kdim=10, vdim=9, batch_first=True, add_bias_kv=True)
    q, k, v = torch.randn(2, 6, 12), torch.randn(2, 7, 10), torch.randn(2, 7, 9)

    def loss() -> torch.Tensor:
        outputs, weights = model(q, k, v, average_attn_weights=False)
        return outputs.square().mean() + weights.square().sum()

    return fit(model, loss)


@program
def causal_language_model() -> Iterable[torch.Tensor]:
    embedding, norms = nn.Embedding(31, 16), [nn.RMSNorm(16) for _ in range(2)]
    project, out, wide, narrow = nn.Linear(16, 48), nn.Linear(16, 16), nn.Linear(16, 64), nn.Linear(64, 16)
    model = nn.ModuleList([embedding, *norms, project, out, wide, narrow])
    tokens = torch.randint(31, (3, 11))
    adamw = optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95))
    schedule = optim.lr_scheduler.LinearLR(adamw, 0.5, total_iters=3)

    def loss() -> torch.Tensor:
        x = embedding(tokens)
        q, k, v = (t.unflatten(-1, (4, 4)).transpose(1, 2) for t in project(norms[0](x)).chunk(3, -1))
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=0.1)
        x = x + out(heads.transpose(1, 2).flatten(2))
        x = x + narrow(F.gelu(wide(norms[1](x)), approximate="tanh"))
        logits = x @ embedding.weight.T
        schedule.step()
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())

    return fit(model, loss, adamw, clip=1.0)


@program
def bags_of_words() -> Iterable[torch.Tensor]:
    bag, table = nn.EmbeddingBag(50, 8, mode="mean", sparse=True), nn.Embedding(50, 8, sparse=True)
    words, at = torch.randint(50, (40,)), torch.tensor([0, 3, 3, 20])
    model = nn.ModuleList([bag, table])
    losses = fit(model, lambda: (bag(words, at) + table(words[:4])).pow(2).sum(), optim.SparseAdam(model.parameters()))
    return [t.to_dense() for t in losses]


@program
def variational_autoencoder() -> Iterable[torch.Tensor]:
    encode, decode = nn.Linear(20, 12), nn.Sequential(nn.Linear(6, 16), nn.Softplus(), nn.Linear(16, 20), nn.Sigmoid())
    model, x = nn.ModuleList([encode, decode]), torch.rand(9, 20)

    def loss() -> torch.Tensor:
        mean, log_variance = encode(x).chunk(2, 1)
        posterior = torch.distributions.Normal(mean, (0.5 * log_variance).exp())
        prior = torch.distributions.Normal(torch.zeros(6), torch.ones(6))
        divergence = torch.distributions.kl_divergence(posterior, prior).sum()
        return F.binary_cross_entropy(decode(posterior.rsample()), x, reduction="sum") + divergence

    return fit(model, loss, optim.Adamax(model.parameters(), lr=1e-2))


@program
def adversarial_networks() -> Iterable[torch.Tensor]:
    makes = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8), nn.Tanh())
    judges = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(16, 1))
    making, judging = (optim.Adam(m.parameters(), lr=2e-3, betas=(0.5, 0.999)) for m in (makes, judges))
    true, one = torch.randn(10, 8), torch.ones(10, 1)
    for _ in range(STEPS):
        made = makes(torch.randn(10, 5))
        judging.zero_grad()
        on_true = F.binary_cross_entropy_with_logits(judges(true), one)
        (on_true + F.binary_cross_entropy_with_logits(judges(made.detach()), one * 0)).backward()
        judging.step()
        making.zero_grad()
        F.binary_cross_entropy_with_logits(judges(made), one).backward()
        making.step()
    return [*makes.state_dict().values(), *judges.state_dict().values()]


@program
def flow_of_coupled_halves() -> Iterable[torch.Tensor]:
    nets = nn.ModuleList(nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 6)) for _ in range(3))
    mix, x = nn.Parameter(torch.linalg.qr(torch.randn(6, 6))[0]), torch.randn(12, 6)
    model = nn.ModuleList([nets, nn.ParameterList([mix])])

    def loss() -> torch.Tensor:
        y, total = x, torch.zeros(12)
        for net in nets:
            a, b = (y @ mix).chunk(2, 1)
            scale, shift = net(a).chunk(2, 1)
            y = torch.cat([b * torch.exp(torch.tanh(scale)) + shift, a], 1)
            total = total + torch.tanh(scale).sum(1) + torch.linalg.slogdet(mix)[1]
        return (0.5 * y.square().sum(1) - total).mean()

    return fit(model, loss)


@program
def policy_by_clipped_ratios() -> Iterable[torch.Tensor]:
    policy, value, x = nn.Linear(6, 4), nn.Linear(6, 1), torch.randn(25, 6)
    model = nn.ModuleList([policy, value])
    with torch.no_grad():
        before = torch.distributions.Categorical(logits=policy(x))
        actions = before.sample()
        logs = before.log_prob(actions)
    returns = torch.randn(25).cumsum(0)

    def loss() -> torch.Tensor:
        now = torch.distributions.Categorical(logits=policy(x))
        gain = returns - value(x).squeeze(1)
        gain = ((gain - gain.mean()) / (gain.std() + 1e-8)).detach()
        ratio = (now.log_prob(actions) - logs).exp()
        least = torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        return F.mse_loss(value(x).squeeze(1), returns) - least - 0.01 * now.entropy().mean()

    return fit(model, loss)


@program
def gaussian_process_by_lbfgs() -> Iterable[torch.Tensor]:
    x, scale, noise = torch.linspace(0, 1, 18), nn.Parameter(torch.tensor(0.3)), nn.Parameter(torch.tensor(0.2))
    y = torch.sin(6 * x) + 0.1 * torch.randn(18)
    model = nn.ParameterList([scale, noise])
    lbfgs = optim.LBFGS(model.parameters(), max_iter=4, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        lbfgs.zero_grad()
        kernel = torch.exp(-((torch.cdist(x[:, None], x[:, None]) / scale) ** 2)) + noise**2 * torch.eye(18)
        lower = torch.linalg.cholesky(kernel)
        white = torch.linalg.solve_triangular(lower, y[:, None], upper=False)
        value = white.square().sum() / 2 + lower.diagonal().log().sum()
        value.backward()
        return value

    return [lbfgs.step(loss).detach(), *model.parameters()]


@program
def fourier_operator() -> Iterable[torch.Tensor]:
    weights = nn.Parameter(torch.randn(3, 3, 4, 4, dtype=torch.complex64) / 3)
    local = nn.Conv2d(3, 3, 1)
    model, x, y = (
        nn.ModuleList([nn.ParameterList([weights]), local]),
        torch.randn(2, 3, 12, 10),
        torch.rand(2, 3, 12, 10),
    )

    def loss() -> torch.Tensor:
        modes = torch.fft.rfft2(x)
        kept = torch.zeros_like(modes)
        kept[..., :4, :4] = torch.einsum("bixy,ioxy->boxy", modes[..., :4, :4], weights)
        return F.mse_loss(F.gelu(torch.fft.irfft2(kept, s=(12, 10)) + local(x)), y)

    return fit(model, loss, optim.SGD(model.parameters(), lr=0.1))


@program
def spoken_words_by_ctc() -> Iterable[torch.Tensor]:
    model = nn.Sequential(nn.Linear(7, 16), nn.Hardtanh(), nn.Linear(16, 6))
    x, words = torch.randn(12, 3, 7), torch.randint(1, 6, (3, 4))
    lengths = torch.tensor([12, 10, 9]), torch.tensor([4, 3, 2])
    return fit(model, lambda: F.ctc_loss(model(x).log_softmax(2), words, *lengths))


@program
def in_bfloat16_by_autocast() -> Iterable[torch.Tensor]:
    model = nn.Sequential(nn.Conv2d(2, 6, 3), nn.GroupNorm(2, 6), nn.GELU(), nn.Flatten(), nn.Linear(216, 5))
    x, y = torch.randn(4, 2, 8, 8), labels(4, 5)

    def loss() -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return F.cross_entropy(model(x), y)

    return fit(model, loss)


@program
def weights_of_bfloat16() -> Iterable[torch.Tensor]:
    model = nn.Sequential(nn.Linear(12, 16), nn.SiLU(), nn.LayerNorm(16), nn.Linear(16, 3)).bfloat16()
    x, y = torch.randn(8, 12).bfloat16(), labels(8, 3)
    return fit(model, lambda: F.cross_entropy(model(x).float(), y), optim.SGD(model.parameters(), lr=0.1, momentum=0.9))


@program
def gradient_penalty_in_float64() -> Iterable[torch.Tensor]:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    x = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)

    def loss() -> torch.Tensor:
        (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        return (gradient.norm(dim=1) - 1).square().mean()

    return fit(model, loss)


@program
def contrasts_and_margins() -> Iterable[torch.Tensor]:
    model = nn.Sequential(nn.Linear(10, 8), nn.PReLU())
    a, b, c = torch.randn(3, 9, 10)

    def loss() -> torch.Tensor:
        u, v, w = (F.normalize(model(x)) for x in (a, b, c))
        scores = u @ v.T / 0.1
        triplet = F.triplet_margin_loss(u, v, w, margin=0.5)
        cosine = F.cosine_embedding_loss(u, w, torch.tensor([1.0, -1, 1] * 3), margin=0.1)
        return F.cross_entropy(scores, torch.arange(9)) + triplet + cosine + F.pairwise_distance(u, v).mean()

    return fit(model, loss)


@program
def losses_of_many_kinds() -> Iterable[torch.Tensor]:
    model = nn.Linear(7, 5)
    x, classes, signs, marks = torch.randn(11, 7), labels(11, 5), torch.randn(11, 5).sign(), torch.rand(11, 5).round()
    chosen = torch.cat([classes[:, None], torch.full((11, 4), -1)], 1)

    def loss() -> torch.Tensor:
        z = model(x)
        return sum(
            (
                F.multi_margin_loss(z, classes), F.multilabel_margin_loss(z, chosen), F.soft_margin_loss(z, signs),
                F.multilabel_soft_margin_loss(z, marks), F.hinge_embedding_loss(z, signs), F.poisson_nll_loss(z, marks),
                F.kl_div(z.log_softmax(1), marks.softmax(1), reduction="batchmean"),
                F.margin_ranking_loss(z[:, 0], z[:, 1], signs[:, 0]), z.logsumexp(1).mean(),
            )
        )  # fmt: skip

    return fit(model, loss, optim.ASGD(model.parameters(), lr=0.05))


@program
def normed_weights() -> Iterable[torch.Tensor]:
    model = nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(8, 6)), nn.CELU(),
        nn.utils.parametrizations.spectral_norm(nn.Linear(6, 6)), nn.Softsign(),
        nn.utils.parametrizations.orthogonal(nn.Linear(6, 6)),
    )  # fmt: skip
    x = torch.randn(5, 8)
    return fit(model, lambda: model(x).exp().mean(), optim.Rprop(model.parameters(), lr=1e-2))


@program
def images_down_and_up() -> Iterable[torch.Tensor]:
    down, up, shuffled = nn.Conv2d(2, 8, 3, padding=1), nn.Conv2d(8, 2, 3, padding=1), nn.Conv2d(2, 8, 1)
    model, x = nn.ModuleList([down, up, shuffled]), torch.randn(2, 2, 12, 12)
    places = F.affine_grid(torch.tensor([[[0.9, 0.1, 0.0], [-0.1, 0.8, 0.1]]] * 2), [2, 2, 12, 12], align_corners=False)

    def loss() -> torch.Tensor:
        small = F.avg_pool2d(F.relu(down(x)), 2)
        large = up(F.interpolate(small, size=(12, 12), mode="bilinear", align_corners=False))
        finer = F.pixel_shuffle(shuffled(large), 2)
        finer = F.interpolate(finer, scale_factor=0.5, mode="bicubic")
        return F.mse_loss(
            F.pad(F.grid_sample(large, places, align_corners=False), (1,) * 4, "reflect"), F.pad(x, (1,) * 4)
        ) + (finer.abs().mean())

    return fit(model, loss)


@program
def dropouts_of_many_kinds() -> Iterable[torch.Tensor]:
    model = nn.Sequential(
        nn.Conv1d(3, 8, 1), nn.Dropout1d(0.3), nn.SELU(), nn.AlphaDropout(0.2), nn.FeatureAlphaDropout(0.2), nn.RReLU(),
        nn.LocalResponseNorm(3),
    )  # fmt: skip
    x = torch.randn(4, 3, 20)
    return fit(model, lambda: model(x).cosh().log().mean())


@program
def mixture_of_densities() -> Iterable[torch.Tensor]:
    model, x, y = nn.Linear(3, 12), torch.randn(20, 3), torch.randn(20, 1)

    def loss() -> torch.Tensor:
        logits, means, scales = model(x).chunk(3, 1)
        parts = torch.distributions.Normal(means, F.softplus(scales) + 1e-3)
        return -(logits.log_softmax(1) + parts.log_prob(y)).logsumexp(1).mean()

    return fit(model, loss, optim.Adafactor(model.parameters(), lr=1e-2))


@program
def matrices_by_muon() -> Iterable[torch.Tensor]:
    model, x = nn.Sequential(nn.Linear(12, 20, bias=False), nn.Tanh(), nn.Linear(20, 6, bias=False)), torch.randn(9, 12)
    return fit(model, lambda: model(x).square().mean(), optim.Muon(model.parameters(), lr=1e-2))


@program
def averaged_weights() -> Iterable[torch.Tensor]:
    model, x = nn.Sequential(nn.Linear(6, 9), nn.BatchNorm1d(9), nn.Sigmoid(), nn.Linear(9, 2)), torch.randn(3, 8, 6)
    swa = optim.swa_utils.AveragedModel(model)
    ema = optim.swa_utils.AveragedModel(model, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.9))
    sgd = optim.SGD(model.parameters(), lr=0.1)
    for batch in x:
        sgd.zero_grad()
        model(batch).var().backward()
        sgd.step()
        swa.update_parameters(model)
        ema.update_parameters(model)
    optim.swa_utils.update_bn(x, swa)
    return [*swa.state_dict().values(), *ema.state_dict().values()]


@program
def functions_of_functions() -> Iterable[torch.Tensor]:
    weight, x = torch.randn(5, 5), torch.randn(7, 5)

    def energy(w: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        return torch.tanh(w @ row).square().sum()

    each = torch.func.vmap(torch.func.grad(energy), (None, 0))(weight, x)
    hessian = torch.func.hessian(lambda row: energy(weight, row))(x[0])
    _, forward = torch.func.jvp(lambda w: energy(w, x[0]), (weight,), (torch.ones(5, 5),))
    return [each, hessian, forward, torch.func.jacrev(lambda w: w @ x[0])(weight)]


@program
def messages_on_a_graph() -> Iterable[torch.Tensor]:
    model = nn.ModuleList([nn.Linear(6, 6), nn.Bilinear(6, 6, 1)])
    x, ends = torch.randn(15, 6), torch.randint(15, (2, 60))

    def loss() -> torch.Tensor:
        sent = torch.sigmoid(model[1](x[ends[0]], x[ends[1]])) * model[0](x)[ends[0]]
        sums = torch.zeros(15, 6).index_add(0, ends[1], sent)
        most = torch.zeros(15, 6).scatter_reduce(0, ends[1][:, None].expand(60, 6), sent, "amax", include_self=False)
        best = (sums + most).sum(1).sort(stable=True).values.topk(4).values
        return best.cumsum(0).mean() + sums.quantile(0.3)

    return fit(model, loss)


@program
def initial_weights() -> Iterable[torch.Tensor]:
    filled = [
        nn.init.kaiming_uniform_, nn.init.kaiming_normal_, nn.init.xavier_uniform_, nn.init.xavier_normal_,
        nn.init.trunc_normal_, nn.init.orthogonal_, lambda t: nn.init.sparse_(t, 0.3),
    ]  # fmt: skip
    drawn = [
        torch.randperm(20),
        torch.randint(-5, 9, (9,)),
        torch.empty(9).exponential_(),
        torch.empty(9).geometric_(0.3),
    ]
    counted = [torch.poisson(torch.full((9,), 3.0)), torch.distributions.Gamma(2.0, 3.0).sample((9,))]
    chosen = torch.multinomial(torch.rand(4, 9), 3)
    return [*(fill(torch.empty(7, 9)) for fill in filled), *drawn, *counted, chosen]


@program
def decomposed_matrices() -> Iterable[torch.Tensor]:
    a = nn.Parameter(torch.randn(6, 4))
    b = torch.randn(6, 2)

    def loss() -> torch.Tensor:
        gram = a.T @ a + torch.eye(4)
        values = torch.linalg.eigvalsh(gram).log().sum() + torch.linalg.svdvals(a).sum()
        solved = torch.linalg.lstsq(a, b).solution.square().sum() + torch.linalg.solve(gram, b[:4]).sum()
        return values + solved + torch.linalg.matrix_exp(gram / 8).trace() + torch.linalg.inv(gram).logdet()

    return fit(nn.ParameterList([a]), loss)


@program
def sound_by_its_spectrum() -> Iterable[torch.Tensor]:
    model, x = nn.Conv1d(1, 1, 9, padding=4), torch.randn(2, 1, 256)

    def loss() -> torch.Tensor:
        spectrum = torch.stft(model(x)[:, 0], 64, 16, window=torch.hann_window(64), return_complex=True).abs()
        return torch.log1p(spectrum).mean()

    return fit(model, loss)


@program
def batches_that_a_loader_shuffles() -> Iterable[torch.Tensor]:
    data = torch.utils.data.TensorDataset(torch.randn(23, 5), torch.randn(23, 1))
    most, rest = torch.utils.data.random_split(data, [20, 3])
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
    adamw = optim.AdamW(model.parameters(), lr=1e-2)
    for x, y in torch.utils.data.DataLoader(most, 6, shuffle=True):
        adamw.zero_grad()
        hidden = torch.utils.checkpoint.checkpoint(model[:2], x, use_reentrant=False)
        F.mse_loss(model[2](hidden), y).backward()
        adamw.step()
    return [*model.parameters(), *rest[0]]


def digest(tensors: Iterable[torch.Tensor]) -> str:
    """Every NaN as one; a program whose numbers are not finite would show nothing, and is refused."""
    sha = hashlib.sha256()
    for tensor in tensors:
        assert tensor.isfinite().all()
        sha.update(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()


def main(arguments: list[str]) -> None:
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {}
    with repdl.reproducible():
        for name, run in PROGRAMS.items():
            torch.manual_seed(0)
            found[name] = digest(run())
    if "--write" in arguments:
        GOLDEN.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
