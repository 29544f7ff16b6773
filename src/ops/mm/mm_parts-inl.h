// SPDX-License-Identifier: MIT
// Products that mm has compiled (mm_cpu.cc) and that other ops, which have such ones inside, need not compile again.
#pragma once

#include "drivers/skinny_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// REPDL_MM_PARTS(extern, T) declares them, REPDL_MM_PARTS(, T) compiles them.
#define REPDL_MM_PARTS(prefix, T)                                                                                      \
  prefix template TileFn<T> ChooseTile<T, false, false, false>(int, bool);                                             \
  prefix template int64_t SkinnyProduct<T>(int64_t, int64_t, int64_t, int64_t, const MatrixOf<T>&, const MatrixOf<T>&, \
                                           T*, int64_t);                                                               \
  prefix template void TileProduct<T, Chunks, MatrixRows<T>, MatrixCols<T>, MatrixSink<T>>(                            \
      int64_t, int64_t, int64_t, const Chunks&, const MatrixRows<T>&, const MatrixCols<T>&, const MatrixSink<T>&,      \
      const TermsOf<T>&, const Blocking&);
REPDL_MM_PARTS(extern, float)
REPDL_MM_PARTS(extern, double)

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
