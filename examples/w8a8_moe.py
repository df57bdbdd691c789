"""A W8A8 layer of experts as it is written for an NPU, against its float self; docs/w8a8.md has it.

    python -m npu_quant.torch_npu --simulate Ascend910B1 examples/w8a8_moe.py

It knows nothing of npu_quant: where there is an NPU, `python examples/w8a8_moe.py` runs on it.
"""

import torch
import torch_npu

HIDDEN, INNER, EXPERTS, EACH, TOKENS = 256, 512, 8, 2, 96


class Experts(torch.nn.Module):
    """Experts with a gate each, of which every token goes to two."""

    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(HIDDEN, EXPERTS, bias=False)
        self.gate_up = torch.nn.Parameter(torch.randn(EXPERTS, HIDDEN, 2 * INNER) / HIDDEN**0.5)
        self.down = torch.nn.Parameter(torch.randn(EXPERTS, INNER, HIDDEN) / INNER**0.5)

    def route(self, x):
        """Return which experts each token goes to, and how much each counts."""
        scores, experts = self.router(x).float().softmax(dim=-1).topk(EACH)
        return experts.int(), scores / scores.sum(dim=-1, keepdim=True)

    def forward(self, x, experts, scores):
        """Apply all experts to all tokens, and add up those that count."""
        gate, up = torch.einsum("th,ehi->eti", x, self.gate_up).chunk(2, dim=-1)
        y = torch.einsum("eti,eih->teh", torch.nn.functional.silu(gate) * up, self.down)
        chosen = y.gather(1, experts.long()[..., None].expand(-1, -1, HIDDEN))
        return (chosen * scores[..., None]).sum(dim=1)


class W8A8Experts(torch.nn.Module):
    """The same with int8 weights, a scale per column, and int8 rows, a scale each."""

    def __init__(self, floats):
        super().__init__()
        for name in ("gate_up", "down"):
            columns = getattr(floats, name).detach().transpose(1, 2)
            weight, scale = torch_npu.npu_dynamic_quant(columns.contiguous())
            self.register_buffer(name, weight.transpose(1, 2))
            self.register_buffer(f"{name}_scale", scale)

    def forward(self, x, experts, scores):
        """Sort the rows by expert, multiply each by its own, and bring them back."""
        codes, places, counts, scale = torch_npu.npu_moe_init_routing_v2(
            x,
            experts,
            expert_num=EXPERTS,
            expert_tokens_num_type=1,
            expert_tokens_num_flag=True,
            quant_mode=1,
        )
        groups = {"group_list": counts, "group_list_type": 1, "group_type": 0, "split_item": 3}
        (sums,) = torch_npu.npu_grouped_matmul(
            [codes], [self.gate_up], output_dtype=torch.int32, **groups
        )
        h, scale_h = torch_npu.npu_dequant_swiglu_quant(
            sums,
            weight_scale=self.gate_up_scale,
            activation_scale=scale,
            group_index=counts,
            activate_left=True,
            quant_mode=1,
        )
        (rows,) = torch_npu.npu_grouped_matmul(
            [h],
            [self.down],
            scale=[self.down_scale],
            per_token_scale=[scale_h],
            output_dtype=torch.bfloat16,
            **groups,
        )
        return torch_npu.npu_moe_finalize_routing(
            rows, None, None, None, scores, places, None, drop_pad_mode=2
        )


def decibels(noisy, clean):
    """Return how much stronger the signal is than the noise."""
    noise = (noisy - clean).double().square().sum()
    return 10 * torch.log10(clean.double().square().sum() / noise).item()


@torch.no_grad()
def main():
    """Print how far the layer is from its float self, and whether it is itself where compiled."""
    torch.manual_seed(0)
    x = torch.randn(TOKENS, HIDDEN, dtype=torch.bfloat16).npu()
    floats = Experts().bfloat16().npu()
    quantized = W8A8Experts(floats).npu()
    routed = floats.route(x)
    expected, y = floats(x, *routed), quantized(x, *routed)
    compiled = torch.compile(quantized, fullgraph=True)(x, *routed)
    torch.npu.synchronize()
    print(f"device: {torch.npu.get_device_name()}")
    print(f"W8A8 against bfloat16: {decibels(y, expected):.1f} dB")
    print(f"compiled and eager: {'the same bits' if torch.equal(compiled, y) else 'different'}")


if __name__ == "__main__":
    main()
