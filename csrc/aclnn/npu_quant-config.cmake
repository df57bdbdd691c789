# find_package(npu_quant CONFIG), then link npu_quant::aclnn.
if(NOT TARGET npu_quant::aclnn)
  get_filename_component(npu_quant_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  set(npu_quant_INCLUDE "${npu_quant_PREFIX}/include")
  add_library(npu_quant::aclnn SHARED IMPORTED)
  set_target_properties(npu_quant::aclnn PROPERTIES
    IMPORTED_LOCATION "${npu_quant_PREFIX}/lib64/libnpu_quant_aclnn.so"
    IMPORTED_SONAME libnpu_quant_aclnn.so
    INTERFACE_INCLUDE_DIRECTORIES "${npu_quant_INCLUDE};${npu_quant_INCLUDE}/aclnn;${npu_quant_INCLUDE}/aclnnop")
endif()
