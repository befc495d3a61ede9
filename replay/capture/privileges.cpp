#include "replay/capture/privileges.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gatedrill::replay::capture {
namespace {

struct User {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
};

std::optional<User> user_named(const std::string& name) {
  const passwd* entry = getpwnam(name.c_str());
  if (entry == nullptr) return std::nullopt;
  return User{name, entry->pw_uid, entry->pw_gid};
}

// Who called sudo; nothing if that was not how root came here, or it was root.
std::optional<User> sudo_user() {
  const char* text = std::getenv("SUDO_UID");
  if (text == nullptr) return std::nullopt;
  uid_t uid = 0;
  const std::string_view digits(text);
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), uid);
  if (read.ec != std::errc{} || read.ptr != digits.data() + digits.size() || uid == 0) {
    return std::nullopt;
  }
  const passwd* entry = getpwuid(uid);
  if (entry == nullptr) return std::nullopt;
  return User{entry->pw_name, entry->pw_uid, entry->pw_gid};
}

std::string own_name() {
  const passwd* entry = getpwuid(geteuid());
  return entry == nullptr ? std::to_string(geteuid()) : entry->pw_name;
}

Error refused(const std::string& what) {
  return outside_error(what + ": " + std::strerror(errno));
}

// As that user, for a moment.
bool may_write(const User& user, const std::string& folder) {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  const gid_t own_group = getegid();
  const uid_t own_user = geteuid();
  bool may = initgroups(user.name.c_str(), user.gid) == 0 && setegid(user.gid) == 0 &&
             seteuid(user.uid) == 0;
  may = may && faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
  const bool back = seteuid(own_user) == 0 && setegid(own_group) == 0 &&
                    setgroups(static_cast<std::size_t>(std::max(count, 0)), groups.data()) == 0;
  return may && back;
}

Result<void> become(const User& user) {
  if (initgroups(user.name.c_str(), user.gid) != 0 ||
      setresgid(user.gid, user.gid, user.gid) != 0 ||
      setresuid(user.uid, user.uid, user.uid) != 0) {
    return refused("cannot become " + user.name);
  }
  if (user.uid != 0 && setuid(0) == 0) return outside_error("cannot give up root for good");
  return {};
}

Result<void> clear_capabilities() {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (syscall(SYS_capset, &header, none.data()) != 0) return refused("cannot give up capabilities");
  // Nothing that is started from here on gets any back.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return refused("cannot renounce privileges");
  return {};
}

}  // namespace

Result<DroppedPrivileges> drop_privileges(const std::string& user, const std::string& folder) {
  DroppedPrivileges dropped;
  std::optional<User> target;
  if (!user.empty()) {
    target = user_named(user);
    if (!target) return usage_error("--user " + user + ": there is no such user");
    if (geteuid() != 0 && target->uid != geteuid()) {
      return usage_error("--user " + user + ": only root can become somebody else");
    }
  } else if (geteuid() == 0) {
    target = sudo_user();
    if (!target) {
      target = user_named("nobody");
      if (target && !may_write(*target, folder)) {
        target.reset();
        dropped.still_root = true;
      }
    }
  }
  if (target && target->uid != geteuid()) {
    if (!may_write(*target, folder)) {
      return outside_error(folder + ": " + target->name +
                           ", as whom the recording is written, may not write there; name another "
                           "place, or another user with --user");
    }
    if (auto became = become(*target); !became) return became.error();
  }
  if (auto cleared = clear_capabilities(); !cleared) return cleared.error();
  dropped.user = own_name();
  return dropped;
}

}  // namespace gatedrill::replay::capture
