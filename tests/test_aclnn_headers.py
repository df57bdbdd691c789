"""The headers of the C API: readable alone, under every path, with the names, numbers and types programs rely on."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path

import pytest

import npu_quant

INCLUDE = Path(npu_quant.aclnn_prefix()) / "include"
OPERATORS = """
    fake_quant_per_tensor_affine_cachemask fake_quant_per_channel_affine_cachemask dynamic_quant dynamic_quant_v2
    dynamic_quant_v3 dynamic_quant_v4 dynamic_block_quant dynamic_block_quant_v2 dynamic_mx_quant
    dynamic_mx_quant_v2 dynamic_mx_quant_v3 dynamic_mx_quant_with_dual_axis dynamic_mx_quant_with_dual_axis_v2
    rms_norm add_rms_norm add_rms_norm_quant add_rms_norm_quant_v2 ascend_quant ascend_quant_v3
    ascend_anti_quant group_quant dequant_bias quant_matmul_v4 quant_matmul_v5 anti_mx_quant trans_quant_param_v2 trans_quant_param_v3
    convert_weight_to_int4_pack quant_scatter quant_scatter_v2 swi_glu swi_glu_quant swi_glu_quant_v2
    grouped_matmul_v4 grouped_matmul_v5 grouped_matmul_swiglu_quant grouped_matmul_swiglu_quant_v2
    swiglu_group_quant dequant_swiglu_quant dequant_swiglu_quant_v2 dynamic_dual_level_mx_quant
    weight_quant_batch_matmul_v2 weight_quant_batch_matmul_v3
    moe_init_routing_v3 moe_token_permute moe_token_unpermute moe_finalize_routing moe_finalize_routing_v2
"""
HEADERS = ["acl/acl.h", "acl/acl_base.h", "acl/acl_rt.h", "aclnn/acl_meta.h", "aclnn/aclnn_base.h"]
HEADERS += ["aclnnop/aclnn_util.h", "opdev/op_errno.h"]
HEADERS += [f"aclnnop/aclnn_{operator}.h" for operator in OPERATORS.split()]
EVERY_HEADER = "".join(f'#include "{header}"\n' for header in HEADERS)
CLANG = pytest.mark.needs("clang")
COMPILERS = ["g++", pytest.param("clang++", marks=CLANG)]
C_COMPILERS = ["gcc", pytest.param("clang", marks=CLANG)]
FLAGS = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]


def check(compiler: str, standard: str, folder: Path, paths: list[str], *texts: str) -> None:
    """Compile programs; whatever the compiler says about them fails the test."""
    suffix = "c" if standard == "c99" else "cpp"
    sources = [folder / f"program{i}.{suffix}" for i in range(len(texts))]
    for source, text in zip(sources, texts, strict=True):
        source.write_text(text)
    strict = ["-Wstrict-prototypes"] if standard == "c99" else []
    command = [
        compiler,
        f"-std={standard}",
        *strict,
        *FLAGS,
        *(f"-I{INCLUDE / path}" for path in paths),
    ]
    done = subprocess.run([*command, *sources], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_headers_are_these() -> None:
    assert sorted(str(p.relative_to(INCLUDE)) for p in INCLUDE.rglob("*.*")) == sorted(HEADERS)


@pytest.mark.parametrize("standard", ["c++11", "c++17"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_header_needs_no_other(compiler: str, standard: str, tmp_path: Path) -> None:
    check(
        compiler, standard, tmp_path, ["."], *(f'#include "{header}"\n' * 2 for header in HEADERS)
    )


@pytest.mark.parametrize("compiler", C_COMPILERS)
def test_the_runtimes_headers_are_c(compiler: str, tmp_path: Path) -> None:
    headers = [header for header in HEADERS if header.startswith("acl/")]
    check(compiler, "c99", tmp_path, ["."], *(f'#include "{header}"\n' * 2 for header in headers))


PATHS = [".", "aclnn", "aclnnop"]
SETS_OF_PATHS = [list(paths) for n in (1, 2, 3) for paths in itertools.permutations(PATHS, n)]


@pytest.mark.parametrize("paths", SETS_OF_PATHS, ids=" ".join)
def test_every_spelling_that_the_paths_allow(paths: list[str], tmp_path: Path) -> None:
    """A program includes "aclnnop/aclnn_x.h", or "aclnn_x.h" where the path has the folder in it."""
    spellings = [header for header in HEADERS if "." in paths]
    for folder in {*paths} - {"."}:
        spellings += [h.removeprefix(f"{folder}/") for h in HEADERS if h.startswith(f"{folder}/")]
    text = "".join(f'#include "{spelling}"\n' for spelling in [*spellings, *spellings[::-1]])
    check("g++", "c++11", tmp_path, paths, text)


def test_text_is_ascii() -> None:
    for header in HEADERS:
        assert (INCLUDE / header).read_text().isascii(), header


DATA_TYPES = """
    ACL_DT_UNDEFINED -1, ACL_FLOAT 0, ACL_FLOAT16 1, ACL_INT8 2, ACL_INT32 3, ACL_UINT8 4, ACL_INT16 6, ACL_UINT16 7,
    ACL_UINT32 8, ACL_INT64 9, ACL_UINT64 10, ACL_DOUBLE 11, ACL_BOOL 12, ACL_STRING 13, ACL_COMPLEX64 16,
    ACL_COMPLEX128 17, ACL_BF16 27, ACL_INT4 29, ACL_UINT1 30, ACL_COMPLEX32 33, ACL_HIFLOAT8 34, ACL_FLOAT8_E5M2 35,
    ACL_FLOAT8_E4M3FN 36, ACL_FLOAT8_E8M0 37, ACL_FLOAT6_E3M2 38, ACL_FLOAT6_E2M3 39, ACL_FLOAT4_E2M1 40,
    ACL_FLOAT4_E1M2 41
