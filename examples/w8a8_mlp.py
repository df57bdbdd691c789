"""A W8A8 layer as it is written for an NPU, against its float self; docs/w8a8.md has its steps.

    python -m npu_quant.torch_npu --simulate Ascend910B1 examples/w8a8_mlp.py

It knows nothing of npu_quant: where there is an NPU, `python examples/w8a8_mlp.py` runs on it.
"""

import torch
import torch_npu

HIDDEN, INNER, TOKENS = 512, 1024, 64


class MLP(torch.nn.Module):
    """The norm of a residual sum, and the feed-forward part of a transformer's layer."""

    def __init__(self):
        super().__init__()
        self.gamma = torch.nn.Parameter(torch.ones(HIDDEN))
        self.gate_up = torch.nn.Linear(HIDDEN, 2 * INNER, bias=False)
        self.down = torch.nn.Linear(INNER, HIDDEN)

    def forward(self, x1, x2):
        """Norm the sum, apply the gate to what goes up, and bring it down."""
        t, _, x = torch_npu.npu_add_rms_norm(x1, x2, self.gamma)
        gate, up = self.gate_up(t).chunk(2, dim=-1)
        return self.down(torch.nn.functional.silu(gate) * up), x


class W8A8MLP(torch.nn.Module):
    """The same with int8 weights, a scale per channel, and int8 activations, a scale per token."""

    def __init__(self, floats):
        super().__init__()
        self.gamma, self.bias = floats.gamma, floats.down.bias
        for name in ("gate_up", "down"):
            weight, scale = torch_npu.npu_dynamic_quant(getattr(floats, name).weight.detach())
            self.register_buffer(name, weight)
            self.register_buffer(f"{name}_scale", scale)

    def forward(self, x1, x2):
        """Go from sums to codes by one operator; only the residual stream is in 16 bits."""
        t, _, x = torch_npu.npu_add_rms_norm(x1, x2, self.gamma)
        codes, scale = torch_npu.npu_dynamic_quant(t)
        sums = torch_npu.npu_quant_matmul(
            codes, self.gate_up.t(), self.gate_up_scale, output_dtype=torch.int32
        )
        h, scale_h = torch_npu.npu_dequant_swiglu_quant(
            sums,
            weight_scale=self.gate_up_scale,
            activation_scale=scale,
            activate_left=True,
            quant_mode=1,
        )
        y = torch_npu.npu_quant_matmul(
            h,
            self.down.t(),
            self.down_scale,
            pertoken_scale=scale_h,
            bias=self.bias,
            output_dtype=torch.bfloat16,
        )
        return y, x


def decibels(noisy, clean):
    """Return how much stronger the signal is than the noise."""
    noise = (noisy - clean).double().square().sum()
    return 10 * torch.log10(clean.double().square().sum() / noise).item()


@torch.no_grad()
def main():
    """Print how far the layer is from its float self, and whether it is itself where compiled."""
    torch.manual_seed(0)
    x1, x2 = (torch.randn(TOKENS, HIDDEN, dtype=torch.bfloat16).npu() for _ in range(2))
    floats = MLP().bfloat16().npu()
    quantized = W8A8MLP(floats).npu()
    (expected, _), (y, _) = floats(x1, x2), quantized(x1, x2)
    compiled, _ = torch.compile(quantized, fullgraph=True)(x1, x2)
    torch.npu.synchronize()
    print(f"device: {torch.npu.get_device_name()}")
    print(f"W8A8 against bfloat16: {decibels(y, expected):.1f} dB")
    print(f"compiled and eager: {'the same bits' if torch.equal(compiled, y) else 'different'}")


if __name__ == "__main__":
    main()
