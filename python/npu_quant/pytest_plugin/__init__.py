"""What the fixture `npu_golden` and the reports of the pytest plugin need; see npu_quant_pytest."""
