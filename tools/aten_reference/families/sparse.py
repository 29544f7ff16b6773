# SPDX-License-Identifier: MIT
"""Sparse tensors: sums, products and softmax of the elements that are present, in the order of their places."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ..functions import exp, log
from ..numbers import add, div, float32, mul, sub
from ..registry import reference
from ..sums import product_of
from ..tensors import Shape, Sparse, Tensor, rounded, size_of

_LOW = ("", ".bfloat16", ".float16")


def _coo(values: str, count: int, rows: int = 7, columns: int = 9, seed: int = 2) -> str:
    places = f"classes{rows}[{count}]#{seed}, classes{columns}[{count}]#{seed + 1}"
    return f"coo(values={values}[{count}]#1, indices=[{places}], size=[{rows}, {columns}])"


def _csr(values: str, count: int, rows: int = 7, columns: int = 9, seed: int = 2) -> str:
    return "csr" + _coo(values, count, rows, columns, seed).removeprefix("coo")


_OPERANDS = [
    _coo(f"{g}{t}", n) for t in _LOW for g, n in (("wide", 200), ("special", 33), ("zeros", 90), ("normal", 1))
]


def _made(like: Sparse, found: dict[Shape, float]) -> Sparse:
    places = sorted(found)
    dtype = like.values.dtype
    values = Tensor(dtype, (len(places),), [rounded(found[place], dtype) for place in places])
    return Sparse("coo", like.size, places, values)


def _added(x: Sparse) -> dict[Shape, float]:
    """The sums of the elements of each place, in the order in which they stand; each step is rounded to the dtype."""
    found: dict[Shape, float] = {}
    for place, value in x.items():
        found[place] = add(found[place], value) if place in found else value
    return {place: rounded(value, x.values.dtype) for place, value in found.items()}


@reference(
    "_coalesce",
    cases=[f"self={x}" for x in (*_OPERANDS, _coo("wide.float16", 20011, 70, 90)) if "values=normal" not in x],
)
def coalesce(self: Sparse) -> Sparse:
    """torch refuses what is known to be in order, as no element is, or one."""
    return _made(self, _added(self))


def _dense(x: Sparse) -> Tensor:
    found = _added(x)
    dense = Tensor(x.values.dtype, x.size, [0.0] * size_of(x.size))
    for place, value in found.items():
        dense[place] = value + 0.0
    return dense


@reference("_to_dense", cases=[f"self={x}" for x in _OPERANDS])
def to_dense(self: Sparse) -> Tensor:
    return _dense(self)


_ALPHAS = ("", ", alpha=0.3", ", alpha=-1")


def _sums(name: str, step: Callable[[float, float], float]) -> None:
    @reference(
        f"{name}.Tensor",
        cases=[
            *(
                f"self={a}, other={_coo(b, 40, seed=5)}{more}"
                for a, b in zip(_OPERANDS[:4], ("wide", "special", "zeros", "normal"), strict=True)
                for more in _ALPHAS
            ),
            f"self={_coo('normal', 0)}, other={_coo('zeros', 5, seed=5)}",
            *(f"self={g}[7, 9]#4, other={_coo(g, 40)}{more}" for g in ("wide", "special", "zeros") for more in _ALPHAS),
            f"self=normal.bfloat16[7, 9]#4, other={_coo('normal.bfloat16', 40)}",
        ],
    )
    def run(self: Any, other: Sparse, alpha: float = 1) -> Any:
        """Where an operand has no element it counts as -0; of a dense tensor all else stays as it is."""
        dtype = other.values.dtype
        terms = _added(other)

        def one(x: float, y: float) -> float:
            return rounded(step(x, mul(y, float32(float(alpha)))), dtype)  # type: ignore[no-any-return]

        if isinstance(self, Tensor):
            result = self.copy()
            for place, y in terms.items():
                result[place] = one(self[place], y)
            return result
        own = _added(self)
        return _made(self, {place: one(own.get(place, -0.0), terms.get(place, -0.0)) for place in own | terms})


_sums("add", add)
_sums("sub", sub)


def _scaled(name: str, step: Callable[[float, float], float], others: Iterable[str], layouts: Iterable[str]) -> None:
    @reference(f"{name}.Tensor", cases=[f"self={x}, other={y}" for x in layouts for y in others])
    def run(self: Sparse, other: Any) -> Sparse:
        """Each element as it stands, and where it stands."""

        def by(place: Shape) -> float:
            return float(other.data[0] if not other.shape else other[place])

        dtype = self.values.dtype
        values = [rounded(step(value, by(place)), dtype) for place, value in self.items()]
        return Sparse(self.layout, self.size, self.places, Tensor(dtype, self.values.shape, values))


_CSR = [_csr(f"{g}{t}", n) for t in _LOW for g, n in (("wide", 40), ("special", 33), ("zeros", 20), ("normal", 1))]
_scaled("mul", mul, ("normal[]#7", "special[]#9"), [*_OPERANDS, *_CSR])
_scaled("mul", mul, ("special[7, 9]#7", "zeros[7, 9]#7"), _OPERANDS[:4])
_scaled("div", div, ("normal[]#7", "classes1.float32[]#7"), _OPERANDS)


# Products.


def _terms(x: Sparse) -> list[tuple[Shape, float]]:
    """The elements of a matrix, row by row."""
    found = _added(x) if x.layout == "coo" else dict(x.items())
    return [(place, found[place]) for place in sorted(found)]


def _product(a: Sparse, b: Tensor) -> Tensor:
    """In float32: to +0, for each element of a row in turn, the element times a row of b, each step rounded."""
    n = b.shape[1]
    result = Tensor("float32", (a.size[0], n), [0.0] * (a.size[0] * n))
    for (row, k), value in _terms(a):
        for j in range(n):
            result[row, j] = add(result[row, j], mul(value, b[k, j]))
    return result


def _low(x: Tensor, dtype: str) -> Tensor:
    return Tensor(dtype, x.shape, [rounded(value, dtype) for value in x.data])


def _turned(x: Tensor) -> Tensor:
    m, n = x.shape
    return Tensor(x.dtype, (n, m), [x[i, j] for j in range(n) for i in range(m)])


def _sparse_turned(x: Sparse) -> Sparse:
    return Sparse("coo", x.size[::-1], [place[::-1] for place in x.places], x.values)


_FACTORS = [
    (f"{layout(f'{g}{t}', n)}", f"{g}{t}[9, 5]#4")
    for layout in (_coo, _csr)
    for t in _LOW
    for g, n in (("normal", 40), ("special", 33), ("zeros", 40), ("normal", 0))
] + [(_coo("wide", 3001, 70, 90), "wide[90, 33]#4"), (_csr("wide", 3001, 70, 90), "wide[90, 33]#4")]


@reference(
    "mm", cases=[f"self={a}, mat2={b}" for a, b in _FACTORS] + [f"self=normal[5, 7]#4, mat2={_coo('special', 33)}"]
)
def mm(self: Any, mat2: Any) -> Tensor:
    if isinstance(self, Tensor):
        return _turned(_product(_sparse_turned(mat2), _turned(self)))
    return _low(_product(self, mat2), mat2.dtype)


_PAIRS = [
    f"{_coo(f'{g}{t}', n)}, {{}}={_coo(f'{g}{t}', n, 9, 6, 5)}"
    for t in _LOW
    for g, n in (("normal", 40), ("special", 33), ("zeros", 40), ("normal", 1))
]


def _of_sparse(a: Sparse, b: Sparse) -> dict[Shape, float]:
    found: dict[Shape, float] = {}
    of_b = _terms(b)
    for (row, k), x in _terms(a):
        for (of_row, column), y in of_b:
            if of_row == k:
                term, place = mul(x, y), (row, column)
                found[place] = add(found[place], term) if place in found else term
    return found


@reference("mm", cases=["self=" + pair.format("mat2") for pair in _PAIRS])
def mm_of_sparse(self: Sparse, mat2: Sparse) -> Sparse:
    size = (self.size[0], mat2.size[1])
    return _made(Sparse("coo", size, [], self.values), _of_sparse(self, mat2))


@reference("_sparse_sparse_matmul", cases=["self=" + pair.format("other") for pair in _PAIRS])
def sparse_matmul(self: Sparse, other: Sparse) -> Sparse:
    return mm_of_sparse(self, other)


@reference("mm", cases=["self=" + pair.format("mat2").replace("coo(", "csr(") for pair in _PAIRS[:4]])
def mm_of_rows(self: Sparse, mat2: Sparse) -> Sparse:
    result = mm_of_sparse(self, mat2)
    return Sparse("csr", result.size, result.places, result.values)


@reference("mv", cases=[f"self={a}, vec={b.replace('[9, 5]', '[9]').replace('[90, 33]', '[90]')}" for a, b in _FACTORS])
def mv(self: Sparse, vec: Tensor) -> Tensor:
    product = _product(self, Tensor(vec.dtype, (len(vec.data), 1), vec.data))
    return _low(Tensor("float32", (self.size[0],), product.data), vec.dtype)


def _plus(own: float, product: float, beta: Any, alpha: Any) -> float:
    return add(mul(product, float32(float(alpha))), mul(own, float32(float(beta))))


def _shape_of(a: str, b: str) -> str:
    return "70, 33" if "[90" in b else "7, 5"


@reference(
    "addmm",
    cases=[
        f"self={b.split('[')[0]}[{_shape_of(a, b)}]#9, mat1={a}, mat2={b}{more}"
        for a, b in _FACTORS
        for more in ("", ", beta=0.7, alpha=-1.3")
    ],
)
def addmm(self: Tensor, mat1: Sparse, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    pairs = zip(self.data, _product(mat1, mat2).data, strict=True)
    return Tensor(self.dtype, self.shape, [rounded(_plus(x, y, beta, alpha), self.dtype) for x, y in pairs])


@reference(
    "addmv.out",
    cases=[
        f"self={g}[7]#9, mat={_csr(g, 33)}, vec={g}[9]#4, beta=0.7, alpha=-1.3, out=bits[{n}]#8"
        for g in ("normal", "special", "zeros")
        for n in (7, 0)
    ],
)
def addmv_into(self: Tensor, mat: Sparse, vec: Tensor, beta: Any, alpha: Any, out: Tensor) -> Tensor:
    product = _product(mat, Tensor(vec.dtype, (len(vec.data), 1), vec.data))
    pairs = zip(self.data, product.data, strict=True)
    return Tensor(self.dtype, self.shape, [_plus(x, y, beta, alpha) for x, y in pairs])


# Sums of a csr matrix.


@reference(
    "_sparse_csr_sum.dim_dtype",
    cases=[
        f"self={_csr(f'{g}{t}', n)}, dim={dim}, keepdim=True"
        for t in _LOW
        for g, n in (("wide", 40), ("special", 33), ("zeros", 20), ("normal", 0))
        for dim in ([0], [-1], [0, 1])
    ]
    + [f"self={_csr('wide', 2000, 70, 90)}, dim=[{d}], keepdim=True" for d in (0, 1)],
)
def csr_sum(self: Sparse, dim: list[int], keepdim: bool) -> Sparse:
    assert keepdim
    summed = {d % 2 for d in dim}

    def kept(place: Shape) -> Shape:
        return tuple(0 if d in summed else at for d, at in enumerate(place))

    found = _added(Sparse("coo", self.size, [kept(place) for place in self.places], self.values))
    places, dtype = sorted(found), self.values.dtype
    size = tuple(1 if d in summed else n for d, n in enumerate(self.size))
    return Sparse("csr", size, places, Tensor(dtype, (len(places),), [found[place] for place in places]))


# Products of a csr matrix that are reduced, or taken at its elements.


def _with_values(a: Sparse, values: list[float], dtype: str) -> Sparse:
    return Sparse("csr", a.size, a.places, Tensor(dtype, (len(values),), [rounded(x, dtype) for x in values]))


def _row(x: Tensor, i: int) -> list[float]:
    n = x.shape[1]
    return x.data[i * n : (i + 1) * n]


@reference(
    "sparse_sampled_addmm",
    cases=[
        f"self={_csr(f'{g}{t}', 33)}, mat1={g}{t}[7, {k}]#4, mat2={g}{t}[{k}, 9]#5{more}"
        for t in _LOW[:1]
        for g, k in (("normal", 301), ("special", 5), ("zeros", 5), ("normal", 0))
        for more in ("", ", beta=0.7, alpha=-1.3")
    ]
    + [f"self={_csr('normal', 33)}, mat1=normal[7, 301]#4, mat2=normal[301, 9]#5, order='sequential'"],
)
def sampled_addmm(
    self: Sparse, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1, order: str = "blocked"
) -> Sparse:
    columns = _turned(mat2)
    values = [_plus(x, product_of(_row(mat1, i), _row(columns, j), order), beta, alpha) for (i, j), x in self.items()]
    return _with_values(self, values, self.values.dtype)


_REDUCED = [
    f"{_csr(f'{g}{t}', n)}, {{}}={g}{t}[9, 5]#4"
    for t in _LOW
    for g, n in (("normal", 20), ("special", 33), ("zeros", 20), ("ties", 60))
]


def _is_better(x: float, best: float, how: str) -> bool:
    if best != best:
        return False
    return x != x or (x > best if how == "amax" else x < best)


@reference(
    "_sparse_mm_reduce_impl",
    cases=[
        f"self={pair.format('other')}, reduce={how!r}" for pair in _REDUCED for how in ("sum", "mean", "amax", "amin")
    ],
)
def reduced_mm(self: Sparse, other: Tensor, reduce: str) -> list[Tensor]:
    """An empty row has +0, and as its place the number of elements."""
    (rows, _), n, dtype = self.size, other.shape[1], other.dtype
    if reduce in ("sum", "mean"):
        result = _product(self, other)
        if reduce == "mean":
            count = [sum(place[0] == i for place in self.places) for i in range(rows)]
            result.data = [div(x, float(max(count[i // n], 1))) for i, x in enumerate(result.data)]
        return [_low(result, dtype), Tensor("int64", (0,), [])]
    values, places = (
        Tensor(dtype, (rows, n), [0.0] * (rows * n)),
        Tensor("int64", (rows, n), [len(self.places)] * (rows * n)),
    )
    for number, ((i, k), x) in enumerate(self.items()):
        for j in range(n):
            term = mul(x, other[k, j])
            if places[i, j] == len(self.places) or _is_better(term, values[i, j], reduce):
                values[i, j], places[i, j] = term, number
    return [_low(values, dtype), places]


@reference(
    "_sparse_mm_reduce_impl_backward",
    cases=[
        f"self={_csr(f'{g}{t}', n)}, grad_out={g}{t}[7, 5]#6, weight={g}{t}[9, 5]#4, reduce={how!r}, "
        f"arg_out=classes8[{'7, 5' if how[0] == 'a' else '0'}]#7, output_mask=[True, True]"
        for t in _LOW
        for g, n in (("normal", 20), ("special", 33), ("zeros", 20))
        for how in ("sum", "mean", "amax")
    ],
)
def reduced_mm_backward(
    self: Sparse, grad_out: Tensor, weight: Tensor, reduce: str, arg_out: Tensor, output_mask: list[bool]
) -> list[Any]:
    """Of a largest term the gradient goes to that element alone, of a mean it is divided first."""
    n, dtype = grad_out.shape[1], weight.dtype
    grad = Tensor("float32", grad_out.shape, list(grad_out.data))
    of_weight = Tensor("float32", weight.shape, [0.0] * len(weight.data))
    if reduce == "amax":
        of_self = [0.0] * len(self.places)
        for i, j in grad.indices():
            number = arg_out[i, j]
            if number < len(self.places):
                k = self.places[number][1]
                of_self[number] = add(of_self[number], mul(grad[i, j], weight[k, j]))
                of_weight[k, j] = add(of_weight[k, j], mul(grad[i, j], self.values.data[number]))
        return [_with_values(self, of_self, dtype), _low(of_weight, dtype)]
    if reduce == "mean":
        count = [sum(place[0] == i for place in self.places) for i in range(self.size[0])]
        grad.data = [div(x, float(max(count[i // n], 1))) for i, x in enumerate(grad.data)]
    products = [product_of(_row(grad, i), _row(weight, k)) for i, k in self.places]
    for (i, k), x in self.items():
        for j in range(n):
            of_weight[k, j] = add(of_weight[k, j], mul(x, grad[i, j]))
    return [_with_values(self, products, dtype), _low(of_weight, dtype)]


# Softmax of the elements that are present.


def _lines(places: Iterable[Shape], dim: int) -> dict[int, list[Shape]]:
    """The places of each line along a dimension of a matrix, in order."""
    found: dict[int, list[Shape]] = {}
    for place in sorted(places):
        found.setdefault(place[1 - dim], []).append(place)
    return found


_SOFTMAX = [
    f"{_coo(f'{g}{t}', n)}, dim={dim}, half_to_float=False"
    for t in _LOW
    for g, n in (("normal", 40), ("special", 33), ("infinite", 33), ("wide", 40), ("zeros", 3))
    for dim in (0, 1)
]


def _softmax(logarithm: bool) -> Any:
    def run(self: Sparse, dim: int, half_to_float: bool) -> Sparse:
        values, found = _added(self), dict[Shape, float]()
        for line in _lines(values, dim).values():
            numbers = [values[place] for place in line]
            largest = math.nan if any(x != x for x in numbers) else max(numbers)
            largest = 0.0 if math.isinf(largest) else largest
            rests = [sub(x, largest) for x in numbers]
            powers, total = [exp(x) for x in rests], 0.0
            for x in powers:
                total = add(total, x)
            results = [sub(x, log(total)) for x in rests] if logarithm else [div(x, total) for x in powers]
            found |= dict(zip(line, results, strict=True))
        return _made(self, found)

    return run


reference("_sparse_softmax", cases=[f"self={x}" for x in _SOFTMAX])(_softmax(False))
reference("_sparse_log_softmax", cases=[f"self={x}" for x in _SOFTMAX])(_softmax(True))

_SLOPES = [
    f"grad_output={_coo(f'{g}{t}', 40, seed=s)}, output={_coo(f'{g}{t}', 40)}, dim={dim}, self={_coo(f'{g}{t}', 40)}"
    for t in _LOW
    for g in ("normal", "special", "zeros")
    for s in (2, 5)
    for dim in (0, 1)
]


def _softmax_backward(logarithm: bool) -> Any:
    def run(grad_output: Sparse, output: Sparse, dim: int, self: Sparse) -> Sparse:
        """A gradient that is not there is +0."""
        values, slopes, found = _added(output), _added(grad_output), dict[Shape, float]()
        for line in _lines(values, dim).values():
            total = 0.0
            for place in line:
                g = slopes.get(place, 0.0)
                total = add(total, g if logarithm else mul(g, values[place]))
            for place in line:
                g, y = slopes.get(place, 0.0), values[place]
                found[place] = sub(g, mul(exp(y), total)) if logarithm else mul(sub(g, total), y)
        return _made(output, found)

    return run


reference("_sparse_softmax_backward_data", cases=_SLOPES)(_softmax_backward(False))
reference("_sparse_log_softmax_backward_data", cases=_SLOPES)(_softmax_backward(True))
