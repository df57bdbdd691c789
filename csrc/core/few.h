// A list that lies where it is made, with room for a few.
#pragma once

#include <cstddef>

namespace npu_quant {

// What does not fit does not compile.
template <class T, int most>
class Few {
 public:
  template <size_t count>
  static Few of(const T (&items)[count]) {
    static_assert(count <= most, "raise the constant that this list's room is named by");
    Few few;
    for (const T& item : items) few.items_[few.count_++] = item;
    return few;
  }

  int size() const { return count_; }
  const T& operator[](int i) const { return items_[i]; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + count_; }

 private:
  int count_ = 0;
  T items_[most] = {};
};

}  // namespace npu_quant