"""
FORMATS = """
    ACL_FORMAT_UNDEFINED -1, ACL_FORMAT_NCHW 0, ACL_FORMAT_NHWC 1, ACL_FORMAT_ND 2, ACL_FORMAT_NC1HWC0 3,
    ACL_FORMAT_FRACTAL_Z 4, ACL_FORMAT_NC1HWC0_C04 12, ACL_FORMAT_HWCN 16, ACL_FORMAT_NDHWC 27,
    ACL_FORMAT_FRACTAL_NZ 29, ACL_FORMAT_NCDHW 30, ACL_FORMAT_NDC1HWC0 32, ACL_FRACTAL_Z_3D 33, ACL_FORMAT_NC 35,
    ACL_FORMAT_NCL 47, ACL_FORMAT_FRACTAL_NZ_C0_16 50, ACL_FORMAT_FRACTAL_NZ_C0_32 51, ACL_FORMAT_FRACTAL_NZ_C0_2 52,
    ACL_FORMAT_FRACTAL_NZ_C0_4 53, ACL_FORMAT_FRACTAL_NZ_C0_8 54
"""
COPY_KINDS = """
    ACL_MEMCPY_HOST_TO_HOST 0, ACL_MEMCPY_HOST_TO_DEVICE 1, ACL_MEMCPY_DEVICE_TO_HOST 2, ACL_MEMCPY_DEVICE_TO_DEVICE 3,
    ACL_MEMCPY_DEFAULT 4, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE 5, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE 6,
    ACL_MEMCPY_INTER_DEVICE_TO_DEVICE 7
