#include "core/numerics.h"

#include <iterator>

namespace npu_quant {
namespace {

const char* fictitious_numerics = nullptr;

}  // namespace

void set_fictitious_numerics(const char* name) { fictitious_numerics = name; }

std::vector<const char*> list_numerics() {
  std::vector<const char*> names(std::begin(kNumericsNames), std::end(kNumericsNames));
  if (fictitious_numerics != nullptr) names.push_back(fictitious_numerics);
  return names;
}

const char* name_of(Numerics numerics) {
  const auto i = static_cast<size_t>(numerics);
  return i < std::size(kNumericsNames) ? kNumericsNames[i] : fictitious_numerics;
}

bool find_numerics(std::string_view name, Numerics& numerics) {
  int i = 0;
  for (const char* known : kNumericsNames) {
    if (name == known) return numerics = static_cast<Numerics>(i), true;
    ++i;
  }
  if (fictitious_numerics == nullptr || name != fictitious_numerics) return false;
  numerics = static_cast<Numerics>(i);
  return true;
}

}  // namespace npu_quant
