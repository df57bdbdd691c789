"""Faults of the contracts and of what they stand on: csrc/ops/, csrc/quantizer/, csrc/core/."""

from __future__ import annotations

from .mutant import Fault

OPS, CORE = "csrc/ops", "csrc/core"

CHECKS = [
    Fault(
        "dynamic_quant: smooth_scales of any dtype",
        f"{OPS}/dynamic_quant.cpp",
        'like(0).ranks(1, 1, "It holds one factor',
        'Takes{}.ranks(1, 1, "It holds one factor',
        "dynamic_quant",
    ),
    Fault(
        "dynamic_block_quant: row_block_size of 2",
        f"{OPS}/split/block_quant.cpp",
        "!is_among(row_block_size, row_blocks_)",
        "row_block_size < 1",
        "dynamic_block_quant",
    ),
    Fault(
        "add_rms_norm_quant: beta of any shape",
        f"{OPS}/add_rms_norm_quant.cpp",
        'check_same_shape(name, "beta", beta, "gamma", gamma)',
        "Status{}",
        "add_rms_norm_quant",
    ),
    Fault(
        "add_rms_norm_dynamic_quant: both branches have the first factors",
        f"{OPS}/add_rms_norm_dynamic_quant.cpp",
        "smooth = &smooth[branch]",
        "smooth = &smooth[0]",
        "add_rms_norm_dynamic_quant",
    ),
    Fault(
        "add_rms_norm_dynamic_quant: y2 by the second factors alone",
        f"{OPS}/add_rms_norm_dynamic_quant.cpp",
        "(smooth_scales[0].present && smooth_scales[1].present)",
        "smooth_scales[1].present",
        "add_rms_norm_dynamic_quant",
    ),
    Fault(
        "add_rms_norm_dynamic_quant: what is not computed stays as it was",
        f"{OPS}/add_rms_norm_dynamic_quant.cpp",
        "std::memset(out[which].data, 0, size_of(out[which].dtype));",
        "",
        "add_rms_norm_dynamic_quant",
    ),
    *[
        Fault(
            f"grouped_matmul_swiglu_quant: {name}",
            f"{OPS}/split/expert_rows.cpp",
            old,
            new,
            "grouped_matmul_swiglu_quant",
        )
        for name, old, new in (
            (
                "all experts have the column scales of the first",
                "per_column(weight_scale_).from(0, expert * n())",
                "per_column(weight_scale_)",
            ),
            (
                "all experts have the bias of the first",
                ".from(0, expert * n());\n    args.late",
                ";\n    args.late",
            ),
            ("all experts have the factors of the first", "smooth_of(expert));", "smooth_of(0));"),
            (
                "rows have the powers of the first",
                "args.x_scale.data += row * args.x_scale.row_stride;",
                "static_cast<void>(row);",
            ),
            (
                "rows behind the last expert's stay as they were",
                "if (is_behind) return gate(Becomes::zeros, sums, y, scale);",
                "if (is_behind) return {};",
            ),
            ("the second half is the gate", ".gate_first = true", ".gate_first = false"),
        )
    ],
    Fault(
        "inputs: another array's dtype is none of those that are taken",
        f"{OPS}/contract/inputs.cpp",
        "|| view.dtype == other.dtype) return {};\n  return wrong_dtype(op, argument, view,\n",
        ") return {};\n  return wrong_dtype(op, argument, view,\n",
        "rms_norm",
    ),
    Fault(
        "inputs: any number of axes is fine",
        f"{OPS}/contract/inputs.cpp",
        "(view.rank >= low && view.rank <= high)",
        "view.rank >= low",
        "errors",
    ),
    Fault(
        "op: shapes are checked before attributes",
        f"{OPS}/contract/op.cpp",
        "plan_outputs();",
        "plan_outputs();\n  NPU_QUANT_RETURN_IF_ERROR(check_shapes());",
        "anti_quant",
    ),
    Fault(
        "quantize: any axis with div_mode=False",
        f"{OPS}/quantize.cpp",
        "!div_mode && axis < -2",
        "!div_mode && axis < -9",
        "quantize",
    ),
    Fault(
        "fake_quantize: a zero point at quant_max is refused",
        f"{OPS}/fake_quantize.cpp",
        "zero_point_number <= quant_max",
        "zero_point_number < quant_max",
        "fake_quantize",
    ),
    Fault(
        "quantizer: is equal along another axis",
        "csrc/quantizer/per_channel_affine_quantizer.cpp",
        " && axis_ == that->axis_",
        "",
        "quantizer",
    ),
    Fault(
        "out: may overlap every input but the first",
        f"{OPS}/contract/outputs.cpp",
        "share_bytes(of_inputs[j], of_output)",
        "j == 0 && share_bytes(of_inputs[j], of_output)",
        "add_rms_norm_quant",
    ),
    Fault(
        "out: may overlap another output",
        f"{OPS}/contract/outputs.cpp",
        "if (!share_bytes(bounds_of(other), bounds_of(out))) return {};",
        "if (&out != &other) return {};",
        "dynamic_quant",
    ),
    Fault(
        "out: an input that is written to is refused for what it is",
        f"{OPS}/contract/outputs.cpp",
        "inputs[given[j]].view != specs[i].input && ",
        "",
        "quant_scatter",
    ),
    Fault(
        "quant_scatter: updates may begin one place too far",
        f"{OPS}/quant_scatter.cpp",
        "index >= 0 && index <= last",
        "index >= 0 && index <= last + 1",
        "quant_scatter",
    ),
    Fault(
        "out: may overlap itself",
        f"{OPS}/contract/outputs.cpp",
        "if (axes[a].stride < extent)",
        "if (axes[a].stride < item)",
        "errors",
    ),
]

