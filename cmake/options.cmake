# Compiler options of every room. -ffp-contract=off: one IEEE operation at a time, never a fused one unasked
# (docs/numerics.md); -fno-semantic-interposition and hidden symbols keep calls direct.
if("${CMAKE_CXX_FLAGS} ${CMAKE_EXE_LINKER_FLAGS}" MATCHES "-ffast-math|-Ofast|-funsafe-math")
  message(FATAL_ERROR "npu_quant needs IEEE arithmetic: take -ffast-math and its kind out of CXXFLAGS.")
endif()
add_library(npu_quant_options INTERFACE)
target_compile_options(npu_quant_options INTERFACE -ffp-contract=off -Wall -Wextra -Wconversion)
if(NPU_QUANT_WERROR)
  target_compile_options(npu_quant_options INTERFACE -Werror)
endif()
if(NPU_QUANT_SANITIZE)
  target_compile_options(npu_quant_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(npu_quant_options INTERFACE -fsanitize=address,undefined)
endif()
