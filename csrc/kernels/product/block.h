// How the k of a product are cut: into sections, whose sums are scaled, and blocks of what is
// packed at a time.
#pragma once

#include "core/ceil_div.h"
#include "kernels/product/product.h"
#include "kernels/product/tile.h"
#include "kernels/rows/piece.h"

namespace npu_quant {
namespace {

inline constexpr int64_t kMostSections = 8;  // that are packed at a time

NPU_QUANT_INLINE bool is_of_integers(const ProductKernel::Args& args) {
  return args.sums == SumForm::exact || args.sums == SumForm::groups ||
         (args.sums == SumForm::blocks && args.x.format == Format::float4_e2m1);
}
NPU_QUANT_INLINE int64_t rounded_up(int64_t n, int64_t to) { return ceil_div(n, to) * to; }
NPU_QUANT_INLINE int64_t padded_columns(const ProductKernel::Args& args) {
  return rounded_up(args.columns, 64);
}

// A thread's memory, handed out from its beginning; null where it is only counted.
class Workspace {
 public:
  explicit Workspace(char* begin) : begin_(begin) {}

  template <class T>
  T* take(int64_t n) {
    char* const taken = begin_ == nullptr ? nullptr : begin_ + bytes_;
    bytes_ += rounded_up(n * static_cast<int64_t>(sizeof(T)), 64);
    return reinterpret_cast<T*>(taken);
  }
  int64_t bytes() const { return bytes_; }  // that were handed out

 private:
  char* const begin_;
  int64_t bytes_ = 0;
};

// Some k that are packed together: whole sections, the last of all maybe shorter, or a part of one.
struct Block {
  int64_t k = 0, n = 0;  // [k, k + n)
  int64_t first = 0;     // section
  int64_t sections = 1;  // that begin, go on or end here
  bool begins_section, ends_section;

  Block(const ProductKernel::Args& args, int64_t most, int64_t together)
      : depth_(args.depth), most_(most), together_(together), section_(section_of(args)) {
    find_end();
  }
  void move_on() {
    k += n;
    find_end();
  }
  // Where a section begins in what is packed, and how far it goes.
  int64_t begin_of(int64_t section) const { return section * section_; }
  int64_t depth_of(int64_t section) const {
    return rounded_up(least(section_, n - begin_of(section)), together_);
  }
  bool ends_level(int64_t section, int64_t level) const {
    const int64_t end = least(k + begin_of(section + 1), depth_);
    return end % level == 0 || end == depth_;
  }
  int64_t level(int64_t section, int64_t level) const { return (k + begin_of(section)) / level; }

 private:
  static int64_t section_of(const ProductKernel::Args& args) {
    switch (args.sums) {
      case SumForm::exact: return most(1, args.depth);
      case SumForm::groups: return args.group;
      case SumForm::chunks: return FloatProducts<false>::kMostDepth;
      case SumForm::blocks: return kBlockOfSums;
    }
    __builtin_trap();
  }
  void find_end() {
    first = k / section_;
    const int64_t end_of_section = least((first + 1) * section_, depth_);
    n = least(most_, end_of_section - k);
    sections = 1;
    begins_section = k == first * section_;
    ends_section = k + n == end_of_section;
    // Sections that are no multiple of what lies in a lane are packed one by one.
    if (section_ * 2 > most_ || section_ % together_ != 0 || n < section_) return;
    n = least(least(most_ / section_, kMostSections) * section_, depth_ - k);
    sections = ceil_div(n, section_);
  }

  int64_t depth_, most_, together_, section_;
};

}  // namespace
}  // namespace npu_quant
