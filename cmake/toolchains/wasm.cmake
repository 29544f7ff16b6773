# Debian: emscripten nodejs
# Emscripten's own toolchain file, with exceptions, memory that grows, and the files of this machine. Without threads.
set(CMAKE_CXX_COMPILER em++)
# Emscripten 3.1.6 takes the fetch of Node 18 for a browser's.
set(CMAKE_CROSSCOMPILING_EMULATOR node --no-experimental-fetch)
find_program(REPDL_EMXX em++ REQUIRED)
file(REAL_PATH ${REPDL_EMXX} emscripten)
cmake_path(GET emscripten PARENT_PATH emscripten)
set(CMAKE_CXX_FLAGS_INIT "-fexceptions -include ${CMAKE_CURRENT_LIST_DIR}/old_libcxx.h")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-fexceptions -sALLOW_MEMORY_GROWTH -sNODERAWFS -sEXIT_RUNTIME")
set(EMSCRIPTEN_SYSTEM_PROCESSOR wasm32)
include(${emscripten}/cmake/Modules/Platform/Emscripten.cmake)
