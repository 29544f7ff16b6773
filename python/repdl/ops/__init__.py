# SPDX-License-Identifier: MIT
"""The ops: functions of torch tensors (with gradients) or NumPy arrays, with the same bits everywhere.

docs/arithmetic.md defines every bit. Each op is declared in the file of its family; this page only gathers them.
"""

from repdl.ops._compat import (
    sum1d as sum1d,
    sum2d_dim0 as sum2d_dim0,
    sum2d_dim1 as sum2d_dim1,
    sum4d_dim023 as sum4d_dim023,
)
from repdl.ops.adam import (
    adam_step as adam_step,
    adamw_step as adamw_step,
)
from repdl.ops.batch_norm import (
    batch_norm as batch_norm,
    batch_norm_eval as batch_norm_eval,
    batch_norm_eval_grad as batch_norm_eval_grad,
    batch_norm_grad as batch_norm_grad,
    batch_norm_update as batch_norm_update,
)
from repdl.ops.conv2d import (
    conv2d as conv2d,
    conv2d_grad_input as conv2d_grad_input,
    conv2d_grad_kernel as conv2d_grad_kernel,
)
from repdl.ops.cross_entropy import (
    cross_entropy as cross_entropy,
    cross_entropy_grad as cross_entropy_grad,
)
from repdl.ops.elementwise import (
    div as div,
    exp as exp,
    log as log,
    relu as relu,
    relu_grad as relu_grad,
    sqrt as sqrt,
)
from repdl.ops.linear import linear as linear
from repdl.ops.max_pool2d import (
    max_pool2d as max_pool2d,
    max_pool2d_grad as max_pool2d_grad,
)
from repdl.ops.mm import mm as mm
from repdl.ops.sgd import sgd_step as sgd_step
from repdl.ops.softmax import (
    log_softmax as log_softmax,
    log_softmax_grad as log_softmax_grad,
    softmax as softmax,
    softmax_grad as softmax_grad,
)
from repdl.ops.sum import (
    mean as mean,
    sum as sum,
)
from repdl.ops.uniform import uniform as uniform
