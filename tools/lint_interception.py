# SPDX-License-Identifier: MIT
"""Fails on arithmetic in the interception layer, which maps torch's overloads to ops and computes nothing itself.

    python tools/lint_interception.py

What counts as arithmetic: an operator such as `+`, a method such as `.mul()` or a function such as `torch.exp` that
computes element by element and rounds, of a tensor that may hold floating-point numbers. What does not: ops of the
core, calls that torch sends to one of them (`torch.mm`, `x.sum()`), comparisons, choices, signs, copies, shapes, and
integers, of which the line says so in a comment, `# integers`.

Tensors are recognised by annotations, by calls of torch and of the ops, and by what is assigned from them. A function
that is an exception stands in `EXCEPTIONS` with the reason; an entry that nothing needs fails too.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYER = ROOT / "python/repdl/interception"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ROUNDING = _words(
    "add add_ addcdiv addcdiv_ addcmul addcmul_ cos cosh div div_ divide erf erfc exp exp2 exp_ expm1 expm1_ gelu "
    "hypot lerp lerp_ log log10 log1p log2 log_ logaddexp mul mul_ multiply pow pow_ reciprocal rsqrt sigmoid "
    "silu sin sinh softplus sqrt sqrt_ square sub sub_ subtract tan tanh true_divide xlogy"
)
"""Methods and functions of torch that compute element by element, and round."""

OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)

VIEWS = frozenset({"H", "T", "data", "imag", "mH", "mT", "real"})
"""Attributes of a tensor that are tensors."""

ASKS = _words(
    "data_ptr dense_dim dim element_size get_device has_names ndimension nelement numel item size storage_offset "
    "sparse_dim stride tolist type untyped_storage"
)
"""Methods of a tensor that give none."""

TORCH_ASKS = _words(
    "_dispatch_keys _dispatch_tls_local_exclude_set _dispatch_tls_local_include_set "
    "broadcast_shapes can_cast dtype finfo get_default_dtype get_num_threads iinfo is_storage promote_types "
    "result_type typename device Generator Size"
)
"""Functions of torch that give no tensor."""

INTEGERS = _words(
    "arange argsort argmax argmin bincount bucketize count_nonzero nonzero randint searchsorted tril_indices "
    "triu_indices"
)
"""Functions and methods whose results hold integers."""

EXCEPTIONS: dict[str, str] = {
    name: reason
    for reason, names in {
        "A step that rounds once, for dtypes and scalars that the op beside it does not take.": """
            aten/arithmetic.py::_lerp aten/arithmetic.py::addcdiv aten/arithmetic.py::addcmul
            aten/arithmetic.py::rsub_tensor aten/complex_functions.py::_addmm aten/composites.py::bilinear
            aten/functions.py::glu_jvp aten/functions.py::pow_tensor_scalar aten/reduced_by_index.py::index_add
            aten/matmul.py::addr aten/matmul.py::linalg_cross aten/matmul.py::plus aten/optimizer.py::_goes_on
        """,
        "Differentiable steps above autograd, where the op has no gradient by an operand.": """
            aten/attention.py::_in_steps aten/attention.py::scaled_dot_product_attention aten/composites.py::dropout
            aten/order_of_gradients.py::_between_points aten/order_of_gradients.py::poisson_nll_loss
        """,
        "Gradients and tangents in steps that have gradients themselves.": """
            aten/products.py::Prod.backward aten/products.py::Prod.jvp aten/products.py::_others
        """,
        "Steps of torch's above autograd, whose gradients are added in another order than the op's.": """
            aten/recurrent_steps.py::gru_step aten/recurrent_steps.py::lstm_step
            aten/recurrent_steps.py::rnn_step.step aten/transforms.py::binary_cross_entropy_with_logits
        """,
        "Exact: zeros, and a probe of the flush-to-zero mode.": """
            aten/sparse.py::_to_dense settings.py::check
        """,
        "The sum of the same as COO, which has a kernel of ours.": """
            aten/sparse_compressed.py::add
        """,
    }.items()
    for name in names.split()
}
"""By "file::function", why it computes."""


@dataclass
class Module:
    path: Path
    tree: ast.Module
    lines: list[str]


@dataclass
class Scope:
    """The names of a function that are tensors, with those of the functions around it."""

    floating: set[str] = field(default_factory=set)
    lists: set[str] = field(default_factory=set)


def _is_tensor_annotation(node: ast.expr | None) -> bool:
    return node is not None and "Tensor" in ast.unparse(node)


def _is_list_annotation(node: ast.expr | None) -> bool:
    text = "" if node is None else ast.unparse(node)
    return "Tensor" in text and text.startswith(("list", "tuple", "Sequence", "Iterable", "Iterator"))


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


class Reader:
    """Reads one function, and yields the lines where it computes."""

    def __init__(self, module: Module, returning: dict[str, bool]) -> None:
        self.module, self.returning = module, returning
        self.scope = Scope()
        self.found: list[int] = []

    def is_tensor(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self.scope.floating
            case ast.Attribute(value=value, attr=attr):
                return attr in VIEWS and self.is_tensor(value)
            case ast.Subscript(value=value):
                return self.is_tensor(value) or self.is_list(value)
            case ast.Call():
                return self._gives_tensor(node)
            case ast.BinOp(left=left, right=right):
                return self.is_tensor(left) or self.is_tensor(right)
            case ast.UnaryOp(operand=operand):
                return not isinstance(node.op, (ast.Not, ast.Invert)) and self.is_tensor(operand)
            case ast.IfExp(body=body, orelse=orelse):
                return self.is_tensor(body) or self.is_tensor(orelse)
            case ast.NamedExpr(value=value):
                return self.is_tensor(value)
            case _:
                return False

    def is_list(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self.scope.lists
            case ast.Call(func=ast.Name(id=name)):
                return self.returning.get(name) is True
            case ast.Call(func=ast.Subscript()):
                return self._gives_tensor(node)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return any(self.is_tensor(x) for x in elements)
            case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element):
                self._comprehension(node)
                return self.is_tensor(element)
            case _:
                return False

    def _gives_tensor(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Subscript(value=value):
                return "ops" in ast.unparse(value)
            case ast.Name(id=name):
                return name in self.returning
            case ast.Attribute(value=value, attr=attr):
                if attr in INTEGERS or _converts_to_integers(call):
                    return False
                if _root(value) == "torch":
                    return attr not in TORCH_ASKS and not attr.startswith("is_")
                return attr not in ASKS and not attr.startswith("is") and self.is_tensor(value)
            case _:
                return False

    def bind(self, target: ast.expr, tensor: bool, several: bool) -> None:
        match target:
            case ast.Name(id=name):
                for is_it, names in ((tensor, self.scope.floating), (several, self.scope.lists)):
                    names.add(name) if is_it else names.discard(name)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element in elements:
                    self.bind(element, tensor or several, False)
            case ast.Starred(value=value):
                self.bind(value, False, tensor or several)

    def _comprehension(self, node: ast.expr) -> None:
        for generator in getattr(node, "generators", ()):
            self._iterate(generator.target, generator.iter)

    def _iterate(self, target: ast.expr, iterated: ast.expr) -> None:
        match target, iterated:
            case ast.Tuple(elts=[count, item]), ast.Call(func=ast.Name(id="enumerate"), args=[given, *_]):
                self.bind(count, False, False)
                self._iterate(item, given)
            case ast.Tuple(elts=items), ast.Call(func=ast.Name(id="zip"), args=given) if len(items) == len(given):
                for item, values in zip(items, given, strict=True):
                    self._iterate(item, values)
            case _:
                self.bind(target, self._is_iterated(iterated), False)

    def _is_iterated(self, node: ast.expr) -> bool:
        if self.is_list(node) or self.is_tensor(node):
            return True
        return isinstance(node, ast.Call) and any(self.is_list(a) or self.is_tensor(a) for a in node.args)

    def read(self, function: ast.FunctionDef | ast.Lambda, around: Scope) -> None:
        self.scope = Scope(set(around.floating), set(around.lists))
        arguments = function.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            several = _is_list_annotation(argument.annotation)
            self.bind(ast.Name(argument.arg), _is_tensor_annotation(argument.annotation) and not several, several)
        if arguments.vararg is not None:
            self.bind(ast.Name(arguments.vararg.arg), False, _is_tensor_annotation(arguments.vararg.annotation))
        if isinstance(function, ast.Lambda):
            self.visit(function.body)
        else:
            for statement in function.body:
                self.visit(statement)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            return  # a finding of its own
        match node:
            case ast.Assign(targets=targets, value=value):
                self.visit(value)
                self._pairwise(targets[0], value)
                return
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.visit(value)
                self.bind(target, _is_tensor_annotation(node.annotation), _is_list_annotation(node.annotation))
                return
            case ast.For(target=target, iter=iterated):
                self._iterate(target, iterated)
            case ast.BinOp(op=op, left=left, right=right) if isinstance(op, OPERATORS):
                if self.is_tensor(left) or self.is_tensor(right):
                    self.found.append(node.lineno)
            case ast.AugAssign(op=op, target=target, value=value) if isinstance(op, OPERATORS):
                if self.is_tensor(target) or self.is_tensor(value):
                    self.found.append(node.lineno)
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in ROUNDING:
                if _root(value) == "torch" or self.is_tensor(value):
                    self.found.append(node.lineno)
            case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
                self._comprehension(node)
            case ast.Lambda():
                inner = Reader(self.module, self.returning)
                inner.read(node, self.scope)
                self.found.extend(inner.found)
                return
        for child in ast.iter_child_nodes(node):
            self.visit(child)

    def _pairwise(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            kinds = [(self.is_tensor(x), self.is_list(x)) for x in value.elts]
            for element, (tensor, several) in zip(target.elts, kinds, strict=True):
                self.bind(element, tensor, several)
        else:
            self.bind(target, self.is_tensor(value), self.is_list(value))


def _converts_to_integers(call: ast.Call) -> bool:
    """Whether a call, `.to(torch.int64)` say, names an integer or a truth value as its type."""
    values = [*call.args, *(k.value for k in call.keywords)]
    return any(ast.unparse(v).startswith(("torch.int", "torch.uint", "torch.bool")) for v in values)


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef, list[ast.FunctionDef]]]:
    """The name of each function, with those around it, and these."""

    def inside(
        node: ast.AST, names: tuple[str, ...], around: list[ast.FunctionDef]
    ) -> Iterator[tuple[str, ast.FunctionDef, list[ast.FunctionDef]]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                yield ".".join((*names, child.name)), child, around
                yield from inside(child, (*names, child.name), [*around, child])
            else:
                more = (child.name,) if isinstance(child, ast.ClassDef) else ()
                yield from inside(child, (*names, *more), around)

    yield from inside(tree, (), [])


def read(paths: list[Path]) -> list[Module]:
    texts = [(path, path.read_text()) for path in paths]
    return [Module(path, ast.parse(text), text.split("\n")) for path, text in texts]


def tensor_functions(modules: list[Module]) -> dict[str, bool]:
    """The functions of the layer that return tensors; whether several."""
    return {
        function.name: _is_list_annotation(function.returns)
        for module in modules
        for _, function, _ in functions(module.tree)
        if _is_tensor_annotation(function.returns)
    }


def findings(modules: list[Module]) -> Iterator[tuple[str, str, list[int]]]:
    """The file and the name of each function that computes, and the lines in which it does."""
    returning = tensor_functions(modules)
    for module in modules:
        for name, function, around in functions(module.tree):
            scope = Scope()
            for outer in around:
                reader = Reader(module, returning)
                reader.read(outer, scope)
                scope = reader.scope
            reader = Reader(module, returning)
            reader.read(function, scope)
            lines = sorted({n for n in reader.found if "# integers" not in module.lines[n - 1]})
            if lines:
                yield module.path.relative_to(LAYER).as_posix(), name, lines


def main() -> None:
    modules = read(sorted(LAYER.rglob("*.py")))
    found = {f"{path}::{name}": lines for path, name, lines in findings(modules)}
    wrong = [
        f"python/repdl/interception/{path}:{line}: {name} computes: make it an op of src/ops"
        for place, lines in found.items()
        for path, name in [place.split("::")]
        if place not in EXCEPTIONS
        for line in lines
    ]
    wrong += [
        f"tools/lint_interception.py: {place} is no exception any more: take it out"
        for place in sorted(EXCEPTIONS.keys() - found.keys())
    ]
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