WORK = [
    Fault(
        "choice: the last word of a table stands for every unknown one",
        f"{OPS}/contract/choice.h",
        "while (chosen_ < kRows &&",
        "while (chosen_ + 1 < kRows &&",
        "errors",
    ),
    Fault(
        "quant_scatter: threads share rows that are written twice",
        f"{OPS}/quant_scatter.cpp",
        "get_num_threads() > 1 && meet(slabs.get())",
        "false",
        "quant_scatter",
    ),
    Fault(
        "tiles: a thread does one segment of the several it took",
        f"{OPS}/split/tiles.h",
        "to = end_of(last - 1);",
        "to = end_of(first);",
        "threads",
    ),
    Fault(
        "compare: the first mismatch is that of the last thread",
        f"{OPS}/compare.cpp",
        "std::min(all.first, thread.first)",
        "thread.first",
        "compare",
    ),
    Fault(
        "parallel: the last piece is left out where it is smaller",
        f"{CORE}/parallel.cpp",
        "if (begin >= count) return;",
        "if (begin + piece > count) return;",
        "runtime",
    ),
    Fault(
        "rows: axes merge whatever the first tensor's strides are",
        f"{CORE}/axes.h",
        "for (int t = 0; t < tensors && continues; ++t)",
        "for (int t = 1; t < tensors && continues; ++t)",
        "dynamic_quant",
    ),
    Fault(
        "memory: a buffer is lent twice",
        f"{CORE}/memory.cpp",
        "kept_.erase(std::next(found).base());",
        "",
        "memory",
        googletests_first=True,
    ),
]

GROUPS = [
    Fault(
        "grouped_dynamic_mx_quant: a group without rows keeps half of its bytes",
        f"{OPS}/split/mx_quant.cpp",
        "for (int lane = 0; lane < 2; ++lane) to.data",
        "for (int lane = 0; lane < 1; ++lane) to.data",
        "grouped",
    ),
    Fault(
        "tiles: only the first line of a part is made",
        f"{OPS}/split/tiles.h",
        "std::min(rows, lines * cut_.group_rows)",
        "std::min(rows, cut_.group_rows)",
        "grouped",
    ),
    Fault(
        "tiles: a part after the first takes its tensors from their columns before",
        f"{OPS}/split/tiles.h",
        "if (first > 0) from = end_of(first - 1);",
        "if (first > 1) from = end_of(first - 2);",
        "threads",
    ),
    Fault(
        "tiles: the rows of a matrix go on in the next one whatever lies between",
        f"{OPS}/split/tiles.h",
        "!= rows * steps_[t].row_stride) return;",
        "< rows * steps_[t].row_stride) return;",
        "layouts",
    ),
    Fault(
        "tiles: a group of rows has the scale of the first",
        f"{OPS}/split/tiles.h",
        "(cell.of_groups ? group : row) * row_stride",
        "(cell.of_groups ? 0 : row) * row_stride",
        "dynamic_block_quant",
    ),
    Fault(
        "groups: a line that begins a group is of the one before",
        f"{OPS}/split/row_groups.cpp",
        "(first_line_of(middle, block) <= line ? group",
        "(first_line_of(middle, block) < line ? group",
        "grouped",
    ),
    Fault(
        "groups: counts may have more rows than are left",
        f"{OPS}/split/row_groups.cpp",
        "came > rows - before",
        "came > rows",
        "grouped",
        googletests_first=True,
    ),
    Fault(
        "groups: ends may go down",
        f"{OPS}/split/row_groups.cpp",
        "if (came >= before && (",
        "if (came >= 0 && (",
        "grouped errors",
    ),
    Fault(
        "grouped_dynamic_block_quant: any type of list is taken",
        f"{OPS}/grouped_dynamic_block_quant.cpp",
        "if (group_list_type != 0)",
        "if (group_list_type < 0)",
        "grouped errors",
    ),
]

FAULTS = [*CHECKS, *WORK, *GROUPS]
