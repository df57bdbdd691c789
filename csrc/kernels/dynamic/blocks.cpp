// The dynamic quantizers in any format, for any groups (docs/numerics.md 2): rows of x and of codes
// that lie one element after the other.
//   amax = max|x|     scale = min(amax / greatest, most_scale)     y = enc(x / scale)
//
// A part is `group_rows` rows of some groups, fewer of either at the ends. While it is encoded,
// from a cache, the next part is reduced, row by row:
//
//   part       reduce  encode
//   part + 1           reduce  encode
//   part + 2                   reduce  encode
#include "kernels/dynamic/dynamic.h"
#include "kernels/dynamic/reduce.h"

namespace npu_quant {
namespace {

constexpr int64_t kMostGroups = 32;        // of a part
constexpr int64_t kPartBytes = 256 << 10;  // of x: a part and the next one fit an L2
constexpr int64_t kLineBytes = 8 << 10;    // of x, where a part is a row: both fit an L1

// The running maxima of some groups.
template <class In>
struct Maxima {
  typename In::Amax of[kMostGroups] = {};

  float value(int64_t g) const { return In::Amax::value(of[g].bits()); }
  F32 values(int64_t first, int64_t groups) const {
    alignas(64) typename In::Amax::Bits bits[kLanes] = {};
    for (int64_t g = 0; g < least(groups - first, kLanes); ++g) bits[g] = of[first + g].bits();
    return In::Amax::values(bits);
  }
  NPU_QUANT_INLINE void include(const typename In::Storage* x, int64_t n, int64_t group) {
    for (int64_t g = 0, i = 0; i < n; ++g, i += group)
      reduce<In>(x + i, least(n - i, group), of[g]);
  }
};

// A row of a part, and what is done meanwhile.
template <class In>
struct Line {
  using Storage = typename In::Storage;

  const Storage* x;
  int64_t n, group;
  char* y;
  const Storage* next;      // as many values in the same groups, to be reduced; or null
  typename In::Amax* amax;  // of these groups, where there are such values
  uintptr_t ahead;          // memory is asked for what lies so many bytes behind them
  CacheLevel level;
};

// A line that is one group.
template <class In, class Code>
__attribute__((noinline)) void encode_group(const Line<In>& line,
                                            const Divider<float, int32_t>& divider,
                                            ResultStream& to) {
  ReduceNext<In> meanwhile{line.next, line.ahead, line.level, {}};
  if (line.next != nullptr) meanwhile.amax = *line.amax;
  meanwhile = encode<In, Code>(line.x, line.n, line.y, to, divider, meanwhile,
                               line.level == CacheLevel::second ? kTurned : 0);
  if (line.next != nullptr) *line.amax = meanwhile.amax;
}

// A line of whole groups: these are whole tiles.
template <class In, class Code>
__attribute__((noinline)) void encode_groups(const Line<In>& line, const GroupDividers* dividers,
                                             ResultStream& to) {
  const auto *x = line.x, *next = line.next;
  char* y = line.y;
  for (int64_t g = 0; g < line.n / line.group; ++g) {
    encode<In, Code, Ends::none>(x, line.group, y, to, dividers[g / kLanes][g % kLanes], Nothing{});
    x += line.group;
    y += bytes_of<Code>(line.group);
    if (next == nullptr) continue;
    ReduceNext<In> reduce{next, line.ahead, line.level, line.amax[g]};
    for (int64_t i = 0; i < line.group; i += kTile) reduce.tile(i);
    line.amax[g] = reduce.amax;
    next += line.group;
  }
}

template <class In, class Code>
void encode_line(const Line<In>& line, const GroupDividers* dividers, ResultStream& to) {
  const int64_t groups = line.group < line.n ? line.n / line.group : 0;
  const int64_t whole = groups * line.group;
  Line<In> part = line;
  part.n = whole;
  if (groups > 0) encode_groups<In, Code>(part, dividers, to);
  if (whole == line.n) return;
  part.n = line.n - whole;
  part.x += whole;
  part.y += bytes_of<Code>(whole);
  if (part.next != nullptr) {
    part.next += whole;
    part.amax += groups;
  }
  encode_group<In, Code>(part, dividers[groups / kLanes][groups % kLanes], to);
}

// Rows [row, row + rows), and elements [first, first + n) of them.
struct Part {
  int64_t row, rows, first, n;
};

template <class In, class Code>
class Groups {
 public:
  explicit Groups(const DynamicArgs& args)
      : args_(args), to_(args.stream, args.y, bytes_of<Code>(args.n)) {
    const int64_t row_bytes = args.group_rows > 1 ? kPartBytes / args.group_rows : kLineBytes;
    const int64_t fitting = row_bytes / (size_of(args.dtype) * most(args.group, 1));
    width_ = most(1, least(fitting, kMostGroups)) * args.group;
  }

  void run() {
    if (args_.rows == 0) return;
    Part part = part_at(0, 0);
    for (int64_t r = 0; r < part.rows; ++r) reduce_line(part, r);
    while (part.row < args_.rows) {
      find_dividers(part);
      const Part next = after(part);
      const bool is_alike = next.rows == part.rows && next.n == part.n;
      for (int64_t r = 0; r < part.rows; ++r) encode(part, r, is_alike ? &next : nullptr);
      for (int64_t r = 0; r < next.rows && !is_alike; ++r) reduce_line(next, r);
      part = next;
    }
    to_.flush();
    if (args_.stream) stream_fence();
  }

