# SPDX-License-Identifier: MIT
from __future__ import annotations

from repdl.reveal.fold import explain, outline
from repdl.reveal.tree import Tree

MOST_LEAVES = 32
"""More are folded."""


def draw(tree: Tree) -> str:
    """A drawing of every addition, or for a large tree an outline."""
    return dendrogram(tree) if tree.n <= MOST_LEAVES else folded(tree)


def folded(tree: Tree) -> str:
    """A line for each kind of part, below that which it is a part of."""
    return "\n".join("  " * depth + line for depth, line in outline(explain(tree), tuple(range(tree.n))))


def dendrogram(tree: Tree) -> str:
    """A line for each term; an addition stands to the right of what it adds."""
    leaves = tree.terms(tree.root)
    row = {term: i for i, term in enumerate(leaves)}
    width = len(str(tree.n - 1))
    canvas = [[" "] * (2 * tree.heights[-1] + 2) for _ in leaves]
    at: list[tuple[int, int]] = [(row[term], 0) for term in range(tree.n)]  # row and column where a value comes out
    for v in range(tree.n, tree.root + 1):
        column = 2 * tree.heights[v]
        rows = [at[child][0] for child in tree.children(v)]
        for y, x in (at[child] for child in tree.children(v)):
            canvas[y][x:column] = [joint if joint != " " else "─" for joint in canvas[y][x:column]]
        for y in range(rows[0], rows[-1] + 1):
            canvas[y][column] = "┤" if y in rows else "│"
        canvas[rows[0]][column] = "┐"
        canvas[rows[-1]][column] = "┴"
        at.append((rows[-1], column))
    y, x = at[-1]
    canvas[y][x + 1] = "─"
    return "\n".join(f"{term:>{width}} " + "".join(line).rstrip() for term, line in zip(leaves, canvas, strict=True))
