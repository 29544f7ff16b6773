// SPDX-License-Identifier: MIT
// MKL, which is in torch, asks these whether the CPU is one of Intel's, and takes slower kernels if it is not: on a Zen 5
// less than half of the speed. Preloaded, they say yes.

extern "C" int mkl_serv_intel_cpu() { return 1; }
extern "C" int mkl_serv_intel_cpu_true() { return 1; }
