# SPDX-License-Identifier: MIT
"""The ops: functions of torch tensors (with gradients) or NumPy arrays, with the same bits everywhere.

docs/arithmetic.md defines every bit. Wrong input raises TypeError or ValueError with the op, the argument and the
remedy, as do tensors of more than 8 dimensions; a device for which an op has no kernel raises NotImplementedError.
Each op is declared in the file of its family; this page only gathers them.
"""

from repdl.ops._compat import (
    sum1d as sum1d,
    sum2d_dim0 as sum2d_dim0,
    sum2d_dim1 as sum2d_dim1,
    sum4d_dim023 as sum4d_dim023,
)
from repdl.ops.adam import adam_step as adam_step, adamw_step as adamw_step
from repdl.ops.amax import amax as amax, amin as amin
from repdl.ops.attention import attention as attention, attention_grad as attention_grad
from repdl.ops.avg_pool import (
    adaptive_avg_pool as adaptive_avg_pool,
    adaptive_avg_pool_grad as adaptive_avg_pool_grad,
    avg_pool as avg_pool,
    avg_pool_grad as avg_pool_grad,
)
from repdl.ops.axpy import (
    add as add,
    addcdiv as addcdiv,
    addcmul as addcmul,
    lerp as lerp,
    lerp_tensor as lerp_tensor,
    sub as sub,
)
from repdl.ops.batch_norm import (
    batch_norm as batch_norm,
    batch_norm_eval as batch_norm_eval,
    batch_norm_eval_grad as batch_norm_eval_grad,
    batch_norm_grad as batch_norm_grad,
    batch_norm_stats as batch_norm_stats,
    batch_norm_update as batch_norm_update,
)
from repdl.ops.cdist import cdist as cdist, cdist_grad as cdist_grad, pdist as pdist, pdist_grad as pdist_grad
from repdl.ops.cholesky import cholesky as cholesky
from repdl.ops.clamp import clamp as clamp, clamp_tensor as clamp_tensor
from repdl.ops.complex import (
    complex_abs as complex_abs,
    complex_acos as complex_acos,
    complex_acosh as complex_acosh,
    complex_add as complex_add,
    complex_angle as complex_angle,
    complex_asin as complex_asin,
    complex_asinh as complex_asinh,
    complex_atan as complex_atan,
    complex_atanh as complex_atanh,
    complex_cos as complex_cos,
    complex_cosh as complex_cosh,
    complex_div as complex_div,
    complex_exp as complex_exp,
    complex_exp2 as complex_exp2,
    complex_expm1 as complex_expm1,
    complex_log as complex_log,
    complex_log1p as complex_log1p,
    complex_log2 as complex_log2,
    complex_log10 as complex_log10,
    complex_logaddexp as complex_logaddexp,
    complex_mul as complex_mul,
    complex_neg as complex_neg,
    complex_pow as complex_pow,
    complex_reciprocal as complex_reciprocal,
    complex_rsqrt as complex_rsqrt,
    complex_sgn as complex_sgn,
    complex_sigmoid as complex_sigmoid,
    complex_sigmoid_grad as complex_sigmoid_grad,
    complex_silu as complex_silu,
    complex_silu_grad as complex_silu_grad,
    complex_sin as complex_sin,
    complex_sinc as complex_sinc,
    complex_sinh as complex_sinh,
    complex_sqrt as complex_sqrt,
    complex_sub as complex_sub,
    complex_tan as complex_tan,
    complex_tanh as complex_tanh,
    complex_tanh_grad as complex_tanh_grad,
)
from repdl.ops.complex_eig import complex_eig as complex_eig, complex_eigvals as complex_eigvals
from repdl.ops.complex_eigh import complex_eigh as complex_eigh, complex_eigvalsh as complex_eigvalsh
from repdl.ops.complex_factors import (
    complex_cholesky as complex_cholesky,
    complex_cholesky_solve as complex_cholesky_solve,
    complex_det as complex_det,
    complex_inv as complex_inv,
    complex_lu as complex_lu,
    complex_lu_solve as complex_lu_solve,
    complex_slogdet as complex_slogdet,
    complex_solve as complex_solve,
    complex_solve_triangular as complex_solve_triangular,
)
from repdl.ops.complex_mm import complex_mm as complex_mm
from repdl.ops.complex_qr import (
    complex_geqrf as complex_geqrf,
    complex_householder as complex_householder,
    complex_orgqr as complex_orgqr,
    complex_qr as complex_qr,
)
from repdl.ops.complex_sum import (
    complex_cumprod as complex_cumprod,
    complex_cumsum as complex_cumsum,
    complex_logcumsumexp as complex_logcumsumexp,
    complex_mean as complex_mean,
    complex_norm as complex_norm,
    complex_prod as complex_prod,
    complex_std as complex_std,
    complex_sum as complex_sum,
    complex_var as complex_var,
)
from repdl.ops.complex_svd import complex_svd as complex_svd, complex_svdvals as complex_svdvals
from repdl.ops.convolution import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv2d_grad_input as conv2d_grad_input,
    conv2d_grad_kernel as conv2d_grad_kernel,
    conv3d as conv3d,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
    convolution as convolution,
    convolution_grad_input as convolution_grad_input,
    convolution_grad_kernel as convolution_grad_kernel,
)
from repdl.ops.cross import cross as cross
from repdl.ops.cross_entropy import (
    cross_entropy as cross_entropy,
    cross_entropy_grad as cross_entropy_grad,
    nll_loss as nll_loss,
    nll_loss_grad as nll_loss_grad,
)
from repdl.ops.ctc_loss import ctc_loss as ctc_loss, ctc_loss_grad as ctc_loss_grad
from repdl.ops.cumulative import cumprod as cumprod, cumsum as cumsum, logcumsumexp as logcumsumexp
from repdl.ops.eig import eig as eig, eigvals as eigvals
from repdl.ops.eigh import eigh as eigh, eigvalsh as eigvalsh
from repdl.ops.elementwise.activation import (
    celu as celu,
    elu as elu,
    elu_grad as elu_grad,
    gelu as gelu,
    gelu_grad as gelu_grad,
    gelu_tanh as gelu_tanh,
    gelu_tanh_grad as gelu_tanh_grad,
    logsigmoid as logsigmoid,
    logsigmoid_grad as logsigmoid_grad,
    mish as mish,
    mish_grad as mish_grad,
    relu as relu,
    relu_grad as relu_grad,
    selu as selu,
    selu_grad as selu_grad,
    sigmoid as sigmoid,
    sigmoid_grad as sigmoid_grad,
    silu as silu,
    silu_grad as silu_grad,
    softplus as softplus,
    softplus_grad as softplus_grad,
    softsign as softsign,
    softsign_grad as softsign_grad,
)
from repdl.ops.elementwise.airy import airy_ai as airy_ai
from repdl.ops.elementwise.arithmetic import (
    cbrt as cbrt,
    cube as cube,
    div as div,
    fmod as fmod,
    hypot as hypot,
    mul as mul,
    reciprocal as reciprocal,
    remainder as remainder,
    rsqrt as rsqrt,
    sqrt as sqrt,
    square as square,
)
from repdl.ops.elementwise.bessel import (
    bessel_j0 as bessel_j0,
    bessel_j1 as bessel_j1,
    bessel_y0 as bessel_y0,
    bessel_y1 as bessel_y1,
    i0 as i0,
    i0e as i0e,
    i1 as i1,
    i1e as i1e,
    modified_bessel_k0 as modified_bessel_k0,
    modified_bessel_k1 as modified_bessel_k1,
    scaled_modified_bessel_k0 as scaled_modified_bessel_k0,
    scaled_modified_bessel_k1 as scaled_modified_bessel_k1,
    spherical_bessel_j0 as spherical_bessel_j0,
)
from repdl.ops.elementwise.error_function import (
    erf as erf,
    erfc as erfc,
    erfcx as erfcx,
    erfinv as erfinv,
    log_ndtr as log_ndtr,
    ndtri as ndtri,
)
from repdl.ops.elementwise.exponential import exp as exp, exp2 as exp2, exp10 as exp10, expm1 as expm1, pow as pow
from repdl.ops.elementwise.gamma import (
    digamma as digamma,
    igamma as igamma,
    igammac as igammac,
    lgamma as lgamma,
    polygamma as polygamma,
    trigamma as trigamma,
    zeta as zeta,
)
from repdl.ops.elementwise.hyperbolic import (
    acosh as acosh,
    asinh as asinh,
    atanh as atanh,
    cosh as cosh,
    sinh as sinh,
    tanh as tanh,
    tanh_grad as tanh_grad,
)
from repdl.ops.elementwise.logarithmic import (
    entr as entr,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
    logaddexp as logaddexp,
    logaddexp2 as logaddexp2,
    logit as logit,
    xlog1py as xlog1py,
    xlogy as xlogy,
)
from repdl.ops.elementwise.polynomial import (
    chebyshev_polynomial_t as chebyshev_polynomial_t,
    chebyshev_polynomial_u as chebyshev_polynomial_u,
    chebyshev_polynomial_v as chebyshev_polynomial_v,
    chebyshev_polynomial_w as chebyshev_polynomial_w,
    hermite_polynomial_h as hermite_polynomial_h,
    hermite_polynomial_he as hermite_polynomial_he,
    laguerre_polynomial_l as laguerre_polynomial_l,
    legendre_polynomial_p as legendre_polynomial_p,
    shifted_chebyshev_polynomial_t as shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u as shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v as shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w as shifted_chebyshev_polynomial_w,
)
from repdl.ops.elementwise.selection import (
    clamp_max as clamp_max,
    clamp_min as clamp_min,
    fmax as fmax,
    fmin as fmin,
    maximum as maximum,
    minimum as minimum,
)
from repdl.ops.elementwise.trigonometric import (
    acos as acos,
    asin as asin,
    atan as atan,
    atan2 as atan2,
    cos as cos,
    cospi as cospi,
    sin as sin,
    sinc as sinc,
    sinpi as sinpi,
    tan as tan,
)
from repdl.ops.embedding import (
    embedding_bag as embedding_bag,
    embedding_bag_grad as embedding_bag_grad,
    embedding_grad as embedding_grad,
)
from repdl.ops.fake_quantize import (
    fake_quantize as fake_quantize,
    fake_quantize_grad as fake_quantize_grad,
    quantize as quantize,
)
from repdl.ops.fft import fft_c2c as fft_c2c, fft_c2r as fft_c2r, fft_r2c as fft_r2c
from repdl.ops.fold import fold as fold, pad_grad as pad_grad, unfold_grad as unfold_grad
from repdl.ops.fused_optimizer import (
    fused_adagrad_step as fused_adagrad_step,
    fused_adam_step as fused_adam_step,
    fused_sgd_step as fused_sgd_step,
)
from repdl.ops.glu import glu as glu, glu_grad as glu_grad
from repdl.ops.grid_sample import (
    grid_sample as grid_sample,
    grid_sample_grad_grid as grid_sample_grad_grid,
    grid_sample_grad_input as grid_sample_grad_input,
)
from repdl.ops.group_norm import (
    group_norm as group_norm,
    group_norm_grad as group_norm_grad,
    group_norm_grad_input as group_norm_grad_input,
)
from repdl.ops.histogram import histogram as histogram
from repdl.ops.index_add import index_add as index_add, scatter_add as scatter_add
from repdl.ops.integer_convolution import integer_convolution as integer_convolution
from repdl.ops.integer_mm import integer_mm as integer_mm
from repdl.ops.layer_norm import (
    layer_norm as layer_norm,
    layer_norm_grad as layer_norm_grad,
    layer_norm_grad_input as layer_norm_grad_input,
    rms_norm as rms_norm,
    rms_norm_grad as rms_norm_grad,
    rms_norm_grad_input as rms_norm_grad_input,
)
from repdl.ops.ldl import (
    complex_ldl as complex_ldl,
    complex_ldl_solve as complex_ldl_solve,
    ldl as ldl,
    ldl_solve as ldl_solve,
)
from repdl.ops.linear import addmm as addmm, linear as linear
from repdl.ops.log_loss import (
    binary_cross_entropy as binary_cross_entropy,
    binary_cross_entropy_grad as binary_cross_entropy_grad,
    soft_margin as soft_margin,
    soft_margin_grad as soft_margin_grad,
)
from repdl.ops.logsumexp import logsumexp as logsumexp
from repdl.ops.lstsq import complex_lstsq as complex_lstsq, lstsq as lstsq
from repdl.ops.lu import det as det, inv as inv, lu as lu, lu_solve as lu_solve, slogdet as slogdet, solve as solve
from repdl.ops.margin_loss import (
    multi_margin as multi_margin,
    multi_margin_grad as multi_margin_grad,
    multilabel_margin as multilabel_margin,
    multilabel_margin_grad as multilabel_margin_grad,
)
from repdl.ops.matrix_exp import matrix_exp as matrix_exp
from repdl.ops.max_pool import (
    adaptive_max_pool as adaptive_max_pool,
    max_pool as max_pool,
    max_pool2d as max_pool2d,
    max_pool2d_grad as max_pool2d_grad,
    max_pool_grad as max_pool_grad,
    max_unpool as max_unpool,
)
from repdl.ops.mm import mm as mm
from repdl.ops.nms import nms as nms
from repdl.ops.philox import (
    philox_bernoulli as philox_bernoulli,
    philox_bits as philox_bits,
    philox_cauchy as philox_cauchy,
    philox_exponential as philox_exponential,
    philox_geometric as philox_geometric,
    philox_log_normal as philox_log_normal,
    philox_normal as philox_normal,
    philox_randint as philox_randint,
    philox_uniform as philox_uniform,
)
from repdl.ops.philox_choice import philox_multinomial as philox_multinomial, philox_randperm as philox_randperm
from repdl.ops.philox_counts import philox_binomial as philox_binomial, philox_poisson as philox_poisson
from repdl.ops.philox_gamma import philox_gamma as philox_gamma
from repdl.ops.piecewise_activation import (
    hardsigmoid as hardsigmoid,
    hardsigmoid_grad as hardsigmoid_grad,
    hardswish as hardswish,
    hardswish_grad as hardswish_grad,
    hardtanh_grad as hardtanh_grad,
    logit_grad as logit_grad,
    scaled_elu as scaled_elu,
    scaled_elu_grad as scaled_elu_grad,
    scaled_softplus as scaled_softplus,
    scaled_softplus_grad as scaled_softplus_grad,
    shrink_grad as shrink_grad,
    softshrink as softshrink,
)
from repdl.ops.piecewise_loss import (
    huber as huber,
    huber_grad as huber_grad,
    smooth_l1 as smooth_l1,
    smooth_l1_grad as smooth_l1_grad,
)
from repdl.ops.prod import prod as prod
from repdl.ops.qr import geqrf as geqrf, householder as householder, orgqr as orgqr, qr as qr
from repdl.ops.recurrent import (
    gru as gru,
    gru_grad as gru_grad,
    lstm as lstm,
    lstm_grad as lstm_grad,
    rnn as rnn,
    rnn_grad as rnn_grad,
)
from repdl.ops.resample import resample as resample, resample_grad as resample_grad
from repdl.ops.roi_align import roi_align as roi_align, roi_align_grad as roi_align_grad
from repdl.ops.roi_pool import roi_pool as roi_pool, roi_pool_grad as roi_pool_grad
from repdl.ops.sample_gradient import dirichlet_grad as dirichlet_grad, standard_gamma_grad as standard_gamma_grad
from repdl.ops.scatter_reduce import index_reduce as index_reduce, scatter_reduce as scatter_reduce
from repdl.ops.segment_reduce import (
    segment_reduce as segment_reduce,
    segment_reduce_grad as segment_reduce_grad,
)
from repdl.ops.sgd import sgd_step as sgd_step
from repdl.ops.softmax import (
    log_softmax as log_softmax,
    log_softmax_grad as log_softmax_grad,
    softmax as softmax,
    softmax_grad as softmax_grad,
)
from repdl.ops.solve_triangular import cholesky_solve as cholesky_solve, solve_triangular as solve_triangular
from repdl.ops.sort import (
    kthvalue as kthvalue,
    median as median,
    mode as mode,
    nanmedian as nanmedian,
    sort as sort,
    topk as topk,
)
from repdl.ops.spaced import spaced as spaced
from repdl.ops.sparse_mm import sampled_mm as sampled_mm, sparse_mm as sparse_mm
from repdl.ops.sum import mean as mean, norm as norm, std as std, sum as sum, var as var
from repdl.ops.svd import svd as svd, svdvals as svdvals
from repdl.ops.uniform import box_muller as box_muller, uniform as uniform
from repdl.ops.vector_products import dot as dot, mv as mv
from repdl.ops.weight_norm import weight_norm as weight_norm, weight_norm_grad as weight_norm_grad
