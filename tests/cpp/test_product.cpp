// The kernel of products against loops over single elements, on every target: each form of a sum,
// matrices in every layout, every step of what becomes of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "kernels/product/product.h"
#include "reference.h"

namespace npu_quant::testing {
namespace {

using Args = ProductKernel::Args;

// Where neighbours along k, or rows, lie side by side, or neither; codes of 4 bits share elements
// of one or four bytes.
enum class MatrixLayout { along_k, across, apart };

// A matrix of integers of 8 or 4 bits, or of 16-bit floats by their patterns.
struct TestMatrix {
  int64_t rows, depth;
  std::vector<int32_t> codes;  // [row][k]
  std::vector<char> memory;
  ProductKernel::Matrix view{};

  int32_t at(int64_t row, int64_t k) const { return codes[static_cast<size_t>(row * depth + k)]; }

  template <class Draw>
  TestMatrix(int64_t rows_, int64_t depth_, Draw draw) : rows(rows_), depth(depth_) {
    for (int64_t i = 0; i < rows * depth; ++i) codes.push_back(draw());
  }
  void lay_out(Format format, MatrixLayout layout, int64_t item, int64_t together) {
    view.format = format;
    view.item = item;
    view.along_k = layout == MatrixLayout::across ? 1 : together;
    view.across = layout == MatrixLayout::across ? together : 1;
    const int64_t down = (rows + view.across - 1) / view.across;
    const int64_t along = (depth + view.along_k - 1) / view.along_k;
    const int64_t gap = layout == MatrixLayout::apart ? 3 : 0;
    const bool across = layout == MatrixLayout::across;
    view.row_stride = item * (across ? 1 : along * (gap + 1) + gap);
    view.stride = item * (across ? down : gap + 1);
    memory.assign(static_cast<size_t>(down * view.row_stride + along * view.stride + item), 0);
    view.data = memory.data();
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t k = 0; k < depth; ++k) store(row, k, together);
  }

 private:
  void store(int64_t row, int64_t k, int64_t together) {
    char* const element =
        memory.data() + row / view.across * view.row_stride + k / view.along_k * view.stride;
    const int32_t code = at(row, k);
    if (together == 1) {
      std::memcpy(element, &code, static_cast<size_t>(view.item));
      return;
    }
    const int64_t which = row % view.across + k % view.along_k;
    element[which / 2] = static_cast<char>(element[which / 2] | (code & 15) << which % 2 * 4);
  }
};

struct Numbers {
  std::mt19937 random{20};

