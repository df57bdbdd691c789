"""Faults of whole models: what is planned, made and checked; and of the causes that are named."""

from __future__ import annotations

from .mutant import Fault

CHECKPOINT = "python/npu_quant/checkpoint"
JUDGE = "python/npu_quant/golden/judge"

PLANNED = [
    Fault(
        "plan: a file that would be just full is closed before",
        f"{CHECKPOINT}/plan.py",
        "filled + size > shard_size",
        "filled + size >= shard_size",
        "checkpoint",
    ),
    Fault(
        "plan: the bytes of a file begin anew only with the first one",
        f"{CHECKPOINT}/plan.py",
        "            files.append([])\n            filled = 0\n",
        "            files.append([])\n",
        "checkpoint",
    ),
    Fault(
        "plan: narrow tensors come first in a file",
        f"{CHECKPOINT}/plan.py",
        "key=lambda o: (-BITS[o.kind], o.name)",
        "key=lambda o: (BITS[o.kind], o.name)",
        "checkpoint",
    ),
    Fault(
        "plan: a header is not filled up to 8 bytes",
        f"{CHECKPOINT}/plan.py",
        'text += b" " * (-len(text) % 8)',
        "",
        "checkpoint",
    ),
    Fault(
        "plan: a bias of a module that stays FLOAT is widened",
        f"{CHECKPOINT}/plan.py",
        'source.name.removesuffix(".bias") in quantized and source.name.endswith(".bias")',
        'source.name.endswith(".bias")',
        "checkpoint",
    ),
    Fault(
        "plan: blocks of FP8 are counted without the last one",
        f"{CHECKPOINT}/plan.py",
        "expected = (-(-n // block[0]), -(-k // block[1]))",
        "expected = (n // block[0], -(-k // block[1]))",
        "checkpoint",
    ),
    Fault(
        "plan: the head of a tied model has no key",
        f"{CHECKPOINT}/plan.py",
        "types.setdefault(HEAD, FLOAT)  # vLLM looks it up in tied models too",
        "",
        "checkpoint",
    ),
    Fault(
        "plan: lm_head is not ignored",
        f"{CHECKPOINT}/plan.py",
        "dict.fromkeys([*plan.modules, names.HEAD])",
        "dict.fromkeys(plan.modules)",
        "checkpoint",
    ),
    Fault(
        "names: layers of the draft are quantized",
        f"{CHECKPOINT}/names.py",
        "_layer_of(parts) >= first_draft",
        "_layer_of(parts) > first_draft",
        "checkpoint",
    ),
    Fault(
        "names: experts of a layer may differ in type",
        f"{CHECKPOINT}/names.py",
        'groups.setdefault((experts, "the experts"), []).append(module)',
        "pass",
        "checkpoint check",
    ),
]

MADE = [
    Fault(
        "weights: codes of -128 where a scale is subnormal",
        f"{CHECKPOINT}/weights.py",
        "amax >= (greatest + 0.5) * scale",
        "amax > (greatest + 0.5) * scale",
        "checkpoint",
    ),
    Fault(
        "weights: scales that vanish in their dtype stay 0",
        f"{CHECKPOINT}/weights.py",
        "(stored == 0) & (amax != 0)",
        "(stored == 0) & (amax < 0)",
        "checkpoint",
    ),
    Fault(
        "weights: codes go by the scale before it is stored",
        f"{CHECKPOINT}/weights.py",
        "    scale = stored.astype(np.float32)\n    return scale, stored",
        "    scale = amax / np.float32(GREATEST[codes]) + (amax == 0)\n    return scale, stored",
        "checkpoint",
    ),
    Fault(
        "weights: a block of zeros keeps the least scale",
        f"{CHECKPOINT}/weights.py",
        "scale[row, block] = 127",
        "pass",
        "checkpoint",
    ),
    Fault(
        "weights: rows of int4 are packed in the other order",
        f"{CHECKPOINT}/weights.py",
        "(q[0::2] & 15) | (q[1::2] << 4)",
        "(q[1::2] & 15) | (q[0::2] << 4)",
        "checkpoint",
    ),
    Fault(
        "weights: scale_bias of down projections is of whole rows",
        f"{CHECKPOINT}/weights.py",
        "RUNS if is_down else 1, -1).sum(axis=2",
        "RUNS if is_down else 1, -1).sum(axis=(1, 2)).reshape(-1, 1, 1).sum(axis=2",
        "checkpoint",
    ),
    Fault(
        "weights: the greatest error is that of the last piece",
        f"{CHECKPOINT}/weights.py",
        "greatest = max(self.sums[2], other.sums[2])",
        "greatest = other.sums[2]",
        "checkpoint",
    ),
    Fault(
        "making: bands are written at half their place",
        f"{CHECKPOINT}/making.py",
        "yield shard.places[output.name] + first,",
        "yield shard.places[output.name] + first // 2,",
        "checkpoint",
    ),
    Fault(
        "making: a piece is known by less than all it is made of",
        f"{CHECKPOINT}/making.py",
        "                source.add(values)\n",
        "                source.add(values[:1])\n",
        "checkpoint_pieces checkpoint_sources checkpoint",
    ),
    Fault(
        "making: of what stands in a file only the first output counts",
        f"{CHECKPOINT}/making.py",
        "            for place, count in _places(shard, group, begin, end):",
        "            for place, count in [*_places(shard, group, begin, end)][:1]:",
        "checkpoint_pieces checkpoint",
    ),
    Fault(
        "matrices: a band that begins within a block goes by the next one's scales",
        f"{CHECKPOINT}/matrices.py",
        "first, last = begin // high, -(-(begin + len(raw)) // high)",
        "first, last = -(-begin // high), -(-(begin + len(raw)) // high)",
        "checkpoint matrices",
    ),
    Fault(
        "matrices: up_proj of a stack is gate_proj",
        f"{CHECKPOINT}/matrices.py",
        "+ part * each * strides[0]",
        "+ 0 * each * strides[0]",
        "checkpoint matrices",
    ),
    Fault(
        "matrices: the last stretch of transposed rows is left out",
        f"{CHECKPOINT}/matrices.py",
        "count = (to - at - 1) * stride + rows",
        "count = (to - at - 1) * stride + rows\n        if at and to == k:\n            continue",
        "checkpoint matrices",
    ),
    Fault(
        "matrices: bands have an odd number of rows",
        f"{CHECKPOINT}/matrices.py",
        "step = max(2, size // max(each, 1) // 2 * 2)",
        "step = max(1, size // max(each, 1))",
        "checkpoint matrices",
    ),
]