"""
MALLOC_POLICIES = """
    ACL_MEM_MALLOC_HUGE_FIRST 0, ACL_MEM_MALLOC_HUGE_ONLY 1, ACL_MEM_MALLOC_NORMAL_ONLY 2,
    ACL_MEM_MALLOC_HUGE_FIRST_P2P 3, ACL_MEM_MALLOC_HUGE_ONLY_P2P 4, ACL_MEM_MALLOC_NORMAL_ONLY_P2P 5,
    ACL_MEM_MALLOC_HUGE1G_ONLY 6, ACL_MEM_MALLOC_HUGE1G_ONLY_P2P 7, ACL_MEM_TYPE_LOW_BAND_WIDTH 256,
    ACL_MEM_TYPE_HIGH_BAND_WIDTH 4096, ACL_MEM_ACCESS_USER_SPACE_READONLY 1048576
"""
ENUMS = {
    "aclDataType": DATA_TYPES,
    "aclFormat": FORMATS,
    "aclrtMemcpyKind": COPY_KINDS,
    "aclrtMemMallocPolicy": MALLOC_POLICIES,
    "aclrtRunMode": "ACL_DEVICE 0, ACL_HOST 1",
}
RUNTIME_CODES = """
    ACL_SUCCESS 0, ACL_ERROR_NONE 0, ACL_ERROR_INVALID_PARAM 100000, ACL_ERROR_UNINITIALIZE 100001,
    ACL_ERROR_REPEAT_INITIALIZE 100002, ACL_ERROR_INVALID_FILE 100003, ACL_ERROR_PARSE_FILE 100006,
    ACL_ERROR_UNSUPPORTED_DATA_TYPE 100026, ACL_ERROR_FORMAT_NOT_MATCH 100027, ACL_ERROR_REPEAT_FINALIZE 100037,
    ACL_ERROR_BAD_ALLOC 200000, ACL_ERROR_API_NOT_SUPPORT 200001, ACL_ERROR_INVALID_DEVICE 200002,
    ACL_ERROR_MEMORY_ADDRESS_UNALIGNED 200003, ACL_ERROR_INVALID_RESOURCE_HANDLE 200005,
    ACL_ERROR_FEATURE_UNSUPPORTED 200006, ACL_ERROR_STORAGE_OVER_LIMIT 300000, ACL_ERROR_INTERNAL_ERROR 500000,
    ACL_ERROR_FAILURE 500001, ACL_ERROR_GE_FAILURE 500002, ACL_ERROR_RT_FAILURE 500003, ACL_ERROR_DRV_FAILURE 500004,
    ACL_ERROR_PROFILING_FAILURE 500005, ACL_ERROR_RT_PARAM_INVALID 107000, ACL_ERROR_RT_INVALID_DEVICEID 107001,
    ACL_ERROR_RT_CONTEXT_NULL 107002, ACL_ERROR_RT_STREAM_CONTEXT 107003, ACL_ERROR_RT_INVALID_HANDLE 107017,
    ACL_ERROR_RT_MEMORY_ALLOCATION 207001, ACL_ERROR_RT_MEMORY_FREE 207002, ACL_ERROR_RT_DEVICE_OOM 207018,
    ACL_ERROR_RT_INTERNAL_ERROR 507000, ACL_ERROR_RT_AICORE_EXCEPTION 507015
"""
VERSIONS = "ACL_MAJOR_VERSION 1, ACL_MINOR_VERSION 17, ACL_PATCH_VERSION 0"
OPERATOR_CODES = """
    SUCCESS 0, ERR_PARAM_NULLPTR 161001, ERR_PARAM_INVALID 161002, ERR_RUNTIME_ERROR 361001, ERR_INNER 561000,
    ERR_INNER_INFERSHAPE_ERROR 561001, ERR_INNER_TILING_ERROR 561002, ERR_INNER_FIND_KERNEL_ERROR 561003,
    ERR_INNER_CREATE_EXECUTOR 561101, ERR_INNER_NOT_TRANS_EXECUTOR 561102, ERR_INNER_NULLPTR 561103,
    ERR_INNER_WRONG_ATTR_INFO_SIZE 561104, ERR_INNER_KEY_CONFLICT 561105, ERR_INNER_KEY_CONFILICT 561105,
    ERR_INNER_INVALID_IMPL_MODE 561106, ERR_INNER_OPP_PATH_NOT_FOUND 561107, ERR_INNER_LOAD_JSON_FAILED 561108,
    ERR_INNER_JSON_VALUE_NOT_FOUND 561109, ERR_INNER_JSON_FORMAT_INVALID 561110, ERR_INNER_JSON_DTYPE_INVALID 561111,
    ERR_INNER_OPP_KERNEL_PKG_NOT_FOUND 561112, ERR_INNER_OP_FILE_INVALID 561113,
    ERR_INNER_ATTR_NUM_OUT_OF_BOUND 561114, ERR_INNER_ATTR_LEN_NOT_ENOUGH 561115,
    ERR_INNER_INPUT_NUM_IN_JSON_TOO_LARGE 561116, ERR_INNER_INPUT_JSON_IS_NULL 561117,
    ERR_INNER_STATIC_WORKSPACE_INVALID 561118, ERR_INNER_STATIC_BLOCK_DIM_INVALID 561119
