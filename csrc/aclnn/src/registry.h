// The live objects of one kind, by handle.
//
// A handle is no address but an index and a generation, and no generation of an index is issued
// twice: a handle whose object is gone stays unknown, whatever has been made since.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "aclnn/src/mutex.h"

namespace npu_quant::aclnn {

// Told apart in a handle, since streams and contexts are both void*.
enum class Kind : uint64_t {
  tensor = 1,
  scalar,
  int_array,
  float_array,
  bool_array,
  tensor_list,
  scalar_list,
  executor,
  stream,
  context
};

template <class Object, class Opaque, Kind kind>
class Registry {
 public:
  // Null where there is no room.
  Opaque* add(Object object) {
    const std::lock_guard<Mutex> lock(mutex_);
    if (free_.empty()) {
      if (slots_.size() == kMostSlots) return nullptr;
      if (free_.capacity() <= slots_.size()) free_.reserve(2 * slots_.size() + 16);  // for retire()
      slots_.emplace_back();
      free_.push_back(static_cast<uint32_t>(slots_.size() - 1));
    }
    const uint32_t index = free_.back();
    slots_[index].object.emplace(std::move(object));
    free_.pop_back();
    return handle_of(index, slots_[index].generation);
  }

  // To look at several objects: find() while the lock is held.
  std::unique_lock<Mutex> lock() { return std::unique_lock<Mutex>(mutex_); }
  // Null where the handle is unknown.
  Object* find(const Opaque* handle) {
    Slot* const slot = slot_of(handle);
    return slot == nullptr ? nullptr : &*slot->object;
  }

  // Calls use(object) while nobody else has it; false where the handle is unknown.
  template <class Use>
  bool with(const Opaque* handle, Use use) {
    const auto held = lock();
    Object* const object = find(handle);
    if (object == nullptr) return false;
    use(*object);
    return true;
  }

  bool knows(const Opaque* handle) {
    return with(handle, [](const Object&) {});
  }

  // The object, for the last time.
  std::optional<Object> remove(const Opaque* handle) {
    return remove_if(handle, [](const Object&) { return true; });
  }
  // The same where is_done(object); else it stays.
  template <class IsDone>
  std::optional<Object> remove_if(const Opaque* handle, IsDone is_done) {
    const std::lock_guard<Mutex> lock(mutex_);
    Slot* const slot = slot_of(handle);
    if (slot == nullptr || !is_done(*slot->object)) return std::nullopt;
    std::optional<Object> object = std::move(slot->object);
    retire(static_cast<uint32_t>(index_of(handle)));
    return object;
  }

  void clear() {
    const std::lock_guard<Mutex> lock(mutex_);
    for (uint32_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].object) retire(i);
  }

 private:
  struct Slot {
    uint32_t generation = 1;
    std::optional<Object> object;
  };
  static constexpr uint64_t kMostSlots = 1 << 28;
  static_assert(sizeof(void*) == sizeof(uint64_t));

  static Opaque* handle_of(uint64_t index, uint64_t generation) {
    return reinterpret_cast<Opaque*>(generation << 32 | index << 4 | static_cast<uint64_t>(kind));
  }
  static uint64_t index_of(const Opaque* handle) {
    return reinterpret_cast<uint64_t>(handle) >> 4 & (kMostSlots - 1);
  }

  Slot* slot_of(const Opaque* handle) {
    const uint64_t index = index_of(handle);
    if (index >= slots_.size()) return nullptr;
    Slot& slot = slots_[index];
    return slot.object && handle == handle_of(index, slot.generation) ? &slot : nullptr;
  }

  // A slot whose generations are used up is not used again.
  void retire(uint32_t index) {
    slots_[index].object.reset();
    if (++slots_[index].generation != 0) free_.push_back(index);
  }

  Mutex mutex_;
  std::deque<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace npu_quant::aclnn
