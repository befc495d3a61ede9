// Gives up what a capture needed only to open its interfaces, before it looks at a single packet.
#pragma once

#include <string>

#include "gateway/core/result.hpp"

namespace gatedrill::replay::capture {

struct DroppedPrivileges {
  std::string user;         // as whom it runs from now on
  bool still_root = false;  // without any capability, since only root may write there
};

// While there is one thread. Becomes `user`; if that is empty and this is root, then who called
// sudo, else `nobody` if it may write into `folder`; where it may not, the user stays and only the
// capabilities go. Fails (usage) for an unknown user, (outside) if that user may not write into
// `folder` or the system refuses.
[[nodiscard]] Result<DroppedPrivileges> drop_privileges(const std::string& user,
                                                        const std::string& folder);

}  // namespace gatedrill::replay::capture