"""


def numbers(table: str, prefix: str = "") -> dict[str, str]:
    """Return the names of a table and what they stand for."""
    pairs = (entry.split() for entry in table.split(","))
    return {prefix + name: number for name, number in pairs}


ENUMERATORS = numbers(",".join(ENUMS.values()))
CONSTANTS = numbers(f"{RUNTIME_CODES}, {VERSIONS}, OK 0") | numbers(OPERATOR_CODES, "ACLNN_")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_numbers(compiler: str, tmp_path: Path) -> None:
    facts = [f"{name} == {number}" for name, number in (ENUMERATORS | CONSTANTS).items()]
    for enum, table in ENUMS.items():
        facts += [f"{enum}::{name} == {number}" for name, number in numbers(table).items()]
    text = EVERY_HEADER + "".join(f'static_assert({fact}, "{fact}");\n' for fact in facts)
    check(compiler, "c++11", tmp_path, ["."], text)


def test_numbers_in_c(tmp_path: Path) -> None:
    facts = [f"typedef char {name}_is[{name} == {n} ? 1 : -1];" for name, n in ENUMERATORS.items()]
    check("gcc", "c99", tmp_path, ["."], "\n".join(['#include "acl/acl.h"', *facts, ""]))


def test_headers_define_no_other_number() -> None:
    text = "".join((INCLUDE / header).read_text() for header in HEADERS)
    found = re.findall(r"^ +(ACL_\w+) = ", text, re.MULTILINE)
    found += re.findall(r"(ACL_\w+) = \d(?=, |\ })", text)
    found += re.findall(r"^(?:static const int|constexpr aclnnStatus) (\w+) = ", text, re.MULTILINE)
    found += re.findall(r"^#define (ACL\w+) (?:\d|ACLNN_ERR)", text, re.MULTILINE)
    assert sorted(found) == sorted([*ENUMERATORS, *CONSTANTS])


# Return type, name, types of the parameters.
RUNTIME = """
    aclError aclInit(const char*)
    aclError aclFinalize()
    aclError aclFinalizeReference(uint64_t*)
    const char* aclGetRecentErrMsg()
    aclError aclrtSetDevice(int32_t)
    aclError aclrtResetDevice(int32_t)
    aclError aclrtResetDeviceForce(int32_t)
    aclError aclrtGetDevice(int32_t*)
    aclError aclrtGetDeviceCount(uint32_t*)
    aclError aclrtGetRunMode(aclrtRunMode*)
    aclError aclrtCreateContext(aclrtContext*, int32_t)
    aclError aclrtDestroyContext(aclrtContext)
    aclError aclrtSetCurrentContext(aclrtContext)
    aclError aclrtGetCurrentContext(aclrtContext*)
    aclError aclrtCreateStream(aclrtStream*)
    aclError aclrtCreateStreamWithConfig(aclrtStream*, uint32_t, uint32_t)
    aclError aclrtDestroyStream(aclrtStream)
    aclError aclrtSynchronizeStream(aclrtStream)
    aclError aclrtSynchronizeStreamWithTimeout(aclrtStream, int32_t)
    aclError aclrtSynchronizeDevice()
    aclError aclrtMalloc(void**, size_t, aclrtMemMallocPolicy)
    aclError aclrtMallocAlign32(void**, size_t, aclrtMemMallocPolicy)
    aclError aclrtFree(void*)
    aclError aclrtMallocHost(void**, size_t)
    aclError aclrtFreeHost(void*)
    aclError aclrtMemcpy(void*, size_t, const void*, size_t, aclrtMemcpyKind)
    aclError aclrtMemcpyAsync(void*, size_t, const void*, size_t, aclrtMemcpyKind, aclrtStream)
    aclError aclrtMemset(void*, size_t, int32_t, size_t)
    aclError aclrtMemsetAsync(void*, size_t, int32_t, size_t, aclrtStream)
    const char* aclrtGetSocName()
    size_t aclDataTypeSize(aclDataType)
    float aclFloat16ToFloat(aclFloat16)
    aclFloat16 aclFloatToFloat16(float)
