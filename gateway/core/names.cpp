#include "gateway/core/names.hpp"

#include <cassert>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace gatedrill {
namespace {

constexpr std::size_t kUntrustedNamesMax = 1'000'000;
constexpr std::size_t kUntrustedBytesMax = std::size_t{64} << 20U;
constexpr std::size_t kRememberedMax = 65'536;

class Table {
 public:
  NameId intern(std::string_view name, bool trusted) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = ids_.find(name); found != ids_.end()) return NameId{found->second};
      if (!trusted && full()) name = "(other)";
    }
    const std::unique_lock lock(mutex_);
    if (const auto found = ids_.find(name); found != ids_.end()) return NameId{found->second};
    const auto id = static_cast<std::uint32_t>(names_.size());
    ids_.emplace(names_.emplace_back(name), id);
    bytes_ += name.size();
    return NameId{id};
  }

  std::string_view name_of(NameId id) {
    const std::shared_lock lock(mutex_);
    assert(id.value < names_.size());
    return names_[id.value];
  }

 private:
  [[nodiscard]] bool full() const {
    return names_.size() >= kUntrustedNamesMax || bytes_ >= kUntrustedBytesMax;
  }

  std::shared_mutex mutex_;
  std::deque<std::string> names_{""};  // a deque never moves its elements
  std::unordered_map<std::string_view, std::uint32_t> ids_{{names_.front(), 0}};
  std::size_t bytes_ = 0;
};

Table& table() {
  static Table instance;
  return instance;
}

NameId intern_remembered(std::string_view name, bool trusted) {
  if (name.empty()) return NameId{};
  thread_local std::unordered_map<std::string_view, NameId> remembered;
  if (const auto found = remembered.find(name); found != remembered.end()) return found->second;
  const NameId id = table().intern(name, trusted);
  const std::string_view text = table().name_of(id);
  if (remembered.size() < kRememberedMax && text == name) remembered.emplace(text, id);
  return id;
}

}  // namespace

NameId intern(std::string_view name) {
  return intern_remembered(name, true);
}

NameId intern_untrusted(std::string_view name) {
  return intern_remembered(name, false);
}

std::string_view name_of(NameId id) {
  if (!id) return {};
  // What a thread looked up it knows from then on, without the table's lock.
  thread_local std::vector<std::string_view> known;
  if (id.value < known.size() && !known[id.value].empty()) return known[id.value];
  const std::string_view name = table().name_of(id);
  if (id.value < kRememberedMax) {
    if (id.value >= known.size()) known.resize(std::size_t{id.value} + 1);
    known[id.value] = name;
  }
  return name;
}

}  // namespace gatedrill
