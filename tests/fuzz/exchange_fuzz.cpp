// The bytes are what happens to many exchanges of one upstream; its settings come first. All that
// tests/gateway/policy/exchange_world checks must hold.
#include "tests/fuzz/choices.hpp"
#include "tests/gateway/policy/exchange_world.hpp"

namespace {

class ByteChoices final : public gatedrill::gateway::Choices {
 public:
  explicit ByteChoices(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool empty() const override { return bytes_.empty(); }

  std::uint64_t below(std::uint64_t limit) override { return bytes_.below(limit); }

  bool chance(double probability) override { return bytes_.chance(probability); }

 private:
  gatedrill::fuzz::Choices bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ByteChoices choices({reinterpret_cast<const char*>(data), size});
  gatedrill::gateway::play_exchanges(choices, 4000);
  return 0;
}