"""
TENSOR = """const int64_t*, uint64_t, aclDataType, const int64_t*, int64_t, aclFormat, const int64_t*, uint64_t, void*"""
META = f"""
    aclTensor* aclCreateTensor({TENSOR})
    aclnnStatus aclInitTensor(aclTensor*, {TENSOR})
    aclScalar* aclCreateScalar(void*, aclDataType)
    aclIntArray* aclCreateIntArray(const int64_t*, uint64_t)
    aclFloatArray* aclCreateFloatArray(const float*, uint64_t)
    aclBoolArray* aclCreateBoolArray(const bool*, uint64_t)
    aclTensorList* aclCreateTensorList(const aclTensor* const*, uint64_t)
    aclScalarList* aclCreateScalarList(const aclScalar* const*, uint64_t)
    aclnnStatus aclDestroyTensor(const aclTensor*)
    aclnnStatus aclDestroyScalar(const aclScalar*)
    aclnnStatus aclDestroyIntArray(const aclIntArray*)
    aclnnStatus aclDestroyFloatArray(const aclFloatArray*)
    aclnnStatus aclDestroyBoolArray(const aclBoolArray*)
    aclnnStatus aclDestroyTensorList(const aclTensorList*)
    aclnnStatus aclDestroyScalarList(const aclScalarList*)
    aclnnStatus aclGetViewShape(const aclTensor*, int64_t**, uint64_t*)
    aclnnStatus aclGetStorageShape(const aclTensor*, int64_t**, uint64_t*)
    aclnnStatus aclGetViewStrides(const aclTensor*, int64_t**, uint64_t*)
    aclnnStatus aclGetViewOffset(const aclTensor*, int64_t*)
    aclnnStatus aclGetFormat(const aclTensor*, aclFormat*)
    aclnnStatus aclGetDataType(const aclTensor*, aclDataType*)
    aclnnStatus aclGetIntArraySize(const aclIntArray*, uint64_t*)
    aclnnStatus aclGetFloatArraySize(const aclFloatArray*, uint64_t*)
    aclnnStatus aclGetBoolArraySize(const aclBoolArray*, uint64_t*)
    aclnnStatus aclGetTensorListSize(const aclTensorList*, uint64_t*)
    aclnnStatus aclGetScalarListSize(const aclScalarList*, uint64_t*)
    aclnnStatus aclSetRawTensorAddr(aclTensor*, void*)
    aclnnStatus aclGetRawTensorAddr(const aclTensor*, void**)
    aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor*)
    aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor*)
    aclnnStatus aclnnInit(const char*)
    aclnnStatus aclnnFinalize()
