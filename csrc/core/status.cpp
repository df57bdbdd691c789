#include "core/status.h"

namespace npu_quant {

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.rank; ++i) text += (i > 0 ? ", " : "") + std::to_string(shape.dims[i]);
  return text + (shape.rank == 1 ? ",)" : ")");
}

std::string plain_word(const Part& part) {
  switch (part.kind) {
    case Part::Kind::nothing: return "None";
    case Part::Kind::output: return part.text.empty() ? "out" : "out[" + part.text + "]";
    case Part::Kind::words:
    case Part::Kind::argument:
    case Part::Kind::dtype: break;
  }
  return part.text;
}

std::string written(const Text& text, const Words& words) {
  std::string result;
  for (const Part& part : text.parts())
    result += part.kind == Part::Kind::words ? part.text : words(part);
  return result;
}

Status::Status(Refusal refusal) : refusal_(new Refusal(std::move(refusal))) {}
Status::Status(const Status& other)
    : refusal_(other.ok() ? nullptr : new Refusal(other.refusal())) {}
void Status::drop() { delete refusal_; }

std::string sentence_of(const Status& status, const Words& words) {
  const Refusal& refusal = status.refusal();
  std::string sentence = written(refusal.subject, words);
  if (!sentence.empty()) sentence += ' ';
  sentence += written(refusal.came, words);
  if (!refusal.allowed.empty()) sentence.append(", ").append(written(refusal.allowed, words));
  return sentence + ".";
}

std::string message_of(const Status& status) {
  if (status.ok()) return "";
  return status.refusal().op + ": " + sentence_of(status, plain_word);
}

}  // namespace npu_quant
