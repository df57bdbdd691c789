// The loops of the elementwise kernels, by way of one of them: each parameter lies as it likes.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "core/dispatch.h"
#include "kernels/elementwise/args.h"

namespace npu_quant::testing {
namespace {

// How the values of a parameter lie: one for all elements, one for each row, or for each element,
// which all rows share or not.
enum class Lies { once, by_row, by_element, by_both };
constexpr Lies kAllLies[] = {Lies::once, Lies::by_row, Lies::by_element, Lies::by_both};

struct Layout {
  int64_t rows, n;
  bool x_transposed, y_transposed, stream;
};

class LyingParameter {
 public:
  LyingParameter(Lies lies, int64_t rows, int64_t n, int first)
      : by_row_(lies == Lies::by_row || lies == Lies::by_both),
        by_element_(lies == Lies::by_element || lies == Lies::by_both),
        row_(by_row_ ? (by_element_ ? n : 1) : 0) {
    const int64_t count = (by_row_ ? rows : 1) * (by_element_ ? n : 1);
    for (int64_t i = 0; i < count; ++i) values_.push_back(static_cast<float>(first + i % 23));
  }
  float at(int64_t row, int64_t i) const {
    return values_[static_cast<size_t>(row * row_ + (by_element_ ? i : 0))];
  }
  Strided strided() {
    return {reinterpret_cast<char*>(values_.data()), row_ * 4, by_element_ ? 4 : 0};
  }

 private:
  bool by_row_, by_element_;
  int64_t row_;
  std::vector<float> values_;
};

Strided matrix(void* data, int64_t rows, int64_t n, int64_t item, bool is_transposed) {
  auto* const bytes = static_cast<char*>(data);
  return is_transposed ? Strided{bytes, item, rows * item} : Strided{bytes, n * item, item};
}

// x * scale + zero_point of small integers is exact.
void expect_sums(Target target, const Layout& layout, Lies lies_scale, Lies lies_zero_point) {
  const int64_t rows = layout.rows, n = layout.n;
  LyingParameter scale(lies_scale, rows, n, 1), zero_point(lies_zero_point, rows, n, -5);
  std::vector<float> x(static_cast<size_t>(rows * n));
  std::vector<int32_t> y(x.size()), expected(x.size());
  const auto at = [&](int64_t row, int64_t i, bool is_transposed) {
    return static_cast<size_t>(is_transposed ? i * rows + row : row * n + i);
  };
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < n; ++i) {
      const auto value = static_cast<float>((row * 31 + i * 7) % 201 - 100);
      x[at(row, i, layout.x_transposed)] = value;
      expected[at(row, i, layout.y_transposed)] =
          static_cast<int32_t>(value * scale.at(row, i) + zero_point.at(row, i));
    }
  run_on<QuantizeKernel>(target, {.work = {.rows = rows,
                                           .n = n,
                                           .x = matrix(x.data(), rows, n, 4, layout.x_transposed),
                                           .y = matrix(y.data(), rows, n, 4, layout.y_transposed),
                                           .parameters = {scale.strided(), zero_point.strided()},
                                           .stream = layout.stream},
                                  .x_dtype = DType::float32,
                                  .codes = Format::int32,
                                  .divide = false});
  EXPECT_EQ(y, expected) << name_of(target) << ' ' << rows << 'x' << n << ", scale "
                         << static_cast<int>(lies_scale) << ", zero point "
                         << static_cast<int>(lies_zero_point);
}

// Rows shorter than a tile, and joined; some tiles; more than is done at a time.
TEST(Elementwise, EachParameterLiesAsItLikes) {
  constexpr std::pair<int64_t, int64_t> kShapes[] = {{1, 4},  {4, 4},    {100, 7},  {700, 1},
                                                     {3, 64}, {20, 150}, {17, 1500}};
  for (const Target target : kAllTargets) {
    if (!is_runnable(target)) continue;
    for (const auto& [rows, n] : kShapes)
      for (const int layout : {0, 1, 2, 3, 4})
        for (const Lies scale : kAllLies)
          for (const Lies zero_point : kAllLies)
            expect_sums(target, {rows, n, (layout & 1) != 0, (layout & 2) != 0, layout == 4}, scale,
                        zero_point);
  }
}

}  // namespace
}  // namespace npu_quant::testing