 private:
  using Storage = typename In::Storage;

  Part part_at(int64_t row, int64_t first) const {
    return {row, least(args_.group_rows, args_.rows - row), first, least(width_, args_.n - first)};
  }
  // Of no rows after the last one.
  Part after(const Part& part) const {
    const int64_t first = part.first + part.n;
    return first < args_.n ? part_at(part.row, first) : part_at(part.row + part.rows, 0);
  }

  const Storage* x_at(const Part& part, int64_t r) const {
    return x_of<In>(args_, part.row + r) + part.first;
  }
  char* y_at(const Part& part, int64_t r) const {
    return y_of(args_, part.row + r) + bytes_of<Code>(part.first);
  }
  __attribute__((noinline)) void reduce_line(const Part& part, int64_t r) {
    maxima_.include(x_at(part, r), part.n, args_.group);
  }

  void find_dividers(const Part& part) {
    const int64_t groups = groups_of(part.n, args_.group);
    const int64_t row = part.row / args_.group_rows, group = part.first / most(args_.group, 1);
    if (groups == 1) {
      const auto divider = divider_of<In, Code, int32_t>(args_.rule, maxima_.value(0));
      store_scale(args_.scale, row, group, divider.scale);
      dividers_[0].set(0, divider);
    }
    for (int64_t g = 0; g < groups && groups > 1; g += kLanes) {
      const GroupDividers& of = dividers_[g / kLanes] =
          dividers_of<In, Code>(args_, maxima_.values(g, groups));
      store_scales(args_.scale, row, group + g, of.scale, least(groups - g, kLanes));
    }
    for (int64_t g = 0; g < groups; ++g) maxima_.of[g] = {};
  }

  void encode(const Part& part, int64_t r, const Part* next) {
    // Where a piece ends within a cache line, and the next one comes rows later.
    constexpr int64_t kRowsAhead = 4;
    if (r + kRowsAhead < part.rows) to_.expect(y_at(part, r + kRowsAhead), bytes_of<Code>(part.n));
    encode_line<In, Code>({.x = x_at(part, r),
                           .n = part.n,
                           .group = args_.group,
                           .y = y_at(part, r),
                           .next = next != nullptr ? x_at(*next, r) : nullptr,
                           .amax = maxima_.of,
                           .ahead = ahead(part, r),
                           .level = args_.stream ? prefetch_level() : CacheLevel::first},
                          dividers_, to_);
  }

  // A row is followed by its own elements, or by those of some rows below: not by the next part's,
  // which would come too early.
  uintptr_t ahead(const Part& part, int64_t r) const {
    constexpr int64_t kAhead = 6 << 10;
    if (args_.group_rows == 1) return kAhead;
    const int64_t rows = kAhead / (part.n * int64_t{sizeof(Storage)}) + 1;
    return r + rows < part.rows ? static_cast<uintptr_t>(rows * args_.x.row_stride) : 0;
  }

  const DynamicArgs& args_;
  int64_t width_;
  Maxima<In> maxima_;
  GroupDividers dividers_[ceil_div(kMostGroups, kLanes)];
  ResultStream to_;
};

template <class In, class Code>
__attribute__((noinline)) void quantize(const DynamicArgs& args) {
  Groups<In, Code>(args).run();
}

template <class In>
void reduce_groups(const DynamicArgs& args, float* amax) {
  const auto* const x = x_of<In>(args, 0);
  for (int64_t g = 0; g < groups_of(args.n, args.group); ++g) {
    const int64_t i = g * args.group;
    typename In::Amax of_group;
    reduce<In>(x + i, least(args.n - i, args.group), of_group);
    include_amax(amax[g], In::Amax::value(of_group.bits()));
  }
}

template <class In, class Code>
__attribute__((noinline)) void encode_groups(const DynamicArgs& args, const float* amax) {
  const int64_t groups = groups_of(args.n, args.group);
  const auto* const x = x_of<In>(args, 0);
  ResultStream to(args.stream, args.y, bytes_of<Code>(args.n));
  for (int64_t g = 0; g < groups; g += kLanes) {
    const int64_t i = g * args.group;
    const GroupDividers dividers = dividers_of<In, Code>(
        args, load<F32>(Padded<float, kLanes>(amax + g, least(groups - g, kLanes)).values));
    encode_line<In, Code>({.x = x + i,
                           .n = least(args.n - i, kLanes * args.group),
                           .group = args.group,
                           .y = y_of(args, 0) + bytes_of<Code>(i),
                           .next = nullptr,
                           .amax = nullptr,
                           .ahead = 0,
                           .level = CacheLevel::first},
                          &dividers, to);
  }
}

}  // namespace

template <>
void DynamicBlocksKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float(args.dtype, args.x.data, args.x.row_stride, args.stream, [&](auto in) {
    visit_code(args.format, [&](auto code) { quantize<decltype(in), decltype(code)>(args); });
  });
}

template <>
void AmaxOfGroups::run<kTarget>(const Args& args) {
  visit_float_with<WholeLoads>(args.of.dtype,
                               [&](auto in) { reduce_groups<decltype(in)>(args.of, args.amax); });
}

template <>
void EncodeGroups::run<kTarget>(const Args& args) {
  visit_float_with<WholeLoads>(args.of.dtype, [&](auto in) {
    visit_code(args.of.format,
               [&](auto code) { encode_groups<decltype(in), decltype(code)>(args.of, args.amax); });
  });
}

}  // namespace npu_quant
