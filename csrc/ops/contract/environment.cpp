#include "ops/contract/environment.h"

#include <cstdlib>
#include <utility>
#include <vector>

#include "core/cache.h"
#include "core/dispatch.h"
#include "core/memory.h"
#include "core/parallel.h"

namespace npu_quant {
namespace {

Status unknown_value(const char* variable, const std::string& allowed) {
  std::string value = quoted(std::getenv(variable));
  for (char& c : value)
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';  // may not be UTF-8
  return fault("npu_quant", Fault::unavailable, variable, {"is ", value}, {"available: ", allowed});
}

template <class Holds>
std::string targets_that(Holds holds) {
  std::vector<Target> held;
  for (const Target target : kAllTargets)
    if (holds(target)) held.push_back(target);
  return joined(held, [](Target target) { return name_of(target); });
}

Status apply_target() {
  const std::string runnable = targets_that(is_runnable);
  if (runnable.empty())
    return fault("npu_quant", Fault::unavailable, "the library",
                 {"is compiled for ", targets_that(is_built), ", which this CPU does not run"},
                 {"expected a library for this CPU: `pip install .` compiles one"});
  const char* wanted = std::getenv("NPU_QUANT_TARGET");
  if (wanted == nullptr || set_target(wanted)) return {};
  return unknown_value("NPU_QUANT_TARGET", runnable + " (what is compiled and this CPU runs)");
}

Status apply_prefetch() {
  const char* wanted = std::getenv("NPU_QUANT_PREFETCH");
  if (wanted == nullptr || set_prefetch(wanted)) return {};
  return unknown_value("NPU_QUANT_PREFETCH", "l1, l2");
}

Status apply_num_threads() {
  const int threads = num_threads_from_environment();
  if (threads == 0) return unknown_value("NPU_QUANT_NUM_THREADS", "a whole number from 1 to 4096");
  set_num_threads(threads);
  return {};
}

}  // namespace

bool set_target(std::string_view name) {
  for (const Target target : kAllTargets)
    if (is_runnable(target) && name == name_of(target)) return set_active_target(target), true;
  return false;
}

bool set_prefetch(std::string_view name) {
  for (const CacheLevel level : {CacheLevel::first, CacheLevel::second})
    if (name == name_of(level)) return set_prefetch_level(level), true;
  return false;
}

bool set_streaming(std::string_view name) {
  for (const Streaming way : {Streaming::by_size, Streaming::always, Streaming::never})
    if (name == name_of(way)) return set_streaming(way), true;
  return false;
}

Environment read_environment() {
  Environment read;
  for (const auto apply : {apply_target, apply_prefetch, apply_num_threads})
    if (Status status = apply(); read.status.ok()) read.status = std::move(status);
  std::string available;
  const char* profile = std::getenv("NPU_QUANT_NUMERICS");
  if (read.status.ok() && profile != nullptr && !find_numerics(profile, read.numerics, available))
    read.status = unknown_value("NPU_QUANT_NUMERICS", available);
  return read;
}

namespace {

Environment& kept_environment() {
  static Environment* const kept = [] {
    // A fork prepares in the reverse order: the pool comes to rest before the store is locked,
    // which its workers may be waiting for.
    initialise_memory();
    initialise_threads();
    return new Environment(read_environment());  // threads may outlive static destructors
  }();
  return *kept;
}

}  // namespace

const Environment& environment() { return kept_environment(); }

void renew_environment() { kept_environment() = read_environment(); }

namespace {

// When the library is loaded: while there is one thread, and before any fork.
[[maybe_unused]] const Environment& loaded = environment();

}  // namespace
}  // namespace npu_quant
