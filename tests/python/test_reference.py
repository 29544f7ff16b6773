# SPDX-License-Identifier: MIT
"""Every op against the slow reference, where no golden file has been: other shapes, dtypes, orders and numbers."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import repdl
from reference import numel, reference_digests, sizes_of, with_generators, with_sizes
from repdl import _core
from repdl._op import registry
from support import ALL_OPS, TARGETS, digest, golden_lines, results_of, to_numpy, to_torch

BOUNDARIES = [
    0, 1, 2, 3, 5, 7, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 131, 255, 256, 257, 509, 511, 512, 513, 769, 1021,
]  # fmt: skip
"""Around vectors, tiles, lanes and chunks, and primes."""

LONG = [4093, 4095, 4096, 4097, 8191, 8193, 12289]
"""Around the chunk of a sum."""

KINDS = ["uniform", "normal", "wide", "tiny", "positive", "unit", "bits", "special", "infinite", "zeros"]
LIMIT = 15_000

EXAMPLES = int(os.environ.get("REPDL_EXAMPLES", "0"))
"""Random calls of each op; without it 20 which are always the same."""


def library_digest(case: str) -> str | None:
    """None if the library refuses the case, with an error that names the op, or there is no such case."""
    try:
        name, arguments = _core.read_case(case)
    except ValueError:
        return None  # classes0[…]
    try:
        results = results_of(registry[name], to_torch(arguments))
    except (ValueError, TypeError) as error:
        if f"[{name}]" not in str(error):
            raise
        return None
    return digest([to_numpy(result) for result in results])


def check(cases: list[str]) -> int:
    """Compares what the library takes with the reference, on each target. Returns how many there were."""
    taken = [(case, library_digest(case)) for case in cases]
    accepted = [case for case, found in taken if found is not None]
    expected = dict(zip(accepted, reference_digests(accepted), strict=True))
    for number, target in enumerate(TARGETS):
        _core.set_target(target)
        repdl.set_num_threads((1, 3, 2, 7)[number % 4])
        for case in accepted:
            assert library_digest(case) == expected[case], f"{case} on {target}"
    return len(accepted)


def samples(name: str) -> list[str]:
    return [text for _, text in golden_lines(name) if numel(text) <= LIMIT]


@pytest.mark.parametrize("name", ALL_OPS)
def test_sizes_around_every_boundary(name: str) -> None:
    """Each size of two samples in turn, in each order, through all boundaries."""
    op, all_samples = registry[name], samples(name)
    boundaries = [*BOUNDARIES, *LONG] if op.takes_order else BOUNDARIES
    cases = set()
    for text in all_samples[: 2 if op.takes_order else 1] + all_samples[-1:]:
        for size in sizes_of(text):
            cases |= {with_sizes(text, {size: n}) for n in boundaries}
    chosen = sorted(case for case in cases if numel(case) <= LIMIT)
    assert check(chosen) >= len(BOUNDARIES) // 3, "hardly any case was valid"


@st.composite
def calls(draw: Any, name: str) -> str:
    case = draw(st.sampled_from(samples(name)))
    changed = draw(st.lists(st.sampled_from(sizes_of(case) or [1]), max_size=3, unique=True))
    number = st.one_of(st.sampled_from(BOUNDARIES), st.integers(0, 300))
    case = with_sizes(case, {size: draw(number) for size in changed})
    assume(numel(case) <= 2000)
    kinds = draw(st.lists(st.sampled_from([*KINDS, ""]), min_size=1, max_size=3))
    dtypes = draw(st.sampled_from([[], [""], [".bfloat16"], [".float16"], [".bfloat16", ""], [".float64"]]))
    return with_generators(case, kinds, dtypes, draw(st.integers(0, 999)))


@pytest.mark.parametrize("name", ALL_OPS)
def test_any_call(name: str) -> None:
    valid = 0

    @settings(
        max_examples=EXAMPLES or 20, derandomize=not EXAMPLES, deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=calls(name))
    def compare(case: str) -> None:
        nonlocal valid
        valid += check([case])

    compare()
    assert valid >= 5, "hardly any call was valid"


def test_a_wrong_result_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    case = "mm(input=normal[3, 300]#1, mat2=normal[300, 2]#2, order='blocked')"
    assert check([case]) == 1
    other = case.replace("blocked", "sequential")
    monkeypatch.setattr("test_reference.library_digest", lambda text: other_digest)
    other_digest = reference_digests([other])[0]
    with pytest.raises(AssertionError, match="mm"):
        check([case])
