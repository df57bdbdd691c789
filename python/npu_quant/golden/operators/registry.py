"""The operators that can be compared: the model of each, and the table of its named formulas."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, overload

import numpy as np

from ... import _core, ops
from ..._face import either
from ..._kinds import told
from ...errors import ParamError, meant
from ..sources import as_source, is_source
from .formula import Variants, VariantsByOperator
from .inputs import arguments_of, by_name, parameters_of
from .model import Model, Operator
from .undefined import TABLE

_GROUPED = {"y": "codes", "scale": "scale"}
_MX = {"y": "codes", "mxscale": "scale"}
_MX_TWICE = {"y1": "codes", "mxscale1": "scale", "y2": "codes", "mxscale2": "scale"}
_WITH_OFFSET = _GROUPED | {"offset": "offset"}
_ASYMMETRIC = "dynamic_quant_asymmetric.DynamicQuantAsymmetric"
_FAKE = "fake_quantize.FakeQuantize"
_ONLY = {"output": "values"}
_BOTH = {"output": "values", "mask": "mask"}
_TENSOR_ARRAYS = "self scale zero_point fake_quant_enabled"
_CHANNEL_ARRAYS = "self scale zero_point"
_NORM_ARRAYS = "x1 x2 gamma scales1 zero_points1"
_NORM = {"y1": "codes", "y2": "codes", "x": "values"}
_RMS_NORM = "rms_norm_quant.RmsNormQuant"
_VALUES = {"y": "values", "rstd": "values"}
_SUM = _VALUES | {"x": "values"}
_SCATTER = "quant_scatter.QuantScatter"
_SCATTER_ARRAYS = "self indices updates quant_scales"
_BRANCHES = {
    "y1": "codes",
    "y2": "codes",
    "x_out": "values",
    "scale1": "scale",
    "scale2": "scale",
}
OPERATORS = {
    function.__name__: Operator(
        function,
        page,
        tuple(arrays.split()),
        outputs,
        tuple(row for row in TABLE if row.op == function.__name__),
    )
    for function, page, arrays, outputs in (
        (ops.npu_dynamic_quant, "dynamic_quant.DynamicQuant", "input", _GROUPED),
        (ops.npu_dynamic_quant_asymmetric, _ASYMMETRIC, "input", _WITH_OFFSET),
        (ops.npu_dynamic_block_quant, "dynamic_block_quant.DynamicBlockQuant", "x", _GROUPED),
        (
            ops.npu_grouped_dynamic_block_quant,
            "dynamic_block_quant.Grouped",
            "x group_list",
            _GROUPED,
        ),
        (ops.npu_dynamic_mx_quant, "dynamic_mx_quant.DynamicMxQuant", "input", _MX),
        (
            ops.npu_dynamic_mx_quant_with_dual_axis,
            "dynamic_mx_quant.WithDualAxis",
            "input",
            _MX_TWICE,
        ),
        (
            ops.npu_dynamic_block_mx_quant,
            "dynamic_block_mx_quant.DynamicBlockMxQuant",
            "input",
            {"y": "codes", "scale1": "scale", "scale2": "scale"},
        ),
        (
            ops.npu_dynamic_dual_level_mx_quant,
            "dynamic_dual_level_mx_quant.DynamicDualLevelMxQuant",
            "input",
            {"y": "codes", "level0_scale": "scale", "level1_scale": "scale"},
        ),
        (ops.npu_grouped_dynamic_mx_quant, "dynamic_mx_quant.Grouped", "x group_index", _MX),
        (ops.npu_rms_norm, "add_rms_norm.RmsNorm", "self gamma", _VALUES),
        (ops.npu_add_rms_norm, "add_rms_norm.AddRmsNorm", "x1 x2 gamma", _SUM),
        (ops.npu_add_rms_norm_quant, "add_rms_norm_quant.AddRmsNormQuant", _NORM_ARRAYS, _NORM),
        (ops.npu_rms_norm_quant, _RMS_NORM, "x gamma beta scale offset", {"y": "codes"}),
        (ops.npu_rms_norm_quant_v2, _RMS_NORM, "x gamma scale", {"y": "codes", "rstd": "values"}),
        (
            ops.npu_rms_norm_dynamic_quant,
            "rms_norm_dynamic_quant.RmsNormDynamicQuant",
            "x gamma",
            _GROUPED,
        ),
        (
            ops.npu_add_rms_norm_dynamic_quant,
            "add_rms_norm_dynamic_quant.AddRmsNormDynamicQuant",
            "x1 x2 gamma",
            _BRANCHES,
        ),
        (
            ops.npu_moe_init_routing_v2,
            "moe_init_routing_v2.InitRouting",
            "x expert_idx",
            {
                "expanded_x": "codes",
                "expanded_row_idx": "values",
                "expert_tokens_count_or_cumsum": "values",
                "expanded_scale": "scale",
            },
        ),
        (
            ops.npu_moe_token_unpermute,
            "weighed_rows.TokenUnpermute",
            "permuted_tokens sorted_indices",
            {"y": "values"},
        ),
        (
            ops.npu_moe_finalize_routing,
            "weighed_rows.FinalizeRouting",
            "expanded_permuted_rows expanded_src_to_dst_row",
            {"y": "values"},
        ),
        (ops.npu_quant_scatter, _SCATTER, _SCATTER_ARRAYS, {"y": "codes"}),
        (ops.npu_quant_scatter_, _SCATTER, _SCATTER_ARRAYS, {"y": "codes"}),
        (ops.npu_quantize, "quantize.Quantize", "self scales zero_points", {"y": "codes"}),
        (ops.npu_swiglu, "glu.Swiglu", "self", {"y": "values"}),
        (
            ops.npu_swiglu_group_quant,
            "swiglu_group_quant.SwigluGroupQuant",
            "x",
            _GROUPED | {"origin": "values"},
        ),
        (ops.npu_swiglu_quant, "swiglu_quant.SwigluQuant", "x", _GROUPED),
        (ops.npu_dequant_swiglu_quant, "dequant_swiglu_quant.DequantSwigluQuant", "x", _GROUPED),
        (ops.npu_grouped_matmul, "grouped_matmul.GroupedMatmul", "x weight", {"y": "values"}),
        (
            ops.npu_grouped_matmul_swiglu_quant,
            "grouped_matmul_swiglu_quant.GroupedMatmulSwigluQuant",
            "x weight group_list weight_scale x_scale",
            _GROUPED | {"offset": "values"},
        ),
        (
            ops.npu_grouped_matmul_swiglu_quant_v2,
            "grouped_matmul_swiglu_quant_v2.GroupedMatmulSwigluQuantV2",
            "x weight weight_scale x_scale group_list",
            _GROUPED,
        ),
        (ops.npu_group_quant, "quantize.GroupQuant", "x scale group_index", {"y": "codes"}),
        (ops.npu_anti_mx_quant, "anti_mx_quant.AntiMxQuant", "x mxscale", {"y": "values"}),
        (ops.npu_anti_quant, "anti_quant.AntiQuant", "x scale", {"y": "values"}),
        (ops.npu_dequant_bias, "dequant_bias.DequantBias", "x weight_scale", {"y": "values"}),
        (
            ops.npu_dual_level_quant_matmul,
            "dual_level_quant_matmul.DualLevelQuantMatmul",
            "x1 x2 x1_level0_scale x2_level0_scale x1_level1_scale x2_level1_scale",
            {"y": "values"},
        ),
        (ops.npu_quant_matmul, "quant_matmul.QuantMatmul", "x1 x2 scale", {"y": "values"}),
        (
            ops.npu_convert_weight_to_int4pack,
            "convert_weight_to_int4pack.ConvertWeightToInt4pack",
            "weight",
            {"y": "codes"},
        ),
        (ops.npu_trans_quant_param, "trans_quant_param.TransQuantParam", "scale", {"y": "values"}),
        (
            ops.npu_weight_quant_batchmatmul,
            "weight_quant_batchmatmul.WeightQuantBatchmatmul",
            "x weight antiquant_scale",
            {"y": "values"},
        ),
        (ops.fake_quantize_per_tensor_affine, _FAKE, "self", _ONLY),
        (ops.fake_quantize_per_tensor_affine_cachemask, _FAKE, "self", _BOTH),
        (
            ops._fake_quantize_per_tensor_affine_cachemask_tensor_qparams,
            _FAKE,
            _TENSOR_ARRAYS,
            _BOTH,
        ),
        (ops.fake_quantize_per_channel_affine, _FAKE, _CHANNEL_ARRAYS, _ONLY),
        (ops.fake_quantize_per_channel_affine_cachemask, _FAKE, _CHANNEL_ARRAYS, _BOTH),
        (ops.quantize_val, "quantize_val.QuantizeVal", "value", {"y": "codes"}),
    )
}
"""By name, in the order in which they are listed; their pages are imported when asked for."""


def _plain(function: Callable[..., Any]) -> Operator:
    """Return what is known of an operator without a page: its signature."""
    parameters = parameters_of(function)
    required = (p for p in parameters.values() if p.default is inspect.Parameter.empty)
    arrays = (p.name for p in required if "Array" in p.annotation)
    result = vars(inspect.getmodule(function)).get(inspect.signature(function).return_annotation)
    fields = getattr(result, "_fields", ("y",))
    return Operator(function, "plain.PlainModel", tuple(arrays), dict.fromkeys(fields, "values"))


for _name in ops.__all__:
    OPERATORS.setdefault(_name, _plain(getattr(ops, _name)))


def operators() -> list[str]:
    """Return the names of the operators that can be compared."""
    return list(OPERATORS)


def name_of(op: str | Callable[..., Any]) -> str:
    """Return the name of an operator that can be compared.

    Raises:
        ParamError: none goes by that name.
    """
    name = op if isinstance(op, str) else getattr(op, "__name__", None)
    if not isinstance(name, str):
        raise ParamError(f"op is {told(op)}, expected an operator or its name.")
    name = name.rpartition(".")[2]
    if name not in OPERATORS:
        known = meant(name, OPERATORS)
        if not known:
            some = ", ".join([*OPERATORS][:4])
            lists = either("npu_quant.golden.list_variants() has", "npu-quant compare --help lists")
            known = f", expected one of {some} and {len(OPERATORS) - 4} more that {lists}."
        raise ParamError(f"op is {told(name)}{known}")
    return name


def operator_of(op: str | Callable[..., Any]) -> Operator:
    """Return all that is known of an operator.

    Raises:
        ParamError: none goes by that name.
    """
    return OPERATORS[name_of(op)]


def outputs_of(op: str | Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of an operator's outputs, in its order."""
    return tuple(operator_of(op).outputs)


