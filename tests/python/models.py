# SPDX-License-Identifier: MIT
"""Small models of each family, with random weights, and what three steps of training make of them.

    python models.py [--device cuda] [NAME...]

prints one JSON line: for each model the digests of weights, losses and gradients under `repdl.enable()`, and that of
the weights that stock torch gives. It is run once for each setting of the machine by test_models.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}

import torch
import torch.nn.functional as F
from torch import nn

import repdl
import torchvision_for_any_torch  # noqa: F401

VOCABULARY, LENGTH, BATCH = 61, 12, 3
Build = Callable[[], nn.Module]
Loss = Callable[[nn.Module], torch.Tensor]


def _tokens() -> torch.Tensor:
    return torch.arange(BATCH * LENGTH).mul(7).remainder(VOCABULARY - 4).add(3).reshape(BATCH, LENGTH)


def _wave(*shape: int) -> torch.Tensor:
    count = torch.Size(shape).numel()
    return torch.arange(count).mul(37).remainder(101).float().div(50).sub(1).reshape(shape)


_SMALL = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 16,
}


def _language_model(model: nn.Module) -> torch.Tensor:
    return model(input_ids=_tokens(), labels=_tokens()).loss


def _masked_language_model(model: nn.Module) -> torch.Tensor:
    mask = torch.ones(BATCH, LENGTH, dtype=torch.int64)
    mask[1, 8:] = 0
    return model(input_ids=_tokens(), attention_mask=mask, labels=_tokens()).loss


def _transformers() -> dict[str, tuple[Build, Loss]]:
    import transformers as t

    whisper = {
        "vocab_size": VOCABULARY, "num_mel_bins": 10, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
        "max_source_positions": 16, "max_target_positions": 16, "decoder_start_token_id": 0, "pad_token_id": 0,
        "bos_token_id": 0, "eos_token_id": 1,
    }  # fmt: skip
    gpt2 = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 16}
    ends = {"bos_token_id": 0, "eos_token_id": 1}
    t5 = {"vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    return {
        "BERT": (lambda: t.BertForMaskedLM(t.BertConfig(**_SMALL)), _masked_language_model),
        "GPT-2": (lambda: t.GPT2LMHeadModel(t.GPT2Config(**gpt2, **ends)), _language_model),
        "Llama": (
            lambda: t.LlamaForCausalLM(t.LlamaConfig(**_SMALL, num_key_value_heads=2, **ends)),
            _language_model,
        ),
        "T5": (lambda: t.T5ForConditionalGeneration(t.T5Config(**t5, decoder_start_token_id=0)), _language_model),
        "Whisper": (
            lambda: t.WhisperForConditionalGeneration(t.WhisperConfig(**whisper)),
            lambda model: model(input_features=_wave(BATCH, 10, 32), labels=_tokens()).loss,
        ),
        "ViT": (
            lambda: t.ViTForImageClassification(
                t.ViTConfig(**{**_SMALL, "image_size": 32, "patch_size": 8, "num_labels": 5})
            ),
            lambda model: model(pixel_values=_wave(BATCH, 3, 32, 32), labels=torch.tensor([1, 2, 0])).loss,
        ),
    }


class _Recurrent(nn.Module):
    def __init__(self, layer: Callable[..., nn.Module]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 16)
        self.layer = layer(16, 24, 2, dropout=0.1, batch_first=True, bidirectional=True)
        self.head = nn.Linear(48, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(self.embedding(tokens))[0])


class _Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 16)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)
        self.head = nn.Linear(16, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.embedding(tokens)))


def _next_token(model: nn.Module) -> torch.Tensor:
    return F.cross_entropy(model(_tokens()).flatten(0, 1), _tokens().flatten())


def models() -> dict[str, tuple[Build, Loss]]:
    return _transformers() | {
        "nn.LSTM": (lambda: _Recurrent(nn.LSTM), _next_token),
        "nn.GRU": (lambda: _Recurrent(nn.GRU), _next_token),
        "nn.TransformerEncoder": (_Encoder, _next_token),
    }


def digest(tensors: Iterable[torch.Tensor]) -> str:
    sha = hashlib.sha256()
    for tensor in tensors:
        sha.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return sha.hexdigest()


def train(build: Build, loss_of: Loss) -> dict[str, Any]:
    """Three steps: forward, backward, clipping, AdamW. And the results of evaluation afterwards."""
    torch.manual_seed(0)
    model = build().to(torch.get_default_device()).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        loss = loss_of(model)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
    with torch.no_grad():
        evaluated = loss_of(model.eval())
    return {
        "weights": digest(model.parameters()),
        "losses": digest([*losses, evaluated]),
        "gradients": digest(p.grad for p in model.parameters() if p.grad is not None),
        "last loss": float(evaluated),
    }


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    if names[:1] == ["--device"]:
        torch.set_default_device(names[1])
        names = names[2:]
    chosen = {name: entry for name, entry in models().items() if not names or name in names}
    results: dict[str, Any] = {"stock": {}, "ours": {}}
    for name, (build, loss_of) in chosen.items():
        results["stock"][name] = train(build, loss_of)["weights"]
    for name, (build, loss_of) in chosen.items():
        with repdl.reproducible():
            results["ours"][name] = train(build, loss_of)
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1:])
