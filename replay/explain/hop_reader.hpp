// Reads what `traffic explain` needs from a recording, row by row: the memory it takes does not
// grow with the recording.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/core/result.hpp"
#include "replay/explain/hop.hpp"

namespace gatedrill::replay::explain {

// How a connection that somebody had kept without using it came to its end.
struct IdleClose {
  std::string server{};
  bool by_server = false;
  Duration idle{0};
};

// From the first to the last, both included.
struct Spell {
  UnixTime first{};
  UnixTime last{};
};

// `least`, made longer until it holds so many exchanges before and after, but not beyond `most`.
[[nodiscard]] Result<Spell> with_exchanges(const std::string& path,
                                           const Spell& least,
                                           const Spell& most,
                                           std::size_t exchanges);

class HopReader {
 public:
  // `recording` is what the hops will say of where they are from; `shift` is added to every time.
  // Only what began within the spell, if one is given.
  static Result<HopReader> open(const std::string& path,
                                int recording,
                                Duration shift,
                                const std::optional<Spell>& within = {});

  HopReader(HopReader&&) noexcept;
  HopReader& operator=(HopReader&&) noexcept;
  ~HopReader();

  // The exchanges in the order of their time. False at the end.
  Result<bool> next(Hop& hop);

  // The connections that were refused or not answered, likewise.
  Result<bool> next(Attempt& attempt);
  // Bytes that were acknowledged, and so sent, that no captured frame holds and no gap accounts
  // for.
  Result<std::uint64_t> unseen_bytes() const;
  // Connections that were closed by a FIN while they were kept, at most so many.
  Result<std::vector<IdleClose>> idle_closes(std::size_t max) const;

 private:
  struct State;
  explicit HopReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gatedrill::replay::explain
