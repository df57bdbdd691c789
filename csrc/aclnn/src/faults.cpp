#include "aclnn/src/faults.h"

#include <cctype>

namespace npu_quant::aclnn {
namespace {

// Which code goes with which kind of fault.
int code_of(const Function& function, Fault kind, Phase phase) {
  if (phase == Phase::two && function.phase_2_code != OK) return function.phase_2_code;
  switch (kind) {
    case Fault::none: return OK;
    case Fault::missing: return ACLNN_ERR_PARAM_NULLPTR;
    case Fault::shape: return function.shape_code;
    case Fault::attribute: return function.attribute_code;
    case Fault::memory:
      return phase == Phase::two ? ACLNN_ERR_INNER : ACLNN_ERR_INNER_CREATE_EXECUTOR;
    case Fault::dtype:
    case Fault::unavailable:
    case Fault::rank:
    case Fault::overlap: break;
  }
  return ACLNN_ERR_PARAM_INVALID;
}

std::string in_camel_case(const std::string& words) {
  std::string name;
  bool begins = false;
  for (const char c : words) {
    if (c != '_') name += begins ? static_cast<char>(std::toupper(c)) : c;
    begins = c == '_';
  }
  return name;
}

}  // namespace

std::string name_of(const Function& function, const std::string& attribute) {
  if (const size_t end = attribute.find('['); end != std::string::npos)  // an element of a list
    return name_of(function, attribute.substr(0, end)) + attribute.substr(end);
  if (attribute == "numerics") return "NPU_QUANT_NUMERICS";  // whatever the function
  for (const OtherName& known : function.other_names)
    if (attribute == known.ours) return known.theirs;
  return in_camel_case(attribute);
}

int report(const Function& function, const Status& fault, const Words& words, Phase phase) {
  return report(code_of(function, fault.fault(), phase), function.name, sentence_of(fault, words));
}

}  // namespace npu_quant::aclnn
