# Dependencies: the system's where it has them, else fetched at a pinned commit.
#
# Debian: libhwy-dev libgtest-dev libbenchmark-dev libmpfr-dev

include(FetchContent)
find_package(Threads REQUIRED)

include(highway)

# GoogleTest and Google Benchmark, for whoever builds tests and benchmarks.
function(repdl_need_googletest)
  set(INSTALL_GTEST OFF CACHE INTERNAL "")
  repdl_need(GTest libgtest-dev googletest 1.14.0 f8d7d77c06936315286eb55f8de22cd23c188571)
endfunction()

function(repdl_need_benchmark)
  set(BENCHMARK_ENABLE_TESTING OFF CACHE INTERNAL "")
  set(BENCHMARK_ENABLE_INSTALL OFF CACHE INTERNAL "")
  repdl_need(benchmark libbenchmark-dev benchmark 1.9.1 c58e6d0710581e3a08d65c349664128a8d9a2461)
endfunction()

# The CMake package from the system, else the sources that Debian has, else the version at this commit of Google's
# repository of that name.
function(repdl_need package debian repository version commit)
  find_package(${package} CONFIG QUIET)
  if(${package}_FOUND)
    message(STATUS "repdl: ${package} ${${package}_VERSION} from ${${package}_DIR}")
    return()
  endif()
  if(EXISTS /usr/src/${repository}/CMakeLists.txt)
    message(STATUS "repdl: ${package} from /usr/src/${repository}")
    FetchContent_Declare(${repository} SOURCE_DIR /usr/src/${repository})
    FetchContent_MakeAvailable(${repository})
    return()
  endif()
  message(STATUS "repdl: ${package} is not installed (Debian: ${debian}); fetching ${version}")
  FetchContent_Declare(${repository} GIT_REPOSITORY https://github.com/google/${repository}.git GIT_TAG ${commit})
  FetchContent_MakeAvailable(${repository})
endfunction()
