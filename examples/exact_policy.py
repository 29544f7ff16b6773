# SPDX-License-Identifier: MIT
"""Trains a policy on answers that it samples, and counts where sampler and trainer disagree about their probabilities.

A transformer is given a few digits and shall write each of them once, then end. The sampler writes a token at a time,
with a cache of keys and values, for a batch that shrinks as answers end; the trainer computes all tokens of a few
padded sequences at once. Both have the same weights, so the ratio of their probabilities, by which PPO and its
relatives weigh a token, should be 1. With stock torch it is not; under `repdl.reproducible()` it is, bit for bit.

    python examples/exact_policy.py [--dtype bfloat16]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from rich.console import Console
from torch import nn

import repdl
from repdl.utils import get_hash

END = 6
"""The token after the six digits 0 … 5, which ends an answer."""
SHORTEST, LONGEST = 1, 4
"""Digits of a prompt, all different."""
ANSWER = 6
"""Tokens of an answer at most."""
LENGTH = LONGEST + ANSWER
LAYERS, WIDTH, HEADS = 2, 64, 4

PROMPTS, ANSWERS = 16, 8
"""New prompts for an update, and answers to each."""
ROWS = 24
"""Sequences that the trainer takes at once."""
UPDATES, STOCK_UPDATES = 80, 10
"""Updates with repdl, and with stock torch, which is only there to be compared."""
CLIP, LR = 0.2, 3e-3
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}

EXPECTED = {
    "float32": "20ae56debca9dded940a17533cb0389e450526adcea304d423d380ee854f19af",
    "bfloat16": "f220132649a96b9af4d5362396d0315d15ddeba8fb82289e88f81dad47f9394b",
}
"""The digest of the trained policy, on every machine. It stands for all answers too, which the policy learned from."""

Attend = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


class Cache:
    """Keys and values of a batch, each token's at its place in its own sequence.

    Places that a sequence has not reached are masked: their weights are +0 and stand behind all others in every sum,
    where they change nothing. With padding on the left, places would depend on the longest prompt of the batch.
    """

    def __init__(self, rows: int) -> None:
        self.keys, self.values = torch.zeros(2, LAYERS, rows, HEADS, LENGTH, WIDTH // HEADS)

    def keep(self, rows: torch.Tensor) -> None:
        self.keys, self.values = self.keys[:, rows], self.values[:, rows]

    def attend(self, layer: int, places: torch.Tensor) -> Attend:
        """Of new tokens: they enter the cache, and see what stands there up to their places."""
        row = torch.arange(len(places))[:, None]
        seen = torch.arange(LENGTH) <= places[:, None, :, None]

        def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
            keys, values = self.keys[layer], self.values[layer]
            keys[row, :, places] = key.transpose(1, 2).float()
            values[row, :, places] = value.transpose(1, 2).float()
            return F.scaled_dot_product_attention(query, keys.to(query.dtype), values.to(query.dtype), seen)

        return attend


def attend_to_all_before(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        wide = 2 * WIDTH
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, wide), nn.GELU(), nn.Linear(wide, WIDTH))

    def forward(self, x: torch.Tensor, attend: Attend) -> torch.Tensor:
        query, key, value = self.qkv(self.norm(x)).unflatten(2, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(attend(query, key, value).transpose(1, 2).flatten(2))
        return x + self.mlp(x)


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(END + 1, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, END + 1))

    def forward(self, tokens: torch.Tensor, places: torch.Tensor, cache: Cache | None = None) -> torch.Tensor:
        """The log-probabilities of what comes after each token."""
        x = self.token(tokens) + self.place(places)
        for number, layer in enumerate(self.layers):
            x = layer(x, attend_to_all_before if cache is None else cache.attend(number, places))
        return self.head(x).float().log_softmax(-1)


@dataclass
class Samples:
    """Sequences of prompt and answer, padded behind; of each token that the sampler wrote, its log-probability."""

    tokens: torch.Tensor
    written: torch.Tensor
    log_probs: torch.Tensor

    @property
    def ends(self) -> torch.Tensor:
        return (self.written * torch.arange(1, LENGTH + 1)).amax(1)


@torch.no_grad()
def sample(policy: Policy, prompts: Sequence[Sequence[int]]) -> Samples:
    lengths = torch.tensor([len(prompt) for prompt in prompts])
    rows, longest = len(prompts), int(lengths.max())
    tokens = torch.tensor([[*prompt, *[END] * (LENGTH - len(prompt))] for prompt in prompts])
    found = Samples(tokens, torch.zeros(rows, LENGTH, dtype=torch.bool), torch.zeros(rows, LENGTH))

    cache = Cache(rows)
    log_probs = policy(tokens[:, :longest], torch.arange(longest).expand(rows, -1), cache)[range(rows), lengths - 1]
    row, place = torch.arange(rows), lengths
    for _ in range(ANSWER):
        token = torch.multinomial(log_probs.exp(), 1)
        tokens[row, place] = token[:, 0]
        found.written[row, place] = True
        found.log_probs[row, place] = log_probs.gather(1, token)[:, 0]
        goes_on = ((token[:, 0] != END) & (place + 1 < lengths[row] + ANSWER)).nonzero()[:, 0]
        if len(goes_on) == 0:
            break
        cache.keep(goes_on)
        row, place, token = row[goes_on], place[goes_on], token[goes_on]
        log_probs = policy(token, place[:, None], cache)[:, 0]
        place = place + 1
    return found


def rewards(samples: Samples) -> torch.Tensor:
    """1 for each digit of the prompt, the first time, and for the end after all of them; -1 for other tokens."""
    found = torch.zeros(samples.tokens.shape)
    for row, (tokens, written) in enumerate(zip(samples.tokens.tolist(), samples.written.tolist(), strict=True)):
        begin, end = written.index(True), len(written) - written[::-1].index(True)
        left = set(tokens[:begin])
        for place in range(begin, end):
            token = tokens[place]
            found[row, place] = 1 if (token in left or (token == END and not left)) else -1
            left.discard(token)
    return found


def advantages(reward: torch.Tensor, written: torch.Tensor) -> torch.Tensor:
    """In standard deviations from the mean. A token is answerable for its own reward alone, which this task allows."""
    return (reward - reward[written].mean()) / (reward[written].std() + 1e-4)


@dataclass
class Agreement:
    """How the trainer's log-probabilities compare with the sampler's."""

    tokens: int = 0
    different: int = 0
    difference: float = 0.0
    ratio: float = 0.0

    def add(self, ours: torch.Tensor, samplers: torch.Tensor, ratio: torch.Tensor) -> None:
        self.tokens += len(ours)
        self.different += int((ours != samplers).sum())
        self.difference = max(self.difference, float((ours - samplers).abs().max()))
        self.ratio = max(self.ratio, float((ratio - 1).abs().max()))

    def __str__(self) -> str:
        if self.different == 0 and self.ratio == 0:
            return f"0 of {self.tokens} log-probabilities of sampler and trainer differ, and every ratio is exactly 1"
        return (
            f"{self.different} of {self.tokens} log-probabilities of sampler and trainer differ, by at most "
            f"{self.difference:.2g}, and a ratio by at most {self.ratio:.2g} from 1"
        )


def accumulate(policy: Policy, samples: Samples, advantage: torch.Tensor, agreement: Agreement) -> None:
    """Adds the gradients of PPO's loss, of sequences of like lengths at a time."""
    ends = samples.ends
    for rows in ends.argsort(stable=True).split(ROWS):
        end = int(ends[rows].max())
        tokens, written = samples.tokens[rows, :end], samples.written[rows, 1:end]
        after = policy(tokens[:, :-1], torch.arange(end - 1))
        log_probs = after.gather(2, tokens[:, 1:, None])[..., 0][written]
        samplers, gain = (values[rows, 1:end][written] for values in (samples.log_probs, advantage))
        ratio = (log_probs - samplers).exp()
        loss = -torch.minimum(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).sum() / samples.written.sum()
        loss.backward()
        agreement.add(log_probs.detach(), samplers, ratio.detach())


