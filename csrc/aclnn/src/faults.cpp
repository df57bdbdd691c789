#include "aclnn/src/faults.h"

#include <cctype>
#include <cstring>
#include <string_view>

#include "aclnn/src/data_type.h"
#include "ops/contract.h"

namespace npu_quant::aclnn {
namespace {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// What the text begins with, which ends where a word does: its length and what stands for it.
struct Replacement {
  size_t length = 0;
  std::string_view text;
};

Replacement find(std::string_view text, const Word* words) {
  for (; words->ours != nullptr; ++words) {
    const size_t length = std::strlen(words->ours);
    if (text.substr(0, length) == words->ours &&
        (text.size() == length || !is_letter(text[length])))
      return {length, words->theirs};
  }
  size_t length = 0;
  while (length < text.size() && is_letter(text[length])) ++length;
  const std::string_view word = text.substr(0, length);
  if (word == "None") return {length, "NULL"};
  const char* const dtype = find_acl_name(word);
  return dtype != nullptr ? Replacement{length, dtype} : Replacement{};
}

// Word by word, but for what a caller wrote, which is in quotes.
std::string translated(std::string_view text, const Word* words) {
  std::string result;
  const size_t quote = text.find('\''), last_quote = text.rfind('\'');
  for (size_t i = 0; i < text.size();) {
    const bool is_quoted = quote != text.npos && i >= quote && i <= last_quote;
    const bool begins = !is_quoted && (i == 0 || !is_letter(text[i - 1]));
    const Replacement found = begins ? find(text.substr(i), words) : Replacement{};
    result += found.length > 0 ? found.text : text.substr(i, 1);
    i += found.length > 0 ? found.length : 1;
  }
  return result;
}

// In the function's words; the executor's own sentences are.
std::string reason_of(const Function& function, const Status& fault) {
  const std::string_view sentence = sentence_of(fault);
  const bool is_own = fault.message[0] == ':' || fault.fault == Fault::memory;
  return is_own ? std::string(sentence) : translated(sentence, function.words);
}

// Which code goes with which kind of fault.
int code_of(const Function& function, Fault kind, bool is_phase_2) {
  if (is_phase_2 && function.phase_2_code != OK) return function.phase_2_code;
  switch (kind) {
    case Fault::none: return OK;
    case Fault::missing: return ACLNN_ERR_PARAM_NULLPTR;
    case Fault::shape: return function.shape_code;
    case Fault::attribute: return function.attribute_code;
    case Fault::memory: return is_phase_2 ? ACLNN_ERR_INNER : ACLNN_ERR_INNER_CREATE_EXECUTOR;
    case Fault::dtype:
    case Fault::unavailable:
    case Fault::rank:
    case Fault::overlap: break;
  }
  return ACLNN_ERR_PARAM_INVALID;
}

}  // namespace

int report(const Function& function, const Status& fault, bool is_phase_2) {
  return report(code_of(function, fault.fault, is_phase_2), function.name,
                reason_of(function, fault));
}

}  // namespace npu_quant::aclnn
