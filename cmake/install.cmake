# `cmake --install <build> --component development`: the library, its headers and the package that
# find_package(repdl) finds. The Python wheel takes the component `python` alone.

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/repdl)
install(TARGETS repdl EXPORT repdlTargets COMPONENT development FILE_SET HEADERS COMPONENT development)
if(REPDL_CUDA AND NOT BUILD_SHARED_LIBS)
  install(TARGETS repdl_cuda EXPORT repdlTargets COMPONENT development)
endif()
install(EXPORT repdlTargets NAMESPACE repdl:: DESTINATION ${package_dir} COMPONENT development)
# Before version 1 a minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/repdlConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(${PROJECT_SOURCE_DIR}/cmake/repdlConfig.cmake ${PROJECT_BINARY_DIR}/repdlConfig.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/repdlConfig.cmake ${PROJECT_BINARY_DIR}/repdlConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)
