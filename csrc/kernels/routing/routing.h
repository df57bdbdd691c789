// Rows of tokens, to the experts they are sent to and back: what the ops hand over. One definition
// of each run() per target.
#pragma once

#include "core/dtype.h"
#include "core/strided.h"
#include "core/target.h"

namespace npu_quant {

// Tables say where rows begin, in bytes from the first element of an array; of a row that there is
// not, this.
inline constexpr int64_t kNoRow = INT64_MIN;

// y[to[i, c]] = x[i]    of each row i and each of its copies c: elements of any meaning
struct MoveRowsKernel {
  struct Args {
    int64_t rows, n, item;  // elements of a row; bytes of each, 1, 2 or 4
    Strided x;              // zeros where there is no data
    Strided y;
    const int64_t* to;  // a table of `copies` for each row
    int64_t copies;
    bool stream;  // y is to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

// y[i] = skip1[i] + skip2[i], or the one that is given, or 0; then for each term k, in their order,
// y[i] = y[i] + weight[i, k] * (x[x_rows[i, k]] + bias[bias_rows[i, k]])
struct WeighRowsKernel {
  struct Args {
    DType dtype;  // of all but the weights
    int64_t rows, n, terms;
    Strided x, y;
    Strided skips[2], bias;  // null where there is none
    const int64_t *x_rows, *bias_rows;
    const char* weights;   // float32, `terms` for each row; null: 1
    bool leaves_out_none;  // a term without a row, else its row is 0
    bool stream;           // y is to bypass the caches
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
