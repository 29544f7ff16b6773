# The CUDA kernels, where REPDL_CUDA asks for them: the `_cuda.cu` files of the drivers and of the op folders. Without the
# option nothing here looks for CUDA.

if(REPDL_CUDA)
  # A binary for each major architecture that the compiler knows, and PTX of the newest for those to come.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES all-major CACHE STRING "CUDA architectures, as in CMake's documentation")
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  message(STATUS "repdl: CUDA ${CMAKE_CUDA_COMPILER_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
  file(GLOB cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/drivers/*_cuda.cu
    ${PROJECT_SOURCE_DIR}/src/ops/*/*_cuda.cu)

  target_compile_definitions(repdl_internal INTERFACE REPDL_HAS_CUDA)
  # An archive of its own, so that the library is linked by the C++ compiler as ever. It is linked as a whole: nothing asks
  # for its objects, which fill the slots of the kernels when they are loaded.
  add_library(repdl_cuda STATIC ${cuda_sources})
  add_library(repdl::repdl_cuda ALIAS repdl_cuda)  # by which the installed package has it too
  target_compile_options(repdl_cuda PRIVATE -Xcompiler=-Wall,-Wextra)
  target_link_libraries(repdl_cuda PRIVATE $<BUILD_INTERFACE:repdl_internal>)
  if(NOT BUILD_SHARED_LIBS)
    # Once more behind the kernels, which call it, by its path: a linker looks through archives one after the other.
    set(archive ${CMAKE_STATIC_LIBRARY_PREFIX}repdl${CMAKE_STATIC_LIBRARY_SUFFIX})
    target_link_libraries(repdl_cuda INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/${archive}>
      $<INSTALL_INTERFACE:$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/${archive}>)
  endif()
  target_link_libraries(repdl PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,repdl::repdl_cuda> CUDA::cudart_static)
endif()
