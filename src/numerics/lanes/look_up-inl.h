// SPDX-License-Identifier: MIT
// Part of highway-inl.h: tables. Highway has no word for the instruction that AVX-512 has, and its gather is slow on AVX2.

/// table[i mod kSize] for each lane i of `index`; kSize is a power of two. See REPDL_TABLE.
template <int kSize, class D, class VI>
REPDL_LANE hn::Vec<D> LookUp([[maybe_unused]] D d, const double* table, VI index) {
  static_assert((kSize & (kSize - 1)) == 0);
#if HWY_TARGET <= HWY_AVX3
  // The instructions ignore the other bits of an index.
  if constexpr (kSize == 8) {
    return {_mm512_permutexvar_pd(index.raw, Load(d, table).raw)};
  } else if constexpr (kSize == 16) {
    return {_mm512_permutex2var_pd(Load(d, table).raw, index.raw, Load(d, table + 8).raw)};
  }
#endif
  const hn::DFromV<VI> di;
  const VI i = And(index, Set(di, kSize - 1));
#if HWY_TARGET == HWY_AVX2
  alignas(32) int64_t at[4];
  Store(i, di, at);
  return {_mm256_setr_pd(table[at[0]], table[at[1]], table[at[2]], table[at[3]])};
#else
  return hn::GatherIndex(d, table, i);
#endif
}
