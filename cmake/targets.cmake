# One kernel source, one object per instruction set, chosen at run time (csrc/core/dispatch.h).
set(NPU_QUANT_TARGETS baseline avx2 avx512
    CACHE STRING "Instruction sets to compile the kernels for; native is the best that this machine has, and no other")

# Sets `output` to the best target of the machine that compiles, as simd/targets.cpp finds it where the library runs.
function(npu_quant_find_native output)
  set(${output} baseline PARENT_SCOPE)
  if(NOT EXISTS /proc/cpuinfo)
    return()
  endif()
  file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
  string(REGEX MATCHALL "[^ \t]+" flags "${flags}")
  set(avx2_needs avx2 fma f16c bmi2)
  set(avx512_needs ${avx2_needs} avx512f avx512bw avx512dq avx512vl avx512vbmi avx512_vnni)
  foreach(target avx2 avx512)
    set(lacks ${${target}_needs})
    list(REMOVE_ITEM lacks ${flags})
    if(NOT lacks)
      set(${output} ${target} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

set(NPU_QUANT_BUILT_TARGETS "")
foreach(target IN LISTS NPU_QUANT_TARGETS)
  if(target STREQUAL "native")
    npu_quant_find_native(target)
  elseif(NOT target MATCHES "^(baseline|avx2|avx512)$")
    message(FATAL_ERROR "NPU_QUANT_TARGETS has '${target}', available: baseline, avx2, avx512, native.")
  endif()
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(target baseline)
  endif()
  list(APPEND NPU_QUANT_BUILT_TARGETS ${target})
endforeach()
list(REMOVE_DUPLICATES NPU_QUANT_BUILT_TARGETS)
if(NOT NPU_QUANT_BUILT_TARGETS)
  message(FATAL_ERROR "NPU_QUANT_TARGETS is empty, available: baseline, avx2, avx512, native.")
endif()

# What runs kernels is told of which targets there are; kernels are not, or each would be compiled again with another.
add_library(npu_quant_targets INTERFACE)
foreach(target baseline avx2 avx512)
  string(TOUPPER NPU_QUANT_HAS_${target} has)
  if(target IN_LIST NPU_QUANT_BUILT_TARGETS)
    target_compile_definitions(npu_quant_targets INTERFACE ${has}=1)
  else()
    target_compile_definitions(npu_quant_targets INTERFACE ${has}=0)
  endif()
endforeach()

set(NPU_QUANT_FLAGS_baseline "")
set(NPU_QUANT_FLAGS_avx2 -DNPU_QUANT_TARGET_AVX2 -mavx2 -mfma -mf16c -mbmi2)
set(NPU_QUANT_FLAGS_avx512 -DNPU_QUANT_TARGET_AVX512 -mavx2 -mfma -mf16c -mbmi2 -mavx512f -mavx512bw -mavx512dq
                           -mavx512vl -mavx512vbmi -mavx512vnni)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # It copies structs of vectors by 16 bytes otherwise, through general registers: casts of float16 to float8 took 2.2 times
  # as long.
  list(APPEND NPU_QUANT_FLAGS_avx2 -mmove-max=256 -mstore-max=256)
  # GCC 12 sees '__Y' in avx512fintrin.h used uninitialized: undefined on purpose there, and a false alarm.
  list(APPEND NPU_QUANT_FLAGS_avx512 -Wno-maybe-uninitialized -Wno-uninitialized)
endif()

# Kernels are optimised in every configuration: without inlining, the vector wrappers are two orders of magnitude
# slower, and their vectors would be passed in ways that differ between targets.
# A switch at run time inside a loop (Stores in simd/vec.h) is there to have one loop: it is not to be made two of.
set(NPU_QUANT_KERNEL_OPTIMISATION -O3 -fno-tree-slp-vectorize)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND NPU_QUANT_KERNEL_OPTIMISATION -fno-unswitch-loops)  # clang has no such option
endif()
if(NPU_QUANT_SANITIZE)
  # The same inlining, less time to compile: without line numbers, and with UBSan in the baseline target alone. The others
  # have the same lines but for intrinsics, where its checks take most time.
  set(NPU_QUANT_KERNEL_OPTIMISATION -O1 -g0 -fno-sanitize=null,object-size)
  foreach(target avx2 avx512)
    list(APPEND NPU_QUANT_FLAGS_${target} -fno-sanitize=undefined)
  endforeach()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Addresses are checked by calls, not inline: 21 s for the longest file instead of 45.
    list(APPEND NPU_QUANT_KERNEL_OPTIMISATION --param asan-instrumentation-with-call-threshold=0)
  endif()
endif()

# Files that include one of these loops are compiled as one, and so are the others: that saves the time of headers, half
# a second for the intrinsics alone, and of templates that several files instantiate, a third of all kernels' time. So two
# kernels have no name in common in their anonymous namespaces. What the groups are is no promise.
set(NPU_QUANT_KERNEL_LOOPS elementwise/loop dynamic/reduce mx/blocks)
function(npu_quant_group_kernels)
  foreach(source IN LISTS ARGN)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP others)
    foreach(loops IN LISTS NPU_QUANT_KERNEL_LOOPS)
      file(STRINGS ${source} includes REGEX "^#include \"kernels/${loops}\\.h\"")
      if(includes)
        string(REPLACE / _ group ${loops})
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
      endif()
    endforeach()
  endforeach()
endfunction()

# Sets `output` to the objects of kernel sources, of all targets.
function(npu_quant_add_kernels prefix output)
  set(objects "")
  foreach(target IN LISTS NPU_QUANT_BUILT_TARGETS)
    add_library(${prefix}_${target} OBJECT ${ARGN})
    target_include_directories(${prefix}_${target} PRIVATE ${PROJECT_SOURCE_DIR}/csrc)
    target_compile_options(${prefix}_${target} PRIVATE ${NPU_QUANT_KERNEL_OPTIMISATION} -fno-exceptions ${NPU_QUANT_FLAGS_${target}})
    target_link_libraries(${prefix}_${target} PRIVATE npu_quant_options)
    set_target_properties(${prefix}_${target} PROPERTIES UNITY_BUILD ${NPU_QUANT_UNITY} UNITY_BUILD_MODE GROUP)
    list(APPEND objects $<TARGET_OBJECTS:${prefix}_${target}>)
  endforeach()
  set(${output} ${objects} PARENT_SCOPE)
endfunction()