  int32_t integer(int32_t least, int32_t most) {
    return std::uniform_int_distribution<int32_t>(least, most)(random);
  }
  float value() { return static_cast<float>(integer(-4000, 4000)) * 0x1p-9f; }
  std::vector<float> values(int64_t n) {
    std::vector<float> made(static_cast<size_t>(n));
    for (float& v : made) v = value();
    return made;
  }
};

Strided of_rows(std::vector<float>& values) {
  return {reinterpret_cast<char*>(values.data()), sizeof(float), 0};
}
Strided of_columns(std::vector<float>& values) {
  return {reinterpret_cast<char*>(values.data()), 0, sizeof(float)};
}
Strided of_groups(std::vector<float>& values, int64_t columns) {
  return {reinterpret_cast<char*>(values.data()), columns * int64_t{sizeof(float)}, sizeof(float)};
}

// That every target gives element(row, column) for each element of y, and writes nothing else.
template <class Y, class Element>
void expect_everywhere(Args args, const Element& element) {
  std::vector<Y> expected;
  for (int64_t i = 0; i < args.rows * args.columns; ++i)
    expected.push_back(element(i / args.columns, i % args.columns));
  expected.push_back(Y{77});  // behind them
  for (const Target target : runnable_targets()) {
    std::vector<Y> y(expected.size(), Y{77});
    args.y = {reinterpret_cast<char*>(y.data()), args.columns * int64_t{sizeof(Y)}, sizeof(Y)};
    int64_t bytes = 0;
    run_on<ProductMemory>(target, {args, bytes});
    std::vector<char> memory(static_cast<size_t>(bytes) + 2 * 64, 'b');
    args.workspace = memory.data() + (-reinterpret_cast<uintptr_t>(memory.data()) & 63);
    run_on<ProductKernel>(target, args);
    EXPECT_TRUE(y == expected &&
                std::count(args.workspace + bytes, args.workspace + bytes + 64, 'b') == 64)
        << name_of(target) << ", " << args.rows << " x " << args.columns << " x " << args.depth;
  }
}

constexpr int64_t kRows[] = {1, 2, 3, 5, 13}, kColumnsOf[] = {1, 16, 63, 64, 136},
                  kDepths[] = {0, 1, 31, 32, 100, 128, 257, 520};

// Calls use(rows, columns, depth, layout of x, of the weight) with a third of all combinations.
template <class Use>
void for_each_shape(int64_t together, Use use) {
  int64_t turn = 0;
  for (const int64_t rows : kRows)
    for (int64_t columns : kColumnsOf)
      for (int64_t depth : kDepths) {
        if (++turn % 3 != 0) continue;
        columns = (columns + together - 1) / together * together;
        depth = (depth + together - 1) / together * together;
        const bool is_apart = turn % 2 == 0;
        use(rows, columns, depth, is_apart ? MatrixLayout::apart : MatrixLayout::along_k,
            static_cast<MatrixLayout>(turn / 3 % 3));
      }
}

int64_t dot(const TestMatrix& x, const TestMatrix& w, int64_t m, int64_t n, int64_t first,
            int64_t last, int32_t less = 0) {
  int64_t sum = 0;
  for (int64_t k = first; k < last; ++k) sum += int64_t{x.at(m, k) - less} * w.at(n, k);
  return sum;
}

Args args_of(const TestMatrix& x, const TestMatrix& w, SumForm sums, DType y) {
  Args args{};
  args.rows = x.rows;
  args.columns = w.rows;
  args.depth = x.depth;
  args.x = x.view;
  args.weight = w.view;
  args.sums = sums;
  args.y_dtype = y;
  return args;
}

TEST(Product, IntegersAreExactAndWrap) {
  Numbers numbers;
  for_each_shape(
      1, [&](int64_t rows, int64_t columns, int64_t depth, MatrixLayout of_x, MatrixLayout of_w) {
        const auto draw = [&] { return numbers.integer(-128, -120 + 247 * numbers.integer(0, 1)); };
        TestMatrix x(rows, depth, draw), w(columns, depth, draw);
        x.lay_out(Format::int8, of_x, 1, 1);
        w.lay_out(Format::int8, of_w, 1, 1);
        std::vector<int32_t> bias(static_cast<size_t>(columns));
        for (int32_t& b : bias) b = numbers.integer(INT32_MAX - 2000000, INT32_MAX);
        Args args = args_of(x, w, SumForm::exact, DType::int32);
        args.integer_bias = reinterpret_cast<const char*>(bias.data());
        expect_everywhere<int32_t>(args, [&](int64_t m, int64_t n) {
          return static_cast<int32_t>(dot(x, w, m, n, 0, depth) + bias[static_cast<size_t>(n)]);
        });
      });
}

TEST(Product, PackedIntegers) {
  Numbers numbers;
  for_each_shape(
      8, [&](int64_t rows, int64_t columns, int64_t depth, MatrixLayout of_x, MatrixLayout of_w) {
        const auto draw = [&] { return numbers.integer(-8, 7); };
        TestMatrix x(rows, depth, draw), w(columns, depth, draw);
        x.lay_out(Format::int4, of_x, 4, 8);
        w.lay_out(Format::int4, of_w, 4, 8);
        expect_everywhere<int32_t>(
            args_of(x, w, SumForm::exact, DType::int32),
            [&](int64_t m, int64_t n) { return static_cast<int32_t>(dot(x, w, m, n, 0, depth)); });
      });
}

TEST(Product, GroupsOfIntegersAreScaledOneAfterTheOther) {
  Numbers numbers;
  int turn = 0;
  for_each_shape(
      8, [&](int64_t rows, int64_t columns, int64_t depth, MatrixLayout of_x, MatrixLayout of_w) {
        TestMatrix x(rows, depth, [&] { return numbers.integer(-128, 127); });
        TestMatrix w(columns, depth, [&] { return numbers.integer(-8, 7); });
        x.lay_out(Format::int8, of_x, 1, 1);
        w.lay_out(Format::int4, of_w, 4, 8);
        Args args = args_of(x, w, SumForm::groups, DType::float32);
        const int64_t sizes[] = {std::max<int64_t>(depth, 1), 8, 4, 32, 12, 260, 5};
        args.group = sizes[turn++ % 7];
        args.centred = turn % 2;
        const int64_t groups = (depth + args.group - 1) / args.group;
        std::vector<float> scale = numbers.values(groups * columns), offset = scale;
        args.group_scale = of_groups(scale, columns);
        if (turn % 3 == 0) args.group_offset = of_groups(offset, columns);
        expect_everywhere<float>(args, [&](int64_t m, int64_t n) {
          float total = 0;
          for (int64_t j = 0; j < groups; ++j) {
            const int64_t first = j * args.group, last = std::min(depth, first + args.group);
            const auto at = static_cast<size_t>(j * columns + n);
            auto p = static_cast<float>(dot(x, w, m, n, first, last, args.centred ? 8 : 0));
            if (args.group_offset.data != nullptr) {
              int64_t sum = 0;
              for (int64_t k = first; k < last; ++k) sum += x.at(m, k);
              p -= static_cast<float>(sum) * offset[at];
            }
            total += p * scale[at];
          }
          return total;
        });
      });
}

// Patterns of bfloat16 of values of a few bits.
int32_t bfloat16_of(float v) { return static_cast<int32_t>(bits_of(v) >> 16); }
float value_of(int32_t bfloat16) { return float_from_bits(static_cast<uint32_t>(bfloat16) << 16); }

TEST(Product, FloatsAreSummedInChunks) {
  Numbers numbers;
  for_each_shape(
      1, [&](int64_t rows, int64_t columns, int64_t depth, MatrixLayout of_x, MatrixLayout of_w) {
        const auto draw = [&] { return bfloat16_of(numbers.value()); };
        TestMatrix x(rows, depth, draw), w(columns, depth, draw);
        x.lay_out(Format::bfloat16, of_x, 2, 1);
        w.lay_out(Format::bfloat16, of_w, 2, 1);
        expect_everywhere<float>(args_of(x, w, SumForm::chunks, DType::float32),
                                 [&](int64_t m, int64_t n) {
                                   float t = 0;
                                   for (int64_t first = 0; first < depth; first += 128) {
                                     float c = 0;
                                     for (int64_t k = first; k < std::min(depth, first + 128); ++k)
                                       c += value_of(x.at(m, k)) * value_of(w.at(n, k));
                                     t += c;
                                   }
                                   return t;
                                 });
      });
}

TEST(Product, WeightsAreMadeOfIntegers) {
  Numbers numbers;
  for_each_shape(
      8, [&](int64_t rows, int64_t columns, int64_t depth, MatrixLayout of_x, MatrixLayout of_w) {
        TestMatrix x(rows, depth, [&] { return bfloat16_of(numbers.value()); });
        TestMatrix w(columns, depth, [&] { return numbers.integer(-8, 7); });
        x.lay_out(Format::bfloat16, of_x, 2, 1);
        w.lay_out(Format::int4, of_w, 4, 8);
        Args args = args_of(x, w, SumForm::chunks, DType::float32);
        args.weight_group = 32;
        const int64_t groups = (depth + 31) / 32;
        std::vector<float> scale = numbers.values(groups * columns),
                           offset = numbers.values(groups * columns);
        args.weight_scale = of_groups(scale, columns);
        args.weight_offset = of_groups(offset, columns);
        expect_everywhere<float>(args, [&](int64_t m, int64_t n) {
          float t = 0, c = 0;
          for (int64_t k = 0; k < depth; ++k) {
            const auto at = static_cast<size_t>(k / 32 * columns + n);
            const float exact = (static_cast<float>(w.at(n, k)) + offset[at]) * scale[at];
            const uint32_t bits = bits_of(exact), half = 0x7fff + (bits >> 16 & 1);
            c += value_of(x.at(m, k)) * value_of(static_cast<int32_t>((bits + half) >> 16));
            if (k % 128 == 127 || k == depth - 1) t += std::exchange(c, 0.0f);
          }
          return t;
        });
      });
}

// A byte of E8M0 for each block of 32 k, in pairs.
struct TestPowers {
  int64_t pairs;
  std::vector<uint8_t> bytes;

