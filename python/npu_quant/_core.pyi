from contextvars import ContextVar
from typing import Any, TypeVar

_Result = TypeVar("_Result", bound=tuple[Any, ...])

numerics_default: ContextVar[str]

def version() -> str: ...
def target() -> str: ...
def targets() -> list[str]: ...
def set_target(name: str) -> bool: ...
def compiler() -> str: ...
def check_numerics(name: object) -> None: ...
def list_numerics() -> list[str]: ...
def get_num_threads() -> int: ...
def set_num_threads(n: object) -> None: ...
def npu_dynamic_quant(
    result_type: type[_Result],
    input: object,
    smooth_scales: object,
    group_index: object,
    dst_type: object,
    quant_mode: object,
    dst_type_max: object,
    out: object,
    numerics: object,
    /,
) -> _Result: ...
def npu_dynamic_block_quant(
    result_type: type[_Result],
    x: object,
    min_scale: object,
    round_mode: object,
    dst_type: object,
    row_block_size: object,
    col_block_size: object,
    dst_type_max: object,
    out: object,
    numerics: object,
    /,
) -> _Result: ...