"""
REFRESH = "".join(
    f"aclnnStatus {prefix}Set{kind}TensorAddr(aclOpExecutor*, const size_t, aclTensor*, void*)\n"
    f"aclnnStatus {prefix}SetDynamic{kind}TensorAddr(aclOpExecutor*, size_t, const size_t, aclTensorList*, void*)\n"
    for prefix in ("acl", "Acl")
    for kind in ("Input", "Output", "")
)
# Parameters of the first phase, before workspaceSize and executor. T: const aclTensor*, O: aclTensor*,
# L: const aclTensorList*, M: aclTensorList*.
FIRST_PHASES = """
    FakeQuantPerTensorAffineCachemask(T, T, T, float, int64_t, int64_t, O, O)
    FakeQuantPerChannelAffineCachemask(T, T, T, int64_t, int64_t, int64_t, O, O)
    DynamicQuant(T, T, T, T)
    DynamicQuantV2(T, T, T, int64_t, T, T, T)
    DynamicQuantV3(T, T, T, int64_t, bool, const char*, T, T, T)
    DynamicQuantV4(T, T, T, int64_t, bool, const char*, float, T, T, T)
    DynamicBlockQuant(T, double, char*, int64_t, int64_t, int64_t, T, T)
    DynamicBlockQuantV2(T, double, char*, int64_t, int64_t, int64_t, double, T, T)
    DynamicMxQuant(T, int64_t, char*, int64_t, int64_t, int64_t, T, T)
    DynamicMxQuantV2(T, int64_t, char*, int64_t, int64_t, int64_t, double, T, T)
    DynamicMxQuantV3(T, int64_t, char*, int64_t, int64_t, int64_t, double, double, T, T)
    DynamicMxQuantWithDualAxis(T, char*, int64_t, int64_t, T, T, T, T)
    DynamicMxQuantWithDualAxisV2(T, char*, int64_t, int64_t, double, T, T, T, T)
    DynamicDualLevelMxQuant(T, T, char*, int64_t, int64_t, T, T, T)
    RmsNorm(T, T, double, T, T)
    AddRmsNorm(T, T, T, double, T, T, T)
    AddRmsNormQuant(T, T, T, T, T, T, T, int64_t, double, bool, O, O, O)
    AddRmsNormQuantV2(T, T, T, T, T, T, T, T, int64_t, double, bool, O, O, O, O)
    AscendQuant(T, T, T, bool, const char*, int32_t, T)
    AscendQuantV3(T, T, T, bool, const char*, int32_t, int32_t, T)
    AscendAntiQuant(T, T, T, int64_t, bool, T)
    AntiMxQuant(T, T, int64_t, int64_t, T)
    GroupQuant(T, T, T, T, int32_t, O)
    DequantBias(T, T, T, T, int64_t, T)
    QuantMatmulV4(T, T, T, T, T, T, bool, bool, T)
    QuantMatmulV5(T, T, T, T, T, T, T, T, T, bool, bool, int64_t, O)
    InplaceQuantScatter(O, T, T, T, T, int64_t, int64_t, int64_t)
    InplaceQuantScatterV2(O, T, T, T, T, int64_t, int64_t, int64_t, const char*)
    MoeInitRoutingV3(T, T, T, T, int64_t, int64_t, int64_t, int64_t, int64_t, bool, int64_t, const aclIntArray*, int64_t, T, T, T, T)
    MoeTokenPermute(T, T, int64_t, bool, T, T)
    MoeTokenUnpermute(T, T, T, bool, const aclIntArray*, O)
    MoeFinalizeRouting(T, T, T, T, T, T, T, T)
    MoeFinalizeRoutingV2(T, T, T, T, T, T, T, int64_t, T)
    TransQuantParamV2(T, T, T)
    TransQuantParamV3(T, T, int64_t, T)
    ConvertWeightToINT4Pack(T, O)
    WeightQuantBatchMatmulV2(T, T, T, T, T, T, T, int, T)
    WeightQuantBatchMatmulV3(T, T, T, T, T, T, T, int, int, T)
    SwiGlu(T, int64_t, T)
    SwiGluQuant(T, T, T, T, bool, char*, T, T)
    SwiGluQuantV2(T, T, T, T, bool, char*, int64_t, int64_t, T, T)
    SwigluGroupQuant(T, T, T, T, int64_t, int64_t, int64_t, bool, double, double, bool, T, T, T)
    DequantSwigluQuant(T, T, T, T, T, T, T, bool, char*, T, T)
    DequantSwigluQuantV2(T, T, T, T, T, T, T, bool, char*, int64_t, char*, int64_t, int64_t, double, double, double, T, T)
    GroupedMatmulV4(L, L, L, L, L, L, L, L, T, L, L, L, int64_t, int64_t, int64_t, int64_t, M, M, M)
    GroupedMatmulV5(L, L, L, L, L, L, L, L, T, L, L, L, int64_t, int64_t, int64_t, int64_t, aclIntArray*, M, M, M)
    GroupedMatmulSwigluQuant(T, T, T, T, T, T, T, O, O, O)
    GroupedMatmulSwigluQuantV2(T, L, L, L, T, T, T, T, int64_t, int64_t, int64_t, int64_t, const aclIntArray*, O, O)
