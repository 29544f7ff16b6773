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
    const auto upper = hn::RebindMask(d, NotEq(And(index, Set(dx, kSize / 2)), Zero(dx)));
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

/// Of rows of four doubles, the columns a, b, c and e of row i mod kRows. A row lies in one line of the cache, and some
/// loads and shuffles take less time than four gathers.
template <int kRows, class D, class VI, class V>
REPDL_LANE void LookUpRow(D d, const double* table, VI index, V& a, V& b, V& c, V& e) {
  static_assert((kRows & (kRows - 1)) == 0);
  const hn::DFromV<VI> di;
  const VI i = ShiftLeft<2>(And(index, Set(di, kRows - 1)));
#if HWY_TARGET <= HWY_AVX2
  // Halves of the even rows and of the odd rows, in order.
  alignas(64) int64_t at[hn::MaxLanes(di)];
  Store(i, di, at);
  const auto halves = [&](int first, int column) HWY_ATTR {
    const double* const t = table + column;
    if constexpr (sizeof(V) == 64) {
      __m512d v = _mm512_castpd128_pd512(_mm_load_pd(t + at[first]));
      v = _mm512_mask_broadcast_f64x2(v, 0x0c, _mm_load_pd(t + at[first + 2]));
      v = _mm512_mask_broadcast_f64x2(v, 0x30, _mm_load_pd(t + at[first + 4]));
      return V{_mm512_mask_broadcast_f64x2(v, 0xc0, _mm_load_pd(t + at[first + 6]))};
    } else {
      const __m256d v = _mm256_castpd128_pd256(_mm_load_pd(t + at[first]));
      return V{_mm256_insertf128_pd(v, _mm_load_pd(t + at[first + 2]), 1)};
    }
  };
  const V even = halves(0, 0), odd = halves(1, 0), even_upper = halves(0, 2), odd_upper = halves(1, 2);
  a = hn::InterleaveLower(d, even, odd);
  b = hn::InterleaveUpper(d, even, odd);
  c = hn::InterleaveLower(d, even_upper, odd_upper);
  e = hn::InterleaveUpper(d, even_upper, odd_upper);
#else
  a = hn::GatherIndex(d, table, i);
  b = hn::GatherIndex(d, table + 1, i);
  c = hn::GatherIndex(d, table + 2, i);
  e = hn::GatherIndex(d, table + 3, i);
#endif
}
