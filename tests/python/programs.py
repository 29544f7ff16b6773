# SPDX-License-Identifier: MIT
"""Programs of other people's libraries, kept small: each trains or samples under `repdl.enable()`.

    python programs.py NAME...        prints the digest of each program, for every CPU target and number of threads
    python programs.py --device cuda          prints that of each program there and on the CPU, and whether they agree
    python programs.py --renew        writes programs.json: the digests, and the versions that they are of

test_programs.py runs it once for each instruction set of torch's. A program returns the tensors that are digested.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}

import torch
import torch.nn.functional as F
from torch import nn

import repdl
import torchvision_for_any_torch  # noqa: F401
from repdl import _core

Results = Iterable[torch.Tensor]
PROGRAMS: dict[str, Callable[[], Results]] = {}

EXPECTED = Path(__file__).with_name("programs.json")
LIBRARIES = """
    transformers timm torchvision torchgan normflows gpytorch neuraloperator stable-baselines3 torch-geometric diffusers
"""
THREADS = (1, 3)
VOCABULARY, LENGTH, BATCH = 61, 12, 2


def program(name: str) -> Callable[[Callable[[], Results]], Callable[[], Results]]:
    def declare(function: Callable[[], Results]) -> Callable[[], Results]:
        PROGRAMS[name] = function
        return function

    return declare


def tokens() -> torch.Tensor:
    return torch.arange(BATCH * LENGTH).mul(7).remainder(VOCABULARY - 4).add(3).reshape(BATCH, LENGTH)


def wave(*shape: int) -> torch.Tensor:
    count = torch.Size(shape).numel()
    return torch.arange(count).mul(37).remainder(101).float().div(50).sub(1).reshape(shape)


def trained(model: nn.Module, loss_of: Callable[[nn.Module], torch.Tensor], steps: int = 2) -> Results:
    """The parameters, losses and buffers after steps of AdamW with clipping."""
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
    return [*losses, *model.parameters(), *model.buffers()]


# Language models of transformers: the configuration's class, the model's, what differs from the small settings.
_SMALL = {
    "vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 24, "max_position_embeddings": 32, "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 1,
}  # fmt: skip
_GROUPED = {"num_key_value_heads": 1, "head_dim": 8}
_SEQ2SEQ = {
    "vocab_size": VOCABULARY, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 32,
    "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": None,
}  # fmt: skip
_LANGUAGE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "BERT": ("BertConfig", "BertForMaskedLM", _SMALL),
    "RoBERTa": ("RobertaConfig", "RobertaForMaskedLM", _SMALL),
    "ALBERT": ("AlbertConfig", "AlbertForMaskedLM", {**_SMALL, "embedding_size": 8}),
    "ELECTRA": ("ElectraConfig", "ElectraForMaskedLM", {**_SMALL, "embedding_size": 8}),
    "DeBERTa-v2": (
        "DebertaV2Config", "DebertaV2ForMaskedLM",
        {**_SMALL, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "max_relative_positions": 8},
    ),
    "DistilBERT": (
        "DistilBertConfig", "DistilBertForMaskedLM",
        {"vocab_size": VOCABULARY, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24},
    ),
    "GPT-2": (
        "GPT2Config", "GPT2LMHeadModel",
        {"vocab_size": VOCABULARY, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32, "bos_token_id": 0,
         "eos_token_id": 1},
    ),
    "GPT-NeoX": ("GPTNeoXConfig", "GPTNeoXForCausalLM", _SMALL),
    "OPT": (
        "OPTConfig", "OPTForCausalLM",
        {**_SMALL, "ffn_dim": 24, "word_embed_proj_dim": 16},
    ),
    "BLOOM": ("BloomConfig", "BloomForCausalLM", {**_SMALL, "n_layer": 2, "n_head": 2}),
    "Llama": ("LlamaConfig", "LlamaForCausalLM", {**_SMALL, **_GROUPED}),
    "Mistral": ("MistralConfig", "MistralForCausalLM", {**_SMALL, **_GROUPED, "sliding_window": 4}),
    "Mixtral": (
        "MixtralConfig", "MixtralForCausalLM",
        {**_SMALL, **_GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2, "output_router_logits": True},
    ),
    "Qwen2": ("Qwen2Config", "Qwen2ForCausalLM", {**_SMALL, "num_key_value_heads": 1}),
    "Gemma 2": ("Gemma2Config", "Gemma2ForCausalLM", {**_SMALL, **_GROUPED, "sliding_window": 4}),
    "Phi": ("PhiConfig", "PhiForCausalLM", _SMALL),
    "Falcon": ("FalconConfig", "FalconForCausalLM", _SMALL),
    "Mamba": (
        "MambaConfig", "MambaForCausalLM",
        {"vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": 2, "state_size": 4, "pad_token_id": 0},
    ),
    "T5": (
        "T5Config", "T5ForConditionalGeneration",
        {"vocab_size": VOCABULARY, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2,
         "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1},
    ),
    "BART": ("BartConfig", "BartForConditionalGeneration", _SEQ2SEQ),
    "Marian": ("MarianConfig", "MarianMTModel", _SEQ2SEQ),
}  # fmt: skip

# Its models of images and of sound: likewise, and the input.
_VISION = {**_SMALL, "image_size": 32, "patch_size": 8, "num_labels": 5}
_PIXELS = {"pixel_values": (BATCH, 3, 32, 32)}
_SENSES: dict[str, tuple[str, str, dict[str, Any], dict[str, tuple[int, ...]]]] = {
    "ViT": ("ViTConfig", "ViTForImageClassification", _VISION, _PIXELS),
    "DeiT": ("DeiTConfig", "DeiTForImageClassification", _VISION, _PIXELS),
    "BEiT": ("BeitConfig", "BeitForImageClassification", {**_VISION, "use_relative_position_bias": True}, _PIXELS),
    "Swin": (
        "SwinConfig", "SwinForImageClassification",
        {"image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [2, 2], "num_heads": [2, 2], "window_size": 4,
         "num_labels": 5},
        _PIXELS,
    ),
    "SegFormer": (
        "SegformerConfig", "SegformerForImageClassification",
        {"num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [8, 16], "strides": [4, 2],
         "patch_sizes": [7, 3], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2], "num_labels": 5},
        _PIXELS,
    ),
    "Audio Spectrogram Transformer": (
        "ASTConfig", "ASTForAudioClassification",
        {**_SMALL, "patch_size": 8, "frequency_stride": 8, "time_stride": 8, "max_length": 24, "num_mel_bins": 16,
         "num_labels": 5},
        {"input_values": (BATCH, 24, 16)},
    ),
}  # fmt: skip
_LABELS = torch.tensor([1, 3])


def _small_model(config: str, model: str, settings: dict[str, Any]) -> nn.Module:
    import transformers

    return getattr(transformers, model)(getattr(transformers, config)(**settings))  # type: ignore[no-any-return]


def _declare_transformers() -> None:
    for name, (config, model, settings) in _LANGUAGE.items():

        @program(name)
        def train_language_model(
            config: str = config, model: str = model, settings: dict[str, Any] = settings
        ) -> Results:
            small = _small_model(config, model, settings)
            return trained(small, lambda m: m(input_ids=tokens(), labels=tokens()).loss)

    for name, (config, model, settings, inputs) in _SENSES.items():

        @program(name)
        def train_classifier(
            config: str = config,
            model: str = model,
            settings: dict[str, Any] = settings,
            inputs: dict[str, tuple[int, ...]] = inputs,
        ) -> Results:
            given = {key: wave(*shape) for key, shape in inputs.items()}
            return trained(_small_model(config, model, settings), lambda m: m(**given, labels=_LABELS).loss)


_declare_transformers()


@program("Whisper")
def train_speech_to_text() -> Results:
    settings = {"num_mel_bins": 10, "max_source_positions": 16, "max_target_positions": 16}
    model = _small_model("WhisperConfig", "WhisperForConditionalGeneration", {**_SEQ2SEQ, **settings})
    return trained(model, lambda m: m(input_features=wave(BATCH, 10, 32), labels=tokens()).loss)


@program("GPT-2, sampled with a cache")
def sample_text() -> Results:
    model = _small_model(*_LANGUAGE["GPT-2"]).eval()
    said = model.generate(tokens()[:, :4], max_new_tokens=8, do_sample=True, top_k=20, temperature=0.7, use_cache=True)
    beams = model.generate(tokens()[:, :4], max_new_tokens=6, num_beams=3)
    return [said, beams]


_TIMM: dict[str, dict[str, Any]] = {
    "resnet10t": {"channels": (8, 16, 24, 32), "stem_width": 8},
    "convnext_atto": {"depths": (1, 1, 2, 1), "dims": (8, 16, 24, 32)},
    "mnasnet_small": {},
    "mobilenetv3_small_050": {},
    "densenet121": {"growth_rate": 4, "block_config": (2, 2, 2)},
    "ghostnet_050": {},
    "vit_tiny_patch16_224": {"img_size": 32, "patch_size": 8, "depth": 2, "embed_dim": 24},
    "edgenext_xx_small": {"depths": (1, 1, 2, 1), "dims": (8, 16, 24, 32)},
    "swin_tiny_patch4_window7_224": {
        "img_size": 32,
        "window_size": 4,
        "embed_dim": 12,
        "depths": (1, 1),
        "num_heads": (2, 2),
    },
}


def _declare_timm() -> None:
    for name, smaller in _TIMM.items():

        @program(f"timm {name}")
        def train_image_model(name: str = name, smaller: dict[str, Any] = smaller) -> Results:
            import timm

            model = timm.create_model(name, num_classes=5, **smaller)
            return trained(model, lambda m: F.cross_entropy(m(wave(BATCH, 3, 32, 32)), _LABELS), steps=1)


_declare_timm()


@program("torchvision, augmented images")
def augment_images() -> Results:
    from torchvision.transforms import v2

    transform = v2.Compose(
        [
            v2.RandomResizedCrop(24, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.5] * 3, [0.2] * 3),
        ]
    )
    images = (wave(4, 3, 40, 40) * 127 + 128).to(torch.uint8)
    return [transform(image) for image in images]


@program("GAN of torchgan")
def train_gan() -> Results:
    from torchgan.losses import MinimaxDiscriminatorLoss, MinimaxGeneratorLoss
    from torchgan.models import DCGANDiscriminator, DCGANGenerator

    make = DCGANGenerator(encoding_dims=8, out_size=16, out_channels=1, step_channels=4)
    judge = DCGANDiscriminator(in_size=16, in_channels=1, step_channels=4)
    by_make, by_judge = (torch.optim.Adam(m.parameters(), 1e-3, betas=(0.5, 0.999)) for m in (make, judge))
    real = wave(4, 1, 16, 16)
    for _ in range(2):
        fake = make(torch.randn(4, 8))
        by_judge.zero_grad()
        MinimaxDiscriminatorLoss()(judge(real), judge(fake.detach())).backward()
        by_judge.step()
        by_make.zero_grad()
        MinimaxGeneratorLoss()(judge(fake)).backward()
        by_make.step()
    return [*make.parameters(), *judge.parameters()]


@program("flow of normflows")
def train_flow() -> Results:
    import normflows as nf

    def coupling() -> nn.Module:
        return nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 8, 2], init_zeros=True))

    flows = [layer for _ in range(3) for layer in (coupling(), nf.flows.Permute(2, mode="swap"))]
    model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2), flows)
    results = list(trained(model, lambda m: m.forward_kld(wave(20, 2))))
    return [*results, model.sample(5)[0]]


@program("spline flow of normflows")
def train_spline_flow() -> Results:
    import normflows as nf

    flows = [nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8), nf.flows.LULinearPermute(2)]
    model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2, trainable=False), flows)
    return trained(model, lambda m: m.forward_kld(wave(20, 2)))


@program("Gaussian process of gpytorch")
def train_gaussian_process() -> Results:
    import gpytorch

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, x: torch.Tensor, y: torch.Tensor, likelihood: Any) -> None:
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x: torch.Tensor) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    x = torch.linspace(0, 1, 20)
    y = torch.sin(x * 6.25) + wave(20) / 10
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Exact(x, y, likelihood)
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    results = list(trained(model, lambda m: -marginal(m(x), y)))
    with torch.no_grad():
        predicted = likelihood(model.eval()(torch.linspace(0, 1, 7)))
    return [*results, predicted.mean, predicted.variance]


@program("FNO of neuraloperator")
def train_neural_operator() -> Results:
    from neuralop.models import FNO

    model = FNO(n_modes=(4, 4), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2)
    return trained(model, lambda m: F.mse_loss(m(wave(BATCH, 1, 12, 12)), wave(BATCH, 1, 12, 12).flip(2)))


@program("PPO of stable-baselines3")
def train_ppo() -> Results:
    from stable_baselines3 import PPO

    agent = PPO("MlpPolicy", "CartPole-v1", n_steps=32, batch_size=16, n_epochs=2, seed=0, device="cpu")
    agent.learn(64)
    return agent.policy.parameters()  # type: ignore[no-any-return]


@program("DQN of stable-baselines3")
def train_dqn() -> Results:
    from stable_baselines3 import DQN

    agent = DQN("MlpPolicy", "CartPole-v1", learning_starts=16, batch_size=16, seed=0, device="cpu")
    agent.learn(48)
    return agent.policy.parameters()  # type: ignore[no-any-return]


def _graph() -> tuple[torch.Tensor, torch.Tensor]:
    edges = torch.stack([torch.arange(40) % 13, torch.arange(40) * 5 % 13])
    return wave(13, 6), edges


def _declare_graphs() -> None:
    for layer in ("GCNConv", "GATConv", "SAGEConv", "GINEConv"):

        @program(f"torch_geometric {layer}")
        def train_graph_network(layer: str = layer) -> Results:
            import torch_geometric.nn as graphs

            x, edges = _graph()
            if layer == "GINEConv":
                one: Any = graphs.GINEConv(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6)))
                forward = lambda m: m(x, edges, wave(40, 6))  # noqa: E731
            else:
                one = getattr(graphs, layer)(6, 6)
                forward = lambda m: m(x, edges)  # noqa: E731
            return trained(one, lambda m: F.cross_entropy(forward(m), torch.arange(13) % 6))


_declare_graphs()


@program("diffusion of diffusers")
def train_diffusion() -> Results:
    from diffusers import DDPMScheduler, UNet2DModel

    model = UNet2DModel(
        sample_size=16,
        in_channels=1,
        out_channels=1,
        layers_per_block=1,
        block_out_channels=(8, 16),
        norm_num_groups=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    schedule = DDPMScheduler(num_train_timesteps=20)
    images, noise = wave(BATCH, 1, 16, 16), torch.randn(BATCH, 1, 16, 16)
    times = torch.tensor([3, 11])
    noisy = schedule.add_noise(images, noise, times)
    results = list(trained(model, lambda m: F.mse_loss(m(noisy, times).sample, noise)))
    sample = torch.randn(1, 1, 16, 16)
    with torch.no_grad():
        for t in schedule.timesteps[:3]:
            sample = schedule.step(model(sample, t).sample, t, sample).prev_sample
    return [*results, sample]


@program("autoencoder of diffusers")
def train_autoencoder() -> Results:
    from diffusers import AutoencoderKL

    model = AutoencoderKL(block_out_channels=(8,), norm_num_groups=4, latent_channels=2, sample_size=16)
    return trained(
        model, lambda m: F.mse_loss(m(wave(BATCH, 3, 16, 16), sample_posterior=True).sample, wave(BATCH, 3, 16, 16))
    )


def digest(tensors: Results) -> str:
    """Raises ValueError for NaN: such a program would give the same bits whatever it did before."""
    sha = hashlib.sha256()
    for tensor in tensors:
        if tensor.isnan().any():
            raise ValueError(f"NaN in a result of shape {tuple(tensor.shape)}")
        sha.update(str((tensor.dtype, tuple(tensor.shape))).encode())
        sha.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()


def run(name: str, target: str, threads: int) -> str:
    """The digest of a program, or the error that it ends with."""
    _core.set_target(target)
    torch.set_num_threads(threads)
    repdl.set_num_threads(threads)
    torch.manual_seed(0)
    try:
        with repdl.reproducible():
            return digest(PROGRAMS[name]())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def versions() -> dict[str, str]:
    """Those of the libraries whose programs these are."""
    return {name: metadata.version(name) for name in LIBRARIES.split()}


def main(arguments: list[str]) -> None:
    warnings.simplefilter("ignore")
    targets = _core.supported_targets()
    if arguments == ["--renew"]:
        digests = {name: run(name, targets[-1], 1) for name in PROGRAMS}
        EXPECTED.write_text(json.dumps({"versions": versions(), "digests": digests}, indent=1) + "\n")
        return
    if arguments[:1] == ["--device"]:
        for name in arguments[2:] or PROGRAMS:
            here = run(name, targets[-1], 1)
            with torch.device(arguments[1]):
                there = run(name, targets[-1], 1)
            print(json.dumps([name, here == there, here, there]), flush=True)
        return
    settings = [(target, n) for target in targets for n in THREADS]
    share, shares, *names = arguments
    for number, name in enumerate(names, int(share)):
        found = {
            f"{target}, {n} threads": run(name, target, n)
            for target, n in settings[number % int(shares) :: int(shares)]
        }
        print(json.dumps([name, found]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