"""


def phases() -> str:
    """Return both prototypes of every operator."""
    lines = []
    for name, parameters in re.findall(r"(\w+)\((.*)\)", FIRST_PHASES):
        lines += [
            f"aclnnStatus aclnn{name}GetWorkspaceSize({parameters}, uint64_t*, aclOpExecutor**)"
        ]
        lines += [f"aclnnStatus aclnn{name}(void*, uint64_t, aclOpExecutor*, aclrtStream)"]
    return "\n".join(lines)


PROTOTYPES = re.findall(r"(\S.*?) (\w+)\((.*)\)", RUNTIME + META + REFRESH + phases())


@pytest.mark.parametrize("standard", ["c++11", "c++17"])
def test_prototypes(standard: str, tmp_path: Path) -> None:
    """To the letter, also without noexcept: programs hand the functions to std::unique_ptr."""
    text = f"{EVERY_HEADER}#include <type_traits>\nusing T = const aclTensor*;\nusing O = aclTensor*;\n"
    text += "using L = const aclTensorList*;\nusing M = aclTensorList*;\n"
    for result, name, parameters in PROTOTYPES:
        pointer = f"{result} (*)({parameters})"
        text += f'static_assert(std::is_same<decltype(&{name}), {pointer}>::value, "{name}");\n'
    check("g++", standard, tmp_path, ["."], text)


def test_headers_declare_no_other_function() -> None:
    text = "".join((INCLUDE / header).read_text() for header in HEADERS)
    found = re.findall(r"^(?:ACL_FUNC_VISIBILITY|ACLNN_API) .*?(\w+)\(", text, re.MULTILINE)
    assert sorted(found) == sorted(name for _, name, _ in PROTOTYPES)


def test_macros_and_types(tmp_path: Path) -> None:
    text = (
        EVERY_HEADER
        + """
#include <memory>
#include <type_traits>
#if !defined ACLNN_META || !defined ACL_FUNC_VISIBILITY || !defined ACLNN_API
#error
#endif
static_assert(std::is_same<aclError, int>::value && std::is_same<aclnnStatus, int32_t>::value, "");
static_assert(std::is_same<aclFloat16, uint16_t>::value && std::is_same<aclrtEvent, void*>::value, "");
static_assert(std::is_same<aclrtStream, void*>::value && std::is_same<aclrtContext, void*>::value, "");
void release(aclTensor* tensor, void* memory) {
  std::unique_ptr<aclTensor, aclnnStatus (*)(const aclTensor*)> a(tensor, aclDestroyTensor);
  std::unique_ptr<void, aclError (*)(void*)> b(memory, aclrtFree);
  auto status = aclInit(nullptr);
  status = aclnnInit(nullptr);
  (void)status;
}
"""
    )
    check("g++", "c++11", tmp_path, ["."], text)
