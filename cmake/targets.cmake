# Which CPU targets this build has.

include(kernels)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(default_targets scalar sse4 avx2 avx512)
  if(REPDL_SANITIZE)
    list(REMOVE_ITEM default_targets sse4 avx512)  # the same sources as avx2, and minutes to compile
  endif()
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(default_targets scalar neon)
else()
  set(default_targets scalar)
endif()
set(REPDL_TARGETS "${default_targets}" CACHE STRING "CPU targets to compile, slowest first; scalar always")

if("sse2" IN_LIST REPDL_TARGETS AND REPDL_HIGHWAY_INCLUDE)
  file(STRINGS "${REPDL_HIGHWAY_INCLUDE}/hwy/detect_targets.h" known REGEX "define HWY_SSE2 ")
  if(NOT known)
    message(FATAL_ERROR "repdl: the target sse2 needs Highway 1.0.4 or later, and ${REPDL_HIGHWAY_INCLUDE} has an older"
      " one; name another by -DREPDL_HIGHWAY_INCLUDE=<folder>")
  endif()
endif()

repdl_write_targets(${PROJECT_BINARY_DIR}/generated ${REPDL_TARGETS})
