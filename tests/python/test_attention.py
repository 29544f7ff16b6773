# SPDX-License-Identifier: MIT
"""Attention is what the ops that it is defined by give, and a query does not see what it does not attend to."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

import repdl
from repdl import _core, ops
from support import TARGETS, run_python, same_bits

SHAPES = [(2, 6, 3, 70, 33, 16, 40), (1, 2, 1, 300, 530, 64, 64), (1, 1, 1, 400, 400, 8, 8), (3, 1, 1, 1, 70, 5, 3)]
"""(B, H, G, L, S, E, V); the scores of a head fit the cache or do not."""


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def operands(
    shape: tuple[int, ...], dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    batch, heads, key_heads, queries, keys, width, value_width = shape
    return (
        normal(batch, heads, queries, width).to(dtype),
        normal(batch, key_heads, keys, width).to(dtype),
        normal(batch, key_heads, keys, value_width).to(dtype),
    )


def composed(query: Any, key: Any, value: Any, mask: Any, dropout: Any, scale: float, order: str) -> Any:
    group = query.shape[1] // key.shape[1]
    # The gradient of expand() would be a sum of torch's, so each head has a key head of its own here.
    key, value = key.repeat_interleave(group, 1).detach(), value.repeat_interleave(group, 1).detach()
    key.requires_grad_(), value.requires_grad_()
    scores = ops.mm(query * torch.tensor(scale, dtype=query.dtype), key, False, True, order) + mask
    p = ops.softmax(scores, -1, order)
    return key, value, ops.mm(p * dropout, value, False, False, order)


@pytest.mark.parametrize("order", ["blocked", "sequential"])
@pytest.mark.parametrize(("shape", "dtype"), [*((s, torch.float32) for s in SHAPES), (SHAPES[0], torch.float64)])
def test_attention_is_its_composition(shape: tuple[int, ...], dtype: torch.dtype, order: str) -> None:
    query, key, value = operands(shape, dtype)
    batch, heads, key_heads, queries, keys, _, _ = shape
    mask, dropout = normal(batch, 1, queries, keys).to(dtype), (normal(heads, queries, keys) > -1).to(dtype) * 1.25
    grad = normal(*query.shape[:3], value.shape[3]).to(dtype)
    for tensor in (query, key, value):
        tensor.requires_grad_()
    per_head, per_head_value, expected = composed(query, key, value, mask, dropout, 0.3, order)
    grad_query, by_key, by_value = torch.autograd.grad(expected, (query, per_head, per_head_value), grad)
    expected_grads = [
        grad_query,
        *(ops.sum(x.unflatten(1, (key_heads, -1)), (2,), order=order) for x in (by_key, by_value)),
    ]
    for number, target in enumerate(TARGETS):
        _core.set_target(target)
        repdl.set_num_threads(number % 3 + 1)
        output = ops.attention(query, key, value, mask, dropout, scale=0.3, order=order)
        assert same_bits(output, expected)
        grads = torch.autograd.grad(output, (query, key, value), grad)
        for got, want in zip(grads, expected_grads, strict=True):
            assert same_bits(got, want)


@pytest.mark.parametrize("order", ["blocked", "sequential"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_prompt_in_pieces_gives_the_bits_of_the_whole(shape: tuple[int, ...], order: str) -> None:
    query, key, value = operands(shape)
    queries, keys = query.shape[2], key.shape[2]
    # What no query has so far must not show, not even as a NaN.
    value[:, :, keys // 2] = torch.inf
    key[:, :, keys // 3] = torch.nan
    whole = ops.attention(query, key, value, is_causal=True, order=order)
    for i in {0, 1, queries // 3, keys // 3, queries // 2, 255, 256, 257, queries - 1}:
        if i >= queries:
            continue
        n = min(i + 1, keys)
        last = ops.attention(query[:, :, i : i + 1], key[:, :, :n], value[:, :, :n], order=order)
        assert same_bits(last, whole[:, :, i : i + 1]), i
        # A piece from query 0 on, with the keys so far.
        piece = ops.attention(query[:, :, : i + 1], key[:, :, :n], value[:, :, :n], is_causal=True, order=order)
        assert same_bits(piece, whole[:, :, : i + 1]), i


def test_keys_masked_at_the_end_change_nothing() -> None:
    query, key, value = operands((2, 4, 2, 9, 600, 32, 64))
    lengths = torch.tensor([530, 129])
    mask = torch.where(torch.arange(600) < lengths[:, None], 0.0, -torch.inf)[:, None, None]
    padded = ops.attention(query, key, value, mask)
    for b, n in enumerate(lengths.tolist()):
        alone = ops.attention(query[b : b + 1], key[b : b + 1, :, :n], value[b : b + 1, :, :n])
        assert same_bits(padded[b : b + 1], alone)


@pytest.mark.parametrize("is_causal", [False, True])
def test_gradients_agree_with_torch(is_causal: bool) -> None:
    for shape in SHAPES:
        query, key, value = (x.requires_grad_() for x in operands(shape))
        grad = normal(*query.shape[:3], value.shape[3])
        results = []
        for attend in (ops.attention, torch.nn.functional.scaled_dot_product_attention):
            options = {} if attend is ops.attention else {"enable_gqa": True}
            output = attend(query, key, value, is_causal=is_causal, **options)
            results.append((output, *torch.autograd.grad(output, (query, key, value), grad)))
        for ours, theirs in zip(*results, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_what_a_query_does_not_have_stays_out_of_its_gradients() -> None:
    query, key, value = operands((1, 2, 1, 600, 600, 8, 8))
    grad = normal(1, 2, 600, 8)
    cut = 300
    expected = ops.attention_grad(
        grad[:, :, cut:], query[:, :, cut:], key, value, torch.triu(torch.full((300, 600), -torch.inf), cut + 1)
    )
    grad[:, :, 7], query[:, :, 11] = torch.inf, torch.nan
    _, by_key, by_value = ops.attention_grad(grad, query, key, value, is_causal=True)
    # Keys behind the last of the queries that were made infinite meet the later ones alone, in other places of the sum.
    assert by_key[:, :, 12:].isfinite().all()
    assert by_value[:, :, 12:].isfinite().all()
    assert not by_value[:, :, :8].isfinite().any()
    torch.testing.assert_close(by_key[:, :, cut:], expected[1][:, :, cut:], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(by_value[:, :, cut:], expected[2][:, :, cut:], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("shape", "dtype"), [*((s, torch.float32) for s in SHAPES), (SHAPES[0], torch.float64)])
def test_a_drawn_mask_is_that_of_bernoulli(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    query, key, value = (x.requires_grad_() for x in operands(shape, dtype))
    grad = normal(*query.shape[:3], value.shape[3]).to(dtype)
    mask = torch.empty(*query.shape[:3], key.shape[2])
    ops.philox_bernoulli(mask, 3, 4, 0.9, 5)
    mask = mask.to(dtype) / 0.9
    for target in TARGETS:
        _core.set_target(target)
        results = []
        for dropout in ({"dropout_mask": mask}, {"dropout_p": 0.1, "seed": 3, "call": 4, "offset": 5}):
            output = ops.attention(query, key, value, **dropout)
            results.append((output, *torch.autograd.grad(output, (query, key, value), grad)))
        for given, drawn in zip(*results, strict=True):
            assert same_bits(given, drawn)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rng", ["philox", "torch"])
def test_dropout_of_a_program_is_bernoullis(rng: str, dtype: torch.dtype) -> None:
    query, key, value = operands((2, 6, 6, 7, 10, 8, 8), dtype)
    with repdl.reproducible(rng=rng):
        torch.manual_seed(1)
        got = sdpa(query, key, value, dropout_p=0.3)
        after = torch.rand(3)
        torch.manual_seed(1)
        mask = torch.empty(2, 6, 7, 10, dtype=dtype).bernoulli_(0.7) / 0.7
        assert same_bits(torch.rand(3), after)
        assert same_bits(got, ops.attention(query, key, value, dropout_mask=mask))
        assert same_bits(sdpa(query, key, value, dropout_p=1.0), torch.zeros(2, 6, 7, 8, dtype=dtype))
        randomness = torch.func.vmap(lambda q: sdpa(q, q, q, dropout_p=0.3), randomness="different")(query)
        assert randomness.shape == query.shape
        with pytest.raises(RuntimeError, match="randomness"):
            torch.func.vmap(lambda q: sdpa(q, q, q, dropout_p=0.3))(query)


def test_dropout_is_drawn_or_given() -> None:
    query, key, value = operands((2, 6, 3, 7, 10, 8, 5))
    with pytest.raises(ValueError, match=r"\[attention\] dropout_p draws a mask; give it or a dropout_mask, not both"):
        ops.attention(query, key, value, dropout_mask=torch.ones(7, 10), dropout_p=0.1)
    for p in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match=r"\[attention\] dropout_p must be between 0 and 1"):
            ops.attention(query, key, value, dropout_p=p)
    with pytest.raises(ValueError, match=r"\[attention\] offset must be an index"):
        ops.attention(query, key, value, dropout_p=0.1, offset=2**63 - 840)


def test_memory_is_linear_in_the_sequence() -> None:
    code = """