def inputs_of(op: str | Callable[..., Any], inputs: Any) -> Mapping[str, Any]:
    """Return an operator's inputs by name, which may be given in its order or be one array.

    Raises:
        ParamError: no operator goes by that name, or it takes fewer.
    """
    return by_name(operator_of(op).function, inputs)


def model_of(op: str | Callable[..., Any], inputs: Any, numerics: str | None = None) -> Model:
    """Return the model of an operator with its inputs.

    Args:
        op: the operator, such as ``npu_quant.npu_dynamic_quant``, or its name.
        inputs: its arguments by name, attributes too, but not ``out`` and ``numerics``; or a tuple
            or list of them in its order, or its first one alone. Arrays may be torch tensors, and
            what :func:`npu_quant.golden.load` returns.
        numerics: the arithmetic profile of the golden, by default the current one.

    Raises:
        ParamError: no operator goes by that name, or an input is unknown or missing.
        DTypeError: as the operator.
    """
    operator = operator_of(op)
    given = {key: _as_taken(value, key) for key, value in inputs_of(op, inputs).items()}
    for name, parameter in parameters_of(operator.function).items():
        if "Arrays" in str(parameter.annotation) and isinstance(given.get(name), np.ndarray):
            given[name] = [given[name]]  # a list of one array
    return operator.model(operator, arguments_of(operator.function, given), numerics)


