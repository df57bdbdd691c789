# What a build cannot do without, and how Debian and Ubuntu call it: CMake's own words do not say what to install.

# Before project(), whose complaint is a page. scikit-build-core sets CXX to what Python was built with, there or not.
function(npu_quant_need_compiler)
  if(CMAKE_CXX_COMPILER OR CMAKE_TOOLCHAIN_FILE)
    return()
  endif()
  get_filename_component(names "$ENV{CXX}" PROGRAM PROGRAM_ARGS options)  # as CMake does; empty if there is none
  if(NOT names)
    separate_arguments(names UNIX_COMMAND "$ENV{CXX}")
  endif()
  if(names)
    list(GET names 0 names)  # the others are options
  else()
    set(names c++ g++ clang++ icpx)
  endif()
  find_program(NPU_QUANT_COMPILER NAMES ${names})
  mark_as_advanced(NPU_QUANT_COMPILER)
  if(NOT NPU_QUANT_COMPILER)
    string(REPLACE ";" ", " names "${names}")
    message(FATAL_ERROR "There is no C++ compiler (${names}). npu_quant needs g++ 12 or later:\n  apt-get install g++")
  endif()
endfunction()

function(npu_quant_need_cxx20)
  set(gcc_is_old FALSE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
    set(gcc_is_old TRUE)
  endif()
  if(gcc_is_old OR NOT "cxx_std_20" IN_LIST CMAKE_CXX_COMPILE_FEATURES)
    message(FATAL_ERROR "${CMAKE_CXX_COMPILER} (${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}) is too old for C++20. "
                        "npu_quant needs g++ 12 or later:\n  apt-get install g++-12, then CXX=g++-12")
  endif()
endfunction()

function(npu_quant_need_headers)
  if(NOT Python_Development.Module_FOUND)
    message(FATAL_ERROR "The headers of this Python are missing: ${Python_EXECUTABLE}. npu_quant needs them:\n"
                        "  apt-get install python3-dev")
  endif()
endfunction()
