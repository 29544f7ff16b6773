// SPDX-License-Identifier: MIT
// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011), and numbers made of
// its words.

/// The four words of a block, in the low halves of 64-bit lanes; those of the counter go in. The high halves are of no
/// meaning.
template <class D, class V>
REPDL_LANE void PhiloxRounds(D d, const PhiloxKeys& keys, V& x0, V& x1, V& x2, V& x3) {
  const V multiplier0 = Set(d, 0xd2511f53), multiplier1 = Set(d, 0xcd9e8d57);
  for (int round = 0; round < PhiloxKeys::kRounds; ++round) {
    const V p0 = MulLowHalves(x0, multiplier0), p1 = MulLowHalves(x2, multiplier1);
    x0 = Xor(Xor(ShiftRightLogical<32>(p1), x1), Set(d, keys.first[round]));
    x2 = Xor(Xor(ShiftRightLogical<32>(p0), x3), Set(d, keys.second[round]));
    x1 = p1;
    x3 = p0;
  }
}

/// The 24 high bits of a word times 2^-24: in [0, 1).
template <class VI>
REPDL_LANE auto UnitOf(VI word) {
  return Mul(FloatOf(ShiftRightLogical<8>(word)), Set(FloatTagOf<VI>(), 0x1p-24f));
}

/// float32((word + 1) / 2^32), at most 1 - 2^-24: in (0, 1).
template <class VI>
REPDL_LANE auto OpenUnitOf(VI word) {
  const FloatTagOf<VI> d;
  const auto di = TagFor(word);
  // Both parts are exact, so that their sum is rounded once.
  const auto high = Mul(FloatOf(ShiftRightLogical<16>(word)), Set(d, 0x1p-16f));
  const auto low = Mul(FloatOf(Add(And(word, Set(di, 0xffff)), Set(di, 1))), Set(d, 0x1p-32f));
  return Min(Add(high, low), Set(d, 0x1.fffffep-1f));
}

/// floor(a * b / 2^64), of single integers.
REPDL_LANE uint64_t MulHigh(uint64_t a, uint64_t b) {
  const uint64_t a_low = static_cast<uint32_t>(a), a_high = a >> 32;
  const uint64_t b_low = static_cast<uint32_t>(b), b_high = b >> 32;
  const uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
  const uint64_t rest = a_low * b_high + static_cast<uint32_t>(middle);
  return a_high * b_high + (middle >> 32) + (rest >> 32);
}

/// One of the `count` integers from `first` on, by two words; a count of 0 is one of 2^64. Integers wrap around.
REPDL_LANE int64_t IntegerOf(uint32_t low_word, uint32_t high_word, uint64_t first, uint64_t count) {
  const uint64_t random = uint64_t{high_word} << 32 | low_word;
  return static_cast<int64_t>(first + (count == 0 ? random : MulHigh(random, count)));
}
