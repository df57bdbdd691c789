// A list that lies where it is made, with room for a few.
#pragma once

#include <cstddef>

namespace npu_quant {

// What does not fit does not compile. Only what is there is written: every call has some of these.
template <class T, int most>
class Few {
 public:
  Few() = default;
  Few(const Few& other) { *this = other; }
  Few& operator=(const Few& other) { return copy(other.items_, other.count_); }

  template <size_t count>
  Few& assign(const T (&items)[count]) {
    static_assert(count <= most, "raise the constant that names this list's room");
    return copy(items, static_cast<int>(count));
  }
  template <size_t count>
  static Few of(const T (&items)[count]) {
    return Few().assign(items);
  }

  int size() const { return count_; }
  const T& operator[](int i) const { return items_[i]; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + count_; }

 private:
  Few& copy(const T* items, int count) {
    for (count_ = 0; count_ < count; ++count_) items_[count_] = items[count_];
    return *this;
  }

  int count_ = 0;
  T items_[most];
};

}  // namespace npu_quant
