// Products of matrices, cut into parts that threads share (docs/numerics.md 20).
#pragma once

#include <atomic>
#include <memory>
#include <vector>

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

// A piece of memory for each thread, lent while it computes; for one call after the other.
class Workspaces {
 public:
  // Has at least so many, of so many bytes at least; false where there is no memory.
  bool provide(int64_t count, int64_t bytes);

  class Lent {
   public:
    explicit Lent(const Workspaces& of) : of_(of) {
      while (taken().test_and_set(std::memory_order_acquire)) which_ = (which_ + 1) % of.count_;
    }
    ~Lent() { taken().clear(std::memory_order_release); }
    Lent(const Lent&) = delete;

    char* data() const {
      const auto begin = reinterpret_cast<uintptr_t>(of_.memory_.get());
      return of_.memory_.get() + static_cast<int64_t>(-begin % kLine) + which_ * of_.bytes_;
    }

   private:
    std::atomic_flag& taken() const { return of_.taken_[static_cast<size_t>(which_)]; }

    const Workspaces& of_;
    int64_t which_ = 0;
  };

 private:
  static constexpr int64_t kLine = 64;
  int64_t count_ = 0, bytes_ = 0;
  std::unique_ptr<std::atomic_flag[]> taken_;
  std::unique_ptr<char[]> memory_;
};

// How products are cut into parts. All that may fail, for want of memory, is done when it is made;
// a thread takes what workspace_bytes() says, 1.4 MB at most.
class ProductPlan {
 public:
  Status make(const char* op, const Products& products, Workspaces& workspaces);
  void run(const Products& products, const Workspaces& workspaces) const;

 private:
  std::vector<int64_t> ends_;  // of each product, counted in parts
  int64_t work_ = 0;
};

// Fails, for want of memory, before anything is written.
Status run_products(const char* op, const Products& products);

}  // namespace npu_quant