def _as_taken(value: Any, name: str) -> Any:
    """Return an input as the operators take it: of a list each of its arrays."""
    if isinstance(value, (tuple, list)):
        own = [_as_taken(one, f"{name}[{i}]") for i, one in enumerate(value)]
        return own if isinstance(value, list) else tuple(own)
    if is_source(value) or _core.is_tensor(value):
        return as_source(value, name).array()
    return value


@overload
def list_variants(op: str | Callable[..., Any]) -> Variants: ...
@overload
def list_variants(op: None = None) -> VariantsByOperator: ...
def list_variants(op: str | Callable[..., Any] | None = None) -> Variants | VariantsByOperator:
    """Return the named formulas of an operator, the reference first.

    Args:
        op: the operator or its name; None for all operators.

    Returns:
        A list, which a prompt shows as a table of at most 40 lines; for all operators a dict.

    Raises:
        ParamError: no operator with named formulas has that name.

    Example:
        >>> import npu_quant
        >>> variants = npu_quant.golden.list_variants("npu_dynamic_quant")
        >>> variants[0].name, variants[0].benign
        ('reference', True)
    """
    if op is None:
        return VariantsByOperator((name, list_variants(name)) for name in OPERATORS)
    return Variants(formula.variant() for formula in operator_of(op).form.listed())
