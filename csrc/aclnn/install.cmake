# Into the Python package, or include/, lib64/ and share/ of the prefix. The folder can be moved.
include(CMakePackageConfigHelpers)

set(root "")
if(SKBUILD)
  set(root npu_quant/aclnn/)
endif()
configure_file(npu_quant.pc.in npu_quant.pc @ONLY)
write_basic_package_version_file(npu_quant-config-version.cmake COMPATIBILITY SameMinorVersion)

install(DIRECTORY include/ DESTINATION ${root}include)
install(TARGETS npu_quant_aclnn LIBRARY DESTINATION ${root}lib64)
foreach(name IN LISTS NPU_QUANT_LINK_NAMES)
  if(TARGET npu_quant_${name})
    install(TARGETS npu_quant_${name} LIBRARY DESTINATION ${root}lib64)
  endif()
endforeach()
install(FILES npu_quant-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/npu_quant-config-version.cmake
        DESTINATION ${root}share/cmake/npu_quant)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/npu_quant.pc DESTINATION ${root}share/pkgconfig)
