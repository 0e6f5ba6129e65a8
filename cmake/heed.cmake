# How every target of heed is compiled, and heed_layer(): one folder of src/, one target, its tests.

add_library(heed_flags INTERFACE)
target_compile_features(heed_flags INTERFACE cxx_std_20)
target_include_directories(heed_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
if(MSVC)
  target_compile_options(heed_flags INTERFACE /W4 /fp:precise $<$<BOOL:${HEED_WERROR}>:/WX>)
else()
  # -ffp-contract=off: a * b + c is rounded twice unless the code says fma, on every compiler.
  target_compile_options(heed_flags INTERFACE -Wall -Wextra -Wshadow -ffp-contract=off
                         $<$<BOOL:${HEED_WERROR}>:-Werror>
                         # GCC 12 sees an overlap in "literal" + string that is not there (PR105651)
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
endif()
if(HEED_SANITIZE)
  target_compile_options(heed_flags INTERFACE -fsanitize=${HEED_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  target_link_options(heed_flags INTERFACE -fsanitize=${HEED_SANITIZE})
  if(HEED_SANITIZE STREQUAL "thread")
    target_compile_definitions(heed_flags INTERFACE HEED_THREAD_SANITIZER)
  endif()
endif()

configure_file(${PROJECT_SOURCE_DIR}/cmake/version.h.in
               ${PROJECT_BINARY_DIR}/include/heed/version.h @ONLY)

# heed_package(NAME): a package that the library links, needed again by those who link it statically.
macro(heed_package name)
  find_package(${name} REQUIRED GLOBAL)
  set_property(GLOBAL APPEND PROPERTY heed_packages ${name})
endmacro()

# heed_layer(NAME SOURCES ... [TESTS ...] [DEPENDS lower layers] [LINK libraries])
# Declares the object library heed_NAME and, when tests are built, the GoogleTest program
# heed_NAME_test, which links the whole library.
function(heed_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;TESTS;DEPENDS;LINK" ${ARGN})
  add_library(heed_${name} OBJECT ${ARG_SOURCES})
  target_link_libraries(heed_${name} PUBLIC heed_flags PRIVATE ${ARG_LINK})
  target_include_directories(heed_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  set_target_properties(heed_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON)
  foreach(lower IN LISTS ARG_DEPENDS)
    target_link_libraries(heed_${name} PRIVATE heed_${lower})
  endforeach()
  target_sources(heed PRIVATE $<TARGET_OBJECTS:heed_${name}>)
  foreach(library IN LISTS ARG_LINK)
    target_link_libraries(heed PRIVATE ${library})
  endforeach()
  if(HEED_BUILD_TESTS AND ARG_TESTS)
    heed_test(heed_${name}_test ${ARG_TESTS})
    target_include_directories(heed_${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(heed_${name}_test PRIVATE ${ARG_LINK})
  endif()
endfunction()

# heed_test(NAME sources...): a GoogleTest program over the whole library, each case a CTest test
# labelled NAME.
# Tests see HEED_SOURCE_DIR and HEED_SHARED_DIR (conformance cases; tests skip where it is absent).
function(heed_test name)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE heed heed_flags GTest::gmock GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE HEED_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    HEED_BINARY_DIR="${PROJECT_BINARY_DIR}" HEED_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 600 LABELS ${name})
endfunction()
