"""A W8A8 layer as it is written for an NPU, against its float self.

    python -m npu_quant.torch_npu --simulate Ascend910B1 examples/w8a8_mlp.py

It knows nothing of npu_quant: where there is an NPU, `python examples/w8a8_mlp.py` runs on it.
"""

import torch
import torch_npu

HIDDEN, INTERMEDIATE, TOKENS = 512, 1024, 64


class W8A8Linear(torch.nn.Module):
    """Multiplies int8 activations, a scale per token, by int8 weights, a scale per channel."""

    def __init__(self, linear):
        super().__init__()
        weight, scale = torch_npu.npu_dynamic_quant(linear.weight.detach().npu())
        self.register_buffer("weight", weight)
        self.register_buffer("weight_scale", scale)

    def forward(self, x):
        """Quantize x, multiply, dequantize."""
        q, pertoken_scale = torch.ops.npu.npu_dynamic_quant(x)
        # Sums of 127 * 127 * 1024 at most: below 2^24, so exact in float32, whatever the order.
        total = q.float() @ self.weight.float().t()
        return (total * self.weight_scale * pertoken_scale.unsqueeze(-1)).to(x.dtype)


class MLP(torch.nn.Module):
    """The feed-forward part of a transformer's layer."""

    def __init__(self, make=lambda linear: linear, of=None):
        super().__init__()
        sizes = {"gate": (HIDDEN, INTERMEDIATE), "up": (HIDDEN, INTERMEDIATE)}
        sizes["down"] = (INTERMEDIATE, HIDDEN)
        for name, (inputs, outputs) in sizes.items():
            linear = getattr(of, name, None) or torch.nn.Linear(inputs, outputs, bias=False)
            setattr(self, name, make(linear))

    def forward(self, x):
        """Apply the gate to what goes up, and bring it down."""
        return self.down(torch.nn.functional.silu(self.gate(x)) * self.up(x))


def decibels(noisy, clean):
    """Return how much stronger the signal is than the noise."""
    noise = (noisy - clean).double().square().sum()
    return 10 * torch.log10(clean.double().square().sum() / noise).item()


@torch.no_grad()
def main():
    """Print how far the layer is from its float self, and from itself where it is compiled."""
    torch.manual_seed(0)
    x = torch.randn(TOKENS, HIDDEN, dtype=torch.bfloat16).npu()
    floats = MLP().bfloat16().npu()
    quantized = MLP(W8A8Linear, of=floats).npu()
    expected, y = floats(x), quantized(x)
    compiled = torch.compile(quantized, fullgraph=True)(
        x
    )  # fused, it rounds less often to bfloat16
    torch.npu.synchronize()
    print(f"device: {torch.npu.get_device_name()}")
    print(f"W8A8 against bfloat16: {decibels(y, expected):.1f} dB")
    print(f"compiled against eager: {decibels(compiled, y):.1f} dB")


if __name__ == "__main__":
    main()
