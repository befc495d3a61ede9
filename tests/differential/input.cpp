#include "tests/differential/input.hpp"

namespace gatedrill::differential {
namespace {

std::vector<Input> collect() {
  std::vector<Input> all;
  for (const auto inputs :
       {request_line_inputs, host_inputs, request_framing_inputs, chunk_inputs, field_inputs,
        limit_inputs, well_formed_inputs, answer_inputs, cause_inputs}) {
    for (Input& input : inputs())
      all.push_back(std::move(input));
  }
  return all;
}

}  // namespace

const std::vector<Input>& all_inputs() {
  static const std::vector<Input> kInputs = collect();
  return kInputs;
}

}  // namespace gatedrill::differential
