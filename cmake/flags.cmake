# Every flag of the project that touches floating point, host and device, stands in this file.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

add_library(repdl_flags INTERFACE)
target_compile_options(repdl_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra
    # a * b + c is two roundings; only the lane word Fma fuses.
    -ffp-contract=off
    # Undo what a user's CXXFLAGS may ask for.
    -fno-fast-math
    # Lets sqrt be the instruction instead of a call into libm; nothing reads errno.
    -fno-math-errno>
  $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false -prec-div=true -prec-sqrt=true -ftz=false
    -Xcompiler=-ffp-contract=off,-fno-fast-math,-fno-math-errno>)
if(REPDL_SANITIZE)
  set(sanitizers -fsanitize=${REPDL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(repdl_flags INTERFACE ${sanitizers})
  target_link_options(repdl_flags INTERFACE ${sanitizers})
endif()
# For kernels, after the flags above. Their texts pass vectors by reference at every step, and to check each of them takes
# four times as long to compile; what is null the address sanitizer finds.
add_library(repdl_kernel_flags INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC's header of vector words hides these about itself by pragmas, which a precompiled header forgets.
  target_compile_options(repdl_kernel_flags INTERFACE -Wno-uninitialized -Wno-maybe-uninitialized)
endif()
if(REPDL_SANITIZE MATCHES undefined)
  target_compile_options(repdl_kernel_flags INTERFACE -fno-sanitize=null,alignment)
endif()
if(REPDL_BUILD_FUZZERS)
  target_compile_options(repdl_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
