# What a library of ops outside of the tree is built from: headers, an archive, and the CMake package repdl_ops. A wheel
# has it as repdl/sdk; `cmake --install --component development` puts it into share/repdl_ops.

add_library(repdl_ops_parts STATIC ${part_objects})

set(sdk_headers "")
foreach(folder base drivers numerics)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src
    ${PROJECT_SOURCE_DIR}/src/${folder}/*.h ${PROJECT_SOURCE_DIR}/src/${folder}/*.def)
  list(APPEND sdk_headers ${headers})
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/repdl_opsConfig.cmake ${PROJECT_BINARY_DIR}/repdl_opsConfig.cmake @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/repdl_opsConfigVersion.cmake COMPATIBILITY ExactVersion)

foreach(component IN ITEMS python development)
  set(sdk repdl/sdk)
  if(component STREQUAL "development")
    set(sdk ${CMAKE_INSTALL_DATADIR}/repdl_ops)
  endif()
  install(TARGETS repdl_ops_parts ARCHIVE DESTINATION ${sdk}/lib COMPONENT ${component})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/repdl DESTINATION ${sdk}/include COMPONENT ${component})
  foreach(header IN LISTS sdk_headers)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${PROJECT_SOURCE_DIR}/src/${header} DESTINATION ${sdk}/include/${folder} COMPONENT ${component})
  endforeach()
  install(FILES ${PROJECT_SOURCE_DIR}/src/base/op_list.cc ${PROJECT_SOURCE_DIR}/src/base/guest/guest.cc
    DESTINATION ${sdk}/src COMPONENT ${component})
  install(FILES ${PROJECT_BINARY_DIR}/repdl_opsConfig.cmake ${PROJECT_BINARY_DIR}/repdl_opsConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/cmake/flags.cmake ${PROJECT_SOURCE_DIR}/cmake/highway.cmake
    ${PROJECT_SOURCE_DIR}/cmake/kernels.cmake DESTINATION ${sdk}/cmake COMPONENT ${component})
endforeach()