  TestPowers(int64_t rows, int64_t depth, Numbers& numbers) : pairs((depth + 63) / 64) {
    for (int64_t i = 0; i < rows * pairs * 2; ++i)
      bytes.push_back(static_cast<uint8_t>(numbers.integer(120, 134)));
  }
  double at(int64_t row, int64_t block) const {
    return std::ldexp(1, bytes[static_cast<size_t>(row * pairs * 2 + block)] - 127);
  }
  ProductKernel::BlockScales view() const {
    return {reinterpret_cast<const char*>(bytes.data()), pairs * 2, 2, 1};
  }
};

// What e5m2 stands for: the upper byte of float16.
double e5m2(int32_t code) {
  const int exponent = code >> 2 & 31, mantissa = code & 3;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -16) : std::ldexp(4 + mantissa, exponent - 17);
  return code & 128 ? -magnitude : magnitude;
}

// Halves are added, again and again: products k and k + 16, then those and k + 8, ...
double sum_of_block(std::vector<double> products) {
  for (size_t half = 16; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i) products[i] += products[i + half];
  return products[0];
}

template <class Value>
void expect_blocks(const TestMatrix& x, const TestMatrix& w, const TestPowers& of_x,
                   const TestPowers& of_w, int64_t level, Value value) {
  Args args = args_of(x, w, SumForm::blocks, DType::float32);
  args.x_scale = of_x.view();
  args.block_scale = of_w.view();
  Numbers numbers;
  const int64_t levels = level > 0 ? (x.depth + level - 1) / level : 0;
  std::vector<float> x_level = numbers.values(levels * x.rows),
                     w_level = numbers.values(levels * w.rows);
  args.level = level;
  args.x_level = of_groups(x_level, levels);
  args.weight_level = of_groups(w_level, w.rows);
  expect_everywhere<float>(args, [&](int64_t m, int64_t n) {
    float out = 0, total = 0;
    for (int64_t first = 0; first < x.depth; first += 32) {
      std::vector<double> products(32);
      for (int64_t k = first; k < std::min(x.depth, first + 32); ++k)
        products[static_cast<size_t>(k - first)] = value(x.at(m, k)) * value(w.at(n, k));
      const auto p = static_cast<float>(sum_of_block(products));
      total += static_cast<float>(p * of_x.at(m, first / 32) * of_w.at(n, first / 32));
      if (level == 0 || ((first + 32) % level != 0 && first + 32 < x.depth)) continue;
      const auto j = static_cast<size_t>(first / level);
      out += total * x_level[static_cast<size_t>(m * levels) + j] *
             w_level[j * static_cast<size_t>(w.rows) + static_cast<size_t>(n)];
      total = 0;
    }
    return level > 0 ? out : total;
  });
}