CHECKED = [
    Fault(
        "check_values: deq_scale may be 3 % off",
        f"{CHECKPOINT}/check_values.py",
        "<= 2.0**-7 * np.abs(x * w)",
        "<= 2.0**-5 * np.abs(x * w)",
        "check",
    ),
    Fault(
        "check_values: the first bad value is not number 0",
        f"{CHECKPOINT}/check_values.py",
        "first = a.first if a.first >= 0 else b.first",
        "first = a.first if a.first > 0 else b.first",
        "check",
    ),
    Fault(
        "check_values: the first bad value is counted from its band",
        f"{CHECKPOINT}/check_values.py",
        "first = begin // NUMPY[tensor.kind].itemsize + int(bad.argmax())",
        "first = int(bad.argmax())",
        "check",
    ),
    Fault(
        "check_values: an infinite scale is right",
        f"{CHECKPOINT}/check_values.py",
        "(values > 0) & np.isfinite(values)",
        "values > 0",
        "check",
    ),
    Fault(
        "check_layers: any number of rows may differ from a recipe",
        f"{CHECKPOINT}/check_layers.py",
        "return max(2, n // 100)",
        "return max(2, n // 10)",
        "check",
    ),
    Fault(
        "check_layers: the first difference is that of the last piece",
        f"{CHECKPOINT}/check_layers.py",
        "self.first = self.first or other.first",
        "self.first = other.first or self.first",
        "check",
    ),
    Fault(
        "check_layers: rows with NaN count against a recipe",
        f"{CHECKPOINT}/check_layers.py",
        "w[unknown], stored[unknown], scale[unknown] = 0, 0, 1",
        "w[unknown] = 0",
        "check",
    ),
    Fault(
        "originals: another model's tensors are no finding",
        f"{CHECKPOINT}/originals.py",
        "if tensor.shape != source.shape or not is_kind:",
        "if not is_kind:",
        "check",
    ),
    Fault(
        "originals: half of a type that correlates badly is enough for a warning",
        f"{CHECKPOINT}/originals.py",
        "if count > total[type] / 2:",
        "if count >= total[type] / 2:",
        "check",
    ),
]

NAMED = [
    Fault(
        "causes: one in 20 that is left is too many",
        f"{JUDGE}/look.py",
        "left * LEFT <= count",
        "left * LEFT < count",
        "golden_causes",
    ),
    Fault(
        "causes: a few codes are enough for a cause",
        f"{JUDGE}/look.py",
        "return count >= FEW_CODES and",
        "return count >= 1 and",
        "golden_causes",
    ),
    Fault(
        "causes: what a cause spoils does not count",
        f"{JUDGE}/look.py",
        " + np.count_nonzero(spoilt)",
        "",
        "golden_planted",
    ),
    Fault(
        "causes: a shift is named by its opposite",
        f"{JUDGE}/moves.py",
        '"right" if right > 0 else "left"',
        '"left" if right > 0 else "right"',
        "golden_causes",
    ),
    Fault(
        "causes: rows are moved where one of them is",
        f"{JUDGE}/causes.py",
        "if not moved or 2 * len(moved) < len(wrong):",
        "if not moved:",
        "golden_causes",
    ),
    Fault(
        "causes: a factor of 1 % is one of 2 %",
        f"{JUDGE}/changes.py",
        "100 * (1 / factor - 1)",
        "100 * (1 / factor - 1) * 2",
        "golden_causes",
    ),
    Fault(
        "causes: a square array equal to its transpose has swapped axes",
        f"{JUDGE}/causes.py",
        "    if n == m:\n        others.append(g.T)\n",
        "",
        "golden_causes",
    ),
    Fault(
        "causes: columns that are left out are compared, too",
        f"{JUDGE}/causes.py",
        "~np.isin(look.part.columns, left_out)",
        "True",
        "golden_planted",
    ),
    Fault(
        "causes: what the codes alone tell hides an input that is a reason for it",
        f"{JUDGE}/causes.py",
        "self._left + (_ALIKE if self._left < np.inf else 0)",
        "0",
        "golden_planted",
    ),
    Fault(
        "where: rows of one core are no place",
        "python/npu_quant/golden/measure/where.py",
        'period_of("row period", positions.row_counts)',
        "None",
        "golden_planted",
    ),
]

FAULTS = [*PLANNED, *MADE, *CHECKED, *NAMED]
