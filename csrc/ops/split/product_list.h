// Products one after the other, of all rows of arrays.
#pragma once

#include <new>
#include <vector>

#include "core/axes.h"
#include "ops/split/product.h"

namespace npu_quant {

class ProductList final : public Products {
 public:
  int64_t count() const override { return static_cast<int64_t>(all_.size()); }
  ProductKernel::Args product(int64_t which) const override {
    return all_[static_cast<size_t>(which)];
  }

  // Adds the product of all rows of x, which are those of y: as few as their strides allow. What
  // `args` has of rows is for the first one.
  void add(ProductKernel::Args args, const TensorView& x, const TensorView& y) {
    // Where y has its rows along one axis, those of x are counted over all of them.
    int64_t of_y[kMaxRank] = {};
    for (int64_t axis = x.rank - 2, next = y.strides[0]; axis >= 0; next *= x.shape.dims[axis--])
      of_y[axis] = y.rank == x.rank ? y.strides[axis] : next;
    Axes<2> axes(x.shape.dims, x.rank - 1, {x.strides, of_y});
    args.rows = 1;
    const int axis = axes.pop(args.rows);
    args.x.row_stride = axis < 0 ? 0 : axes.strides[0][axis];
    args.y = {y.data, axis < 0 ? 0 : axes.strides[1][axis], y.strides[y.rank - 1]};
    args.y_dtype = y.dtype;
    for (int64_t i = 0; i < axes.count(); ++i) {
      ProductKernel::Args one = args;
      int64_t offsets[2];
      axes.find_offsets(i, offsets);
      one.x.data += offsets[0];
      one.y.data += offsets[1];
      for (Strided* of : {&one.scales[0], &one.scales[1], &one.bias, &one.late_scale})
        *of = of->from(i * args.rows, 0);
      if (one.x_scale.data != nullptr) one.x_scale.data += i * args.rows * one.x_scale.row_stride;
      all_.push_back(one);
    }
  }

 private:
  std::vector<ProductKernel::Args> all_;
};

// Runs what fill(list) puts into a list.
template <class Fill>
Status run_product_list(const char* op, Fill fill) {
  ProductList list;
  try {
    fill(list);
  } catch (const std::bad_alloc&) {
    return out_of_memory(op);
  }
  return run_products(op, list);
}

}  // namespace npu_quant
