# Compiler options of every room. One IEEE operation at a time, never a fused one unasked (docs/numerics.md).
# To link with -ffast-math is enough: it switches subnormals off for the whole process that loads the library.
foreach(flags CXX_FLAGS EXE_LINKER_FLAGS SHARED_LINKER_FLAGS MODULE_LINKER_FLAGS)
  foreach(config "" ${CMAKE_CONFIGURATION_TYPES} ${CMAKE_BUILD_TYPE})
    string(TOUPPER CMAKE_${flags}_${config} name)
    string(REGEX REPLACE "_$" "" name ${name})
    if("${${name}}" MATCHES "-ffast-math|-Ofast|-funsafe-math")
      message(FATAL_ERROR "npu_quant needs IEEE arithmetic: take -ffast-math and its kind out of ${name}.")
    endif()
  endforeach()
endforeach()
add_library(npu_quant_options INTERFACE)
target_compile_options(npu_quant_options INTERFACE -ffp-contract=off -Wall -Wextra -Wconversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # GCC zeroes a struct of 100 bytes and more with `rep stos`, which takes longer than the stores: 10 ns each time, of
  # which a small call has several.
  target_compile_options(npu_quant_options INTERFACE -mmemset-strategy=vector_loop:1024:noalign,libcall:-1:noalign)
  # It copies ends of rows with `rep movs`, which takes 10 ns each time as well; loops in its place make blocks slower (1.2).
  target_compile_options(npu_quant_options INTERFACE -mmemcpy-strategy=libcall:-1:noalign)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(npu_quant_options INTERFACE -Wno-sign-conversion)  # for GCC it is no part of -Wconversion
endif()
if(NPU_QUANT_WERROR)
  target_compile_options(npu_quant_options INTERFACE -Werror)
endif()
if(NPU_QUANT_SANITIZE)
  # Of the folder, not of the targets: theirs come later, and may leave checks out.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(NPU_QUANT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # counts which branches are taken
endif()
