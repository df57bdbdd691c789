#include "core/numerics.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <span>

namespace npu_quant {
namespace {

constexpr const char* kProfiles[] = {"reference", "ascend910b", "ascend950"};
constexpr const char* kScaleForms[] = {"auto", "S1", "S2"};
constexpr const char* kNormTemplates910b[] = {"auto", "normal", "split_d", "single_n"};
constexpr const char* kNormTemplates950[] = {"auto", "full", "normal"};

// A parameter of a profile: a number, or a word.
struct Key {
  Profile profile;
  std::string_view name;
  int64_t Numerics::* value;
  std::span<const char* const> words = {};
  int64_t usual = 0, least = 0, greatest = 0;

  bool take(std::string_view text, Numerics& numerics) const {
    int64_t found = 0;
    if (words.empty()) {
      const auto [end, error] = std::from_chars(text.begin(), text.end(), found);
      if (error != std::errc() || end != text.end() || found < least || found > greatest)
        return false;
    } else {
      while (found < std::ssize(words) && text != words[static_cast<size_t>(found)]) ++found;
      if (found == std::ssize(words)) return false;
    }
    numerics.*value = found;
    return true;
  }

  void append_to(std::string& text) const {
    text.append(name);
    if (words.empty()) {
      text.append("=").append(std::to_string(least)).append("..").append(std::to_string(greatest));
      return;
    }
    const char* before = "=";
    for (const char* word : words) {
      text.append(before).append(word);
      before = "|";
    }
  }
};

constexpr Key kKeys[] = {
    {Profile::ascend910b, "vector_cores", &Numerics::vector_cores, {}, 40, 1, 1024},
    {Profile::ascend910b, "ub_size", &Numerics::ub_size, {}, 196352, 1 << 16, 1 << 24},
    {Profile::ascend910b, "scale_form", &Numerics::scale_form, kScaleForms},
    {Profile::ascend910b, "norm_template", &Numerics::norm_template, kNormTemplates910b},
    {Profile::ascend950, "ub_size", &Numerics::ub_size, {}, 253952, 1 << 16, 1 << 24},
    {Profile::ascend950, "norm_template", &Numerics::norm_template, kNormTemplates950},
};

Numerics usual(Profile profile) {
  Numerics numerics{profile};
  for (const Key& key : kKeys)
    if (key.profile == profile) numerics.*key.value = key.usual;
  return numerics;
}

std::string available_keys(Profile profile) {
  std::string text = name_of(profile);
  char before = ':';
  for (const Key& key : kKeys) {
    if (key.profile != profile) continue;
    text += before;
    key.append_to(text);
    before = ',';
  }
  return before == ',' ? text : text.append(" (it has no parameters)");
}

// KEY=VALUE, of a key that is not there yet.
bool take_item(std::string_view item, Numerics& numerics, std::vector<const Key*>& taken) {
  const size_t equals = item.find('=');
  if (equals == item.npos) return false;
  for (const Key& key : kKeys) {
    if (key.profile != numerics.profile || key.name != item.substr(0, equals)) continue;
    if (std::find(taken.begin(), taken.end(), &key) != taken.end()) return false;
    taken.push_back(&key);
    return key.take(item.substr(equals + 1), numerics);
  }
  return false;
}

bool take_list(std::string_view list, Numerics& numerics) {
  std::vector<const Key*> taken;
  for (;;) {
    const size_t comma = list.find(',');
    if (!take_item(list.substr(0, comma), numerics, taken)) return false;
    if (comma == list.npos) return true;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<const char*> list_numerics() { return {std::begin(kProfiles), std::end(kProfiles)}; }

const char* name_of(Profile profile) { return kProfiles[static_cast<size_t>(profile)]; }

bool find_numerics(std::string_view text, Numerics& numerics, std::string& available) {
  if (text == kProfiles[0]) return numerics = {}, true;  // what small calls mostly name
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (size_t i = 0; i < std::size(kProfiles); ++i) {
    if (name != kProfiles[i]) continue;
    numerics = usual(static_cast<Profile>(i));
    if (colon == text.npos || take_list(text.substr(colon + 1), numerics)) return true;
    available = available_keys(numerics.profile);
    return false;
  }
  for (const char* known : kProfiles) {
    if (!available.empty()) available += ", ";
    available += known;
  }
  return false;
}

}  // namespace npu_quant
