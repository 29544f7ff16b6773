# Highway, headers only: the dispatch is our own (src/base/cpu_target.h).
include(FetchContent)
find_path(REPDL_HIGHWAY_INCLUDE hwy/highway.h DOC "Where hwy/highway.h lies; found or fetched if empty"
  PATHS /usr/local/include /usr/include NO_CMAKE_FIND_ROOT_PATH)  # of this machine for a foreign build too
add_library(hwy_headers INTERFACE)
if(REPDL_HIGHWAY_INCLUDE)
  message(STATUS "repdl: Highway from ${REPDL_HIGHWAY_INCLUDE}")
  if(CMAKE_CROSSCOMPILING)  # but of /usr/include nothing else
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/highway)
    file(CREATE_LINK ${REPDL_HIGHWAY_INCLUDE}/hwy ${PROJECT_BINARY_DIR}/highway/hwy SYMBOLIC)
    target_include_directories(hwy_headers SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/highway)
  else()
    target_include_directories(hwy_headers SYSTEM INTERFACE ${REPDL_HIGHWAY_INCLUDE})
  endif()
else()
  message(STATUS "repdl: Highway is not installed (Debian: libhwy-dev); fetching 1.2.0")
  FetchContent_Declare(highway GIT_REPOSITORY https://github.com/google/highway.git
    GIT_TAG 457c891775a7397bdb0376bb1031e6e027af1c48 SOURCE_SUBDIR nothing)  # 1.2.0, sources only
  FetchContent_MakeAvailable(highway)
  target_include_directories(hwy_headers SYSTEM INTERFACE ${highway_SOURCE_DIR})
endif()
