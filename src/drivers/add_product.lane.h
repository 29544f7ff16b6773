// SPDX-License-Identifier: MIT
// A step of a product of integers.

/// sum + a * b modulo 2^n. Smaller types would be multiplied as int, which overflows.
template <class U>
REPDL_LANE U AddProduct(U sum, U a, U b) {
  using Wide = std::conditional_t<sizeof(U) < 4, uint32_t, U>;
  return static_cast<U>(sum + static_cast<Wide>(a) * b);
}
