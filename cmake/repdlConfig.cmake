# What find_package(repdl) reads: it defines the target repdl::repdl.

include(CMakeFindDependencyMacro)
find_dependency(Threads)
if("@REPDL_CUDA@")
  find_dependency(CUDAToolkit)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/repdlTargets.cmake)
