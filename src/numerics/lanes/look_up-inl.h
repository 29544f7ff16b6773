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
  } else if constexpr (kSize == 32 || kSize == 64) {
    const hn::DFromV<VI> dx;
    const auto upper = hn::RebindMask(d, Ne(And(index, Set(dx, kSize / 2)), Zero(dx)));
    return IfThenElse(upper, LookUp<kSize / 2>(d, table + kSize / 2, index), LookUp<kSize / 2>(d, table, index));
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

/// The same for floats.
template <int kSize, class D, class VI>
REPDL_LANE hn::Vec<D> LookUp([[maybe_unused]] D d, const float* table, VI index) {
  static_assert(kSize == 8 || kSize == 16);
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(hn::Vec<D>) == 64 && kSize == 8) {
    return {_mm512_permutexvar_ps(index.raw, _mm512_broadcast_f32x8(_mm256_load_ps(table)))};
  } else if constexpr (sizeof(hn::Vec<D>) == 64) {
    return {_mm512_permutexvar_ps(index.raw, Load(d, table).raw)};
  }
#elif HWY_TARGET == HWY_AVX2
  if constexpr (sizeof(hn::Vec<D>) == 32) {
    const __m256 low = _mm256_permutevar8x32_ps(Load(d, table).raw, index.raw);
    if constexpr (kSize == 8) {
      return {low};
    } else {
      const __m256 high = _mm256_permutevar8x32_ps(Load(d, table + 8).raw, index.raw);
      return {_mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(index.raw, 28)))};
    }
  }
#endif
  const hn::DFromV<VI> di;
  return hn::GatherIndex(d, table, And(index, Set(di, kSize - 1)));
}
