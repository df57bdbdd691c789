// A list that lies where it is made, with room for a few.
#pragma once

namespace npu_quant {

// What does not fit does not compile. Only what is there is written: every call has some of these.
template <class T, int most>
class Few {
 public:
  Few() = default;
  Few(const Few& other) { *this = other; }
  Few& operator=(const Few& other) {
    for (count_ = 0; count_ < other.count_; ++count_) items_[count_] = other.items_[count_];
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
    ((items_[count_++] = items), ...);
  }

  int size() const { return count_; }
  const T& operator[](int i) const { return items_[i]; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + count_; }

 private:
  int count_ = 0;
  T items_[most];
};

}  // namespace npu_quant