import resource, torch, repdl
from torch.nn.functional import scaled_dot_product_attention
repdl.set_num_threads(1)
repdl.enable()
q, k, v = (torch.ones(1, 1, n, 2, requires_grad=True) for n in (6_000,) * 3)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True).sum().backward()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    assert int(run_python(code)) < 40_000  # kilobytes; the scores would be 144 000


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("dropout_p", [0.0, 0.2])
def test_second_gradients(is_causal, dropout_p):
    def second(dtype, attend):
        generator = torch.Generator().manual_seed(1)
        shapes = ((2, 4, 5, 8), (2, 2, 5, 8), (2, 2, 5, 6))
        q, k, v = (torch.randn(s, generator=generator).to(dtype).requires_grad_() for s in shapes)
        first = torch.autograd.grad(attend(q, k, v).pow(2).sum(), (q, k, v), create_graph=True)
        return torch.autograd.grad(sum(g.pow(2).sum() for g in first), (q, k, v))

    def stock(q, k, v):
        k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
        if is_causal:
            scores = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), float("-inf"))
        mask = torch.empty(2, 4, 5, 5)
        ops.philox_bernoulli(mask, 1, 2, 1 - dropout_p)
        return (scores.softmax(-1) * mask / (1 - dropout_p)) @ v

    drawn = {"dropout_p": dropout_p, "seed": 1, "call": 2}
    ours = second(torch.float32, lambda q, k, v: ops.attention(q, k, v, is_causal=is_causal, **drawn))
    for a, b in zip(ours, second(torch.float64, stock), strict=True):
        assert torch.allclose(a.double(), b, rtol=1e-4, atol=1e-4 * float(b.abs().max()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("shape", [(2, 3, 5, 8), (2, 5, 8)])
def test_a_gradient_for_the_mask_changes_no_bit(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    torch.manual_seed(3)
    query, key, value = (torch.randn(shape).to(dtype) for _ in range(3))
    mask = torch.randn(shape[-2], shape[-2]).to(dtype)
    with repdl.reproducible():
        expected = sdpa(query, key, value, mask)
        result = sdpa(query, key, value, mask.requires_grad_())
        result.sum().backward()
    assert mask.grad is not None and mask.grad.dtype == dtype
    assert same_bits(result.detach(), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_encoder_of_padded_sequences_takes_no_fast_path(dtype: torch.dtype) -> None:
    """In evaluation torch packs what is not padding into a nested tensor, and has a kernel for a whole layer."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    nested, dense = (nn.TransformerEncoder(layer, 2, enable_nested_tensor=nests).to(dtype) for nests in (True, False))
    dense.load_state_dict(nested.state_dict())
    x, is_padding = torch.randn(3, 5, 16).to(dtype), torch.arange(5) >= torch.tensor([[5], [3], [2]])
    with repdl.reproducible():
        expected = dense(x, src_key_padding_mask=is_padding)
        assert expected.requires_grad
        of_nested = expected.detach().masked_fill(is_padding[..., None], 0.0)
        for model, result in ((nested.eval(), of_nested), (dense.eval(), expected.detach())):
            with torch.no_grad():
                assert same_bits(model(x, src_key_padding_mask=is_padding), result)
        torch.backends.mha.set_fastpath_enabled(True)
        for model in (nested, dense):
            with torch.no_grad(), pytest.raises(repdl.NotReproducibleError, match=r"set_fastpath_enabled\(False\)"):
                model(x, src_key_padding_mask=is_padding)


@pytest.mark.filterwarnings("ignore:.*nested")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("heads", [(), (2,)])
def test_components_of_a_nested_tensor_are_as_alone(heads: tuple[int, ...], dtype: torch.dtype) -> None:
    lengths = [(3, 5), (6, 2), (1, 1)]
    parts = [[normal(*heads, length, 4).to(dtype).requires_grad_() for length in sizes] for sizes in lengths]
    alone = [[part.detach().clone().requires_grad_() for part in each] for each in parts]
    with repdl.reproducible():
        query, key = (torch.nested.as_nested_tensor([each[i] for each in parts]) for i in (0, 1))
        result = sdpa(query, key, key * 2, scale=0.3)
        assert result.is_nested
        expected = [sdpa(q[None], k[None], k[None] * 2, scale=0.3)[0] for q, k in alone]
        assert all(map(same_bits, result.unbind(), expected))
        result.to_padded_tensor(0.0).square().sum().backward()
        for part in expected:
            part.square().sum().backward()
        for each, others in zip(parts, alone, strict=True):
            assert all(same_bits(a.grad, b.grad) for a, b in zip(each, others, strict=True))
        drawn = sdpa(query, key, key, dropout_p=0.5)
        assert not any(map(same_bits, drawn.unbind(), sdpa(query, key, key).unbind()))


@pytest.mark.filterwarnings("ignore:.*nested")
def test_what_torch_refuses_of_nested_tensors() -> None:
    x = torch.nested.nested_tensor([normal(2, 3, 4), normal(2, 5, 4)])
    refused: list[tuple[Any, ...]] = [
        (x, x, x, torch.ones(3, 3)),
        (x, x, x, None, 0.0, True),
        (x, normal(2, 2, 3, 4), x),
    ]
    refused.append((x, torch.nested.nested_tensor([normal(2, 3, 4)]), x))
    refused.append((x.transpose(1, 2),) * 3)
    for args in refused:
        with pytest.raises(RuntimeError) as torchs:
            sdpa(*args)
        with repdl.reproducible(), pytest.raises(RuntimeError) as ours:
            sdpa(*args)
        assert str(ours.value) == str(torchs.value)


def test_without_dropout_nothing_is_drawn() -> None:
    query = normal(1, 2, 3, 4)
    with repdl.reproducible(rng="philox"), torch.no_grad():
        torch.manual_seed(5)
        expected = torch.rand(4), torch.rand(4)
        torch.manual_seed(5)
        first = torch.rand(4)
        sdpa(query, query, query)
        sdpa(query.bfloat16(), query.bfloat16(), query.bfloat16(), is_causal=True)
        assert torch.equal(first, expected[0])
        assert torch.equal(torch.rand(4), expected[1])


BROADCAST = [
    ((1, 4, 5, 8), (3, 4, 6, 8), (3, 4, 6, 8)),
    ((3, 4, 5, 8), (1, 4, 6, 8), (1, 4, 6, 7)),
    ((3, 1, 5, 8), (3, 4, 6, 8), (1, 1, 6, 8)),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("needs_gradient", [False, True])
@pytest.mark.parametrize("shapes", BROADCAST)
def test_operands_are_broadcast(shapes: Any, needs_gradient: bool, dtype: torch.dtype) -> None:
    """Without a mask too, where the call goes to the op at once, if it fits."""
    given = [normal(*shape).to(dtype).requires_grad_(needs_gradient) for shape in shapes]
    first = torch.broadcast_shapes(*(shape[:2] for shape in shapes))
    with repdl.reproducible():
        result = sdpa(*given)
        assert same_bits(result, sdpa(*(t.expand(*first, -1, -1).contiguous() for t in given)))
    torch.testing.assert_close(result, sdpa(*given))


@pytest.mark.parametrize("mask", [normal(6), normal(6) > 0, normal()], ids=["of keys", "of truth values", "a number"])
def test_masks_of_fewer_dimensions_are_broadcast_as_in_torch(mask: torch.Tensor) -> None:
    """Where torch takes its steps. Its fused kernel for images refuses them."""
    given = normal(4, 5, 8), normal(4, 6, 8), normal(4, 6, 8)
    with repdl.reproducible():
        result = sdpa(*given, mask)
        assert same_bits(result, sdpa(*given, mask.expand(5, 6)))
    torch.testing.assert_close(result, sdpa(*given, mask))


@pytest.mark.parametrize("shared", [((2, 2), (2, 4)), ((2, 4), (2, 1)), ((1, 2), (1, 2))])
def test_keys_and_values_share_heads_each_by_its_number(shared: Any) -> None:
    query, (key, value) = normal(2, 4, 5, 8), (normal(*outer, 6, 8) for outer in shared)
    with repdl.reproducible():
        result = sdpa(query, key, value, enable_gqa=True)
        assert same_bits(result, sdpa(query, *(t.repeat_interleave(4 // t.shape[1], 1) for t in (key, value))))
    torch.testing.assert_close(result, sdpa(query, key, value, enable_gqa=True))


@pytest.mark.parametrize(
    ("shape", "key_shape", "mask", "gqa", "what"),
    [
        ((2, 4, 5, 8), (2, 4, 5, 8), (5,), False, "attn_mask"),
        ((2, 4, 5, 8), (2, 4, 5, 8), (), False, "attn_mask"),
        ((2, 4, 5, 8), (2, 4, 5, 8), (3, 2, 4, 5, 5), False, "attn_mask"),
        ((2, 5, 8), (2, 5, 8), (1, 1, 5, 5), False, "attn_mask"),
        ((8,), (5, 8), None, False, "query"),
        ((8,), (8,), None, False, "query"),
        ((), (), None, False, "query"),
        ((2, 4, 5, 8), (2, 3, 5, 8), None, True, "key"),
        ((5, 8), (5, 8), None, True, "key"),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_shapes_that_torch_refuses(
    shape: tuple[int, ...], key_shape: tuple[int, ...], mask: Any, gqa: bool, what: str, dtype: torch.dtype
) -> None:
    query, key = normal(*shape).to(dtype), normal(*key_shape).to(dtype)
    attn_mask = None if mask is None else normal(*mask).to(dtype)
    with pytest.raises((RuntimeError, IndexError)) as torchs:
        sdpa(query, key, key, attn_mask, enable_gqa=gqa)
    with repdl.reproducible(), pytest.raises(torchs.type, match=rf"scaled_dot_product_attention\W+{what}"):
        sdpa(query, key, key, attn_mask, enable_gqa=gqa)


def test_operands_of_two_types_raise_torchs_error() -> None:
    query = normal(2, 4, 5, 8)
    with repdl.reproducible(), pytest.raises(RuntimeError, match="to have the same dtype"):
        sdpa(query, query.double(), query)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_operands_without_data_have_a_shape(dtype: torch.dtype) -> None:
    query, key, value = (x.to("meta") for x in operands(SHAPES[0], dtype))
    with repdl.reproducible():
        output = sdpa(query, key, value, is_causal=True, enable_gqa=True)
        layer = nn.TransformerEncoderLayer(8, 2, batch_first=True, device="meta", dtype=dtype).eval()
        assert layer(torch.empty(3, 5, 8, device="meta", dtype=dtype)).shape == (3, 5, 8)
    assert output.is_meta and output.dtype == dtype and output.shape == (2, 6, 70, 40)


def test_a_batch_of_one_is_that_of_all() -> None:
    query, key, value = operands((3, 2, 2, 5, 7, 8, 8))
    with repdl.reproducible():
        output = sdpa(query, key[:1], value[:1])
        assert same_bits(output, sdpa(query, key[:1].repeat(3, 1, 1, 1), value[:1].repeat(3, 1, 1, 1)))
    torch.testing.assert_close(output, sdpa(query, key[:1], value[:1]))


@pytest.mark.parametrize(
    ("shapes", "dtypes"),
    [
        (((1, 1, 3, 4), (1, 1, 3, 4), (1, 1, 3, 4)), "fdf"),
        (((1, 1, 3, 4), (1, 1, 3, 4), (1, 1, 3, 4)), "lll"),
        (((1, 1, 3, 4), (1, 1, 3, 4), (1, 1, 3, 4)), "FFF"),
        (((1, 1, 3, 4), (1, 1, 3, 5), (1, 1, 3, 4)), "fff"),
        (((2, 1, 3, 4), (3, 1, 3, 4), (3, 1, 3, 4)), "fff"),
    ],
)
def test_what_torch_refuses_is_refused_alike(shapes: tuple[tuple[int, ...], ...], dtypes: str) -> None:
    of = {"f": torch.float32, "d": torch.float64, "l": torch.int64, "F": torch.complex64}
    given = [torch.ones(shape, dtype=of[dtype]) for shape, dtype in zip(shapes, dtypes, strict=True)]
    with pytest.raises(RuntimeError) as stock:
        sdpa(*given)
    with repdl.reproducible(), pytest.raises(type(stock.value)) as ours:
        sdpa(*given)
    assert str(ours.value) == str(stock.value) or dtypes == "lll"