def train(updates: int, dtype: torch.dtype, report: Callable[[int, float], None]) -> tuple[Policy, Agreement]:
    """From one seed; tells the number of each update and the mean reward of its answers."""
    torch.manual_seed(0)
    policy, agreement = Policy(), Agreement()
    optimizer = torch.optim.Adam(policy.parameters(), lr=LR)
    for number in range(1, updates + 1):
        lengths = torch.randint(SHORTEST, LONGEST + 1, (PROMPTS,)).tolist()
        prompts = [torch.randperm(END)[:length].tolist() for length in lengths]
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
            samples = sample(policy, [prompt for prompt in prompts for _ in range(ANSWERS)])
            reward = rewards(samples)
            accumulate(policy, samples, advantages(reward, samples.written), agreement)
        optimizer.step()
        report(number, float(reward.sum()) / len(reward))
    return policy, agreement


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", choices=DTYPES, default="float32", help="of products and attention (autocast)")
    parser.add_argument("--updates", type=positive, default=UPDATES, metavar="N")
    parser.add_argument("--threads", type=positive, metavar="N", help="default: torch's number")
    options = parser.parse_args()
    if options.threads is not None:
        repdl.set_num_threads(options.threads)
    console = Console(highlight=False, soft_wrap=True)
    dtype = DTYPES[options.dtype]

    _, stock = train(min(options.updates, STOCK_UPDATES), dtype, lambda number, reward: None)
    console.print(f"stock torch: {stock}")
    with repdl.reproducible():
        policy, ours = train(options.updates, dtype, lambda number, reward: show(console, number, reward))
    console.print(f"repdl: {ours}")
    value = get_hash(policy)
    if options.updates != UPDATES:
        console.print(f"policy {value}")
        return 0 if ours.different == 0 else 1
    equal = value == EXPECTED[options.dtype]
    console.print(f"policy {value}  " + ("[green]= expected[/]" if equal else "[red]differs from what is expected[/]"))
    return 0 if equal and ours.different == 0 else 1


def show(console: Console, number: int, reward: float) -> None:
    if number == 1 or number % 10 == 0:
        console.print(f"update {number:2}: reward {reward:5.2f}")


if __name__ == "__main__":
    sys.exit(main())
