# Included right after project() in a WebAssembly build (preset `wasm`): header-only packages of the
# machine that builds. /usr/include itself must stay out of sight, it belongs to another libc, so
# each package is seen through a link of its own.
set(host_headers ${CMAKE_BINARY_DIR}/host/include)
list(APPEND CMAKE_FIND_ROOT_PATH ${CMAKE_BINARY_DIR}/host)

# host_package(NAME TARGET HEADER): find_package(NAME) gives TARGET, the folder of HEADER.
function(host_package name target header)
  get_filename_component(folder ${header} DIRECTORY)
  find_path(${name}_HEADERS ${header} PATHS /usr/include /usr/local/include /opt/homebrew/include
            NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  file(MAKE_DIRECTORY ${host_headers})
  file(CREATE_LINK ${${name}_HEADERS}/${folder} ${host_headers}/${folder} SYMBOLIC)
  file(WRITE ${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/${name}-config.cmake
       "if(NOT TARGET ${target})
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${host_headers})
endif()\n")
endfunction()

host_package(nlohmann_json nlohmann_json::nlohmann_json nlohmann/json.hpp)
host_package(hwy hwy::hwy hwy/highway.h)

# Exceptions and 128-bit SIMD as WebAssembly itself has them: no help from JavaScript is needed.
add_compile_options(-fwasm-exceptions -msimd128
  "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/wasm_std.h>")
add_link_options(-fwasm-exceptions)
