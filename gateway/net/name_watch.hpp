// Looks up the names of endpoints again and again, on a thread of its own: the system's resolver
// blocks, for many seconds if its servers are silent.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gateway/core/time.hpp"
#include "gateway/net/endpoint_addresses.hpp"

namespace gatedrill::gateway {

// The addresses of a name as text; none if it cannot be looked up. Blocks.
using NameLookup = std::function<std::vector<std::string>(const std::string& name)>;

// As the system looks names up.
[[nodiscard]] std::vector<std::string> system_lookup(const std::string& name);

class NameWatch {
 public:
  // Shared, because a lookup that hangs is not waited for at the end.
  using Watched = std::vector<std::shared_ptr<EndpointAddresses>>;

  NameWatch(Watched watched, NameLookup look_up);
  NameWatch(const NameWatch&) = delete;
  NameWatch& operator=(const NameWatch&) = delete;
  ~NameWatch();

  // Looks all names up once, here and now. Those that could not be: "shop.example".
  std::vector<std::string> look_up_all();

  // From now on every `interval`, in the background; one that has no address yet every second.
  // Does nothing if there are no names.
  void start(Duration interval);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gatedrill::gateway
