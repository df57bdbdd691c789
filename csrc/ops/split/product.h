// Products of matrices, cut into parts that threads share (docs/numerics.md 20).
#pragma once

#include "kernels/product/product.h"
#include "ops/contract/contract.h"

namespace npu_quant {

// The products of a call: of batches, or of groups of rows. All that is the kernel's to read must
// outlive the work.
class Products {
 public:
  virtual ~Products() = default;
  virtual int64_t count() const = 0;
  // All of a product's rows, columns and k; `workspace` is not set.
  virtual ProductKernel::Args product(int64_t which) const = 0;
};

// Fails, for want of memory, before anything is written. A thread takes what workspace_bytes()
// says, 1.4 MB at most.
Status run_products(const char* op, const Products& products);

}  // namespace npu_quant
