# SPDX-License-Identifier: MIT
"""Results of torch's ops that say nothing of what they computed, since parts of them are memory as it was."""

from __future__ import annotations

WORKSPACES: dict[str, set[int | str]] = {
    "aten::_ctc_loss": {1},  # of shorter inputs and targets the rest of their rows
    "aten::_embedding_bag": {1},
    "aten::_embedding_bag_forward_only": {1},
    "aten::mkldnn_rnn_layer": {3},
    "aten::rrelu_with_noise": {"noise"},  # written in training alone
    "aten::rrelu_with_noise_": {"noise"},
    "aten::rrelu_with_noise_functional": {1},
}
"""By op, the numbers of its results and the names of arguments that it writes. They hold what the op left in its memory
for its gradient, or nothing where it took a shorter way."""
