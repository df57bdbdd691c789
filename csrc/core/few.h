// A list that lies where it is made, with room for a few.
#pragma once

#include <memory>
#include <type_traits>

namespace npu_quant {

// What does not fit does not compile. Only what is there is written: every call has some of these.
template <class T, int most>
class Few {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Few() {}
  Few(const Few& other) { *this = other; }
  Few& operator=(const Few& other) {
    count_ = 0;
    for (const T& item : other) std::construct_at(items_ + count_++, item);
    return *this;
  }

  // One by one, where they stay: to copy a list that was just made waits for its stores.
  template <class... Items>
  static Few of(const Items&... items) {
    Few list;
    list.assign(items...);
    return list;
  }
  template <class... Items>
  void assign(const Items&... items) {
    static_assert(sizeof...(items) <= most, "raise the constant that names this list's room");
    count_ = 0;
    (std::construct_at(items_ + count_++, items), ...);
  }

  int size() const { return count_; }
  const T& operator[](int i) const { return items_[i]; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + count_; }

 private:
  int count_ = 0;
  union {
    T items_[most];
  };
};

}  // namespace npu_quant