TEST(Product, BlocksOfSmallFloats) {
  Numbers numbers;
  for_each_shape(
      1, [&](int64_t rows, int64_t columns, int64_t depth, MatrixLayout of_x, MatrixLayout of_w) {
        const auto draw = [&] { return numbers.integer(0, 0x7b) | numbers.integer(0, 1) << 7; };
        TestMatrix x(rows, depth, draw), w(columns, depth, draw);
        x.lay_out(Format::float8_e5m2, of_x, 1, 1);
        w.lay_out(Format::float8_e5m2, of_w, 1, 1);
        expect_blocks(x, w, TestPowers(rows, depth, numbers), TestPowers(columns, depth, numbers),
                      0, e5m2);
      });
}

TEST(Product, BlocksOfFloatsOf4BitsInTwoLevels) {
  Numbers numbers;
  int turn = 0;
  for_each_shape(2, [&](int64_t rows, int64_t columns, int64_t depth, MatrixLayout of_x,
                        MatrixLayout of_w) {
    const auto draw = [&] { return numbers.integer(0, 15); };
    TestMatrix x(rows, depth, draw), w(columns, depth, draw);
    x.lay_out(Format::float4_e2m1, of_x, 1, 2);
    w.lay_out(Format::float4_e2m1, of_w, 1, 2);
    const double values[] = {0, .5, 1, 1.5, 2, 3, 4, 6};
    expect_blocks(x, w, TestPowers(rows, depth, numbers), TestPowers(columns, depth, numbers),
                  turn++ % 2 * 128,
                  [&](int32_t code) { return code & 8 ? -values[code & 7] : values[code & 7]; });
  });
}

float swish(float v) { return v / (1 + static_cast<float>(std::exp(static_cast<double>(-v)))); }

TEST(Product, EveryStepBehindTheSum) {
  Numbers numbers;
  constexpr int64_t rows = 7, columns = 70, depth = 33;
  const auto draw = [&] { return numbers.integer(-128, 127); };
  TestMatrix x(rows, depth, draw), w(columns, depth, draw);
  x.lay_out(Format::int8, MatrixLayout::along_k, 1, 1);
  w.lay_out(Format::int8, MatrixLayout::across, 1, 1);
  std::vector<float> steps[5];
  for (std::vector<float>& step : steps)
    for (float& v : step = numbers.values(columns)) v *= 0x1p-10f;
  for (int forms = 0; forms < 243; ++forms) {  // each step absent, of rows or of columns
    int form[5];
    for (int s = 0, rest = forms; s < 5; ++s, rest /= 3) form[s] = rest % 3;
    Args args = args_of(x, w, SumForm::exact, DType::float32);
    args.activation = static_cast<Activation>(forms % 3);
    Strided* const to[] = {&args.scales[0], &args.scales[1], &args.bias, &args.late_scale,
                           &args.late_offset};
    for (int s = 0; s < 5; ++s)
      if (form[s] > 0) *to[s] = form[s] == 1 ? of_rows(steps[s]) : of_columns(steps[s]);
    expect_everywhere<float>(args, [&](int64_t m, int64_t n) {
      const auto step = [&](int s, float absent) {
        return form[s] == 0 ? absent : steps[s][static_cast<size_t>(form[s] == 1 ? m : n)];
      };
      auto v = static_cast<float>(dot(x, w, m, n, 0, depth));
      v = v * step(0, 1) * step(1, 1) + step(2, -0.0f);
      if (args.activation == Activation::relu) v = v <= 0 ? 0 : v;
      if (args.activation == Activation::swish) v = swish(v);
      return v * step(3, 1) + step(4, -0.0f);
    });
  }
}

}  // namespace
}  // namespace npu_quant::testing
