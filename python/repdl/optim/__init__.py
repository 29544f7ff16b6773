# SPDX-License-Identifier: MIT
"""Optimizers as in torch.optim, one kernel a parameter.

`Adam` keeps the formula of microsoft/RepDL 0.1 (docs/arithmetic.md, adam_step), which rounds in other places than
torch.optim.Adam.
"""

from repdl.optim.adam import Adam as Adam, AdamW as AdamW
from repdl.optim.sgd import SGD as SGD
