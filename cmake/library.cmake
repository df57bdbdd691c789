# Calls of a library's own functions are bound when it is linked, where the linker can: each is a jump shorter.
include(CheckLinkerFlag)
check_linker_flag(CXX LINKER:-Bsymbolic-functions NPU_QUANT_BINDS_ITS_OWN)
set(NPU_QUANT_BIND_ITS_OWN "")
if(NPU_QUANT_BINDS_ITS_OWN)
  set(NPU_QUANT_BIND_ITS_OWN LINKER:-Bsymbolic-functions)
endif()

# Makes a shared library whose functions of namespace npu_quant the project's other libraries may call, and nothing else:
# kernels are compiled hidden, and no std:: template is exported for another library to be bound to.
function(npu_quant_export_internals target)
  file(CONFIGURE OUTPUT internals.map CONTENT "{ global: _ZN9npu_quant*; _ZNK9npu_quant*; _ZT?N9npu_quant*; local: *; };\n" @ONLY)
  set(map ${CMAKE_CURRENT_BINARY_DIR}/internals.map)
  # The file has the version in its name: in a process that loads two installations, each finds its own.
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET default OUTPUT_NAME ${target}-${PROJECT_VERSION}
                                             LIBRARY_OUTPUT_DIRECTORY ${NPU_QUANT_LIBRARIES} LINK_DEPENDS ${map})
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  # Its threads live as long as the process: dlclose must leave it where it is.
  target_link_options(${target} PRIVATE LINKER:--version-script=${map} ${NPU_QUANT_BIND_ITS_OWN} LINKER:-z,nodelete)
endfunction()
