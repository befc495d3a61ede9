// Hand-made runs for tests: a place for a run.db that goes away, short ways to say events, and
// what a view holds as text.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include "gateway/core/event.hpp"
#include "reports/event_store.hpp"

namespace gatedrill::reports {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    static std::atomic<int> number{0};
    path_ = std::filesystem::temp_directory_path() /
            ("gatedrill-reports-" + std::to_string(getpid()) + "-" + std::to_string(number++));
    std::filesystem::create_directories(path_);
  }

  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string file(std::string_view name) const { return path_ / name; }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline TimePoint at_ms(double ms) {
  return TimePoint{from_ms(ms)};
}

// All rows of a query, columns by '|' and rows by line, as the sqlite3 shell prints them.
inline std::string rows_of(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  std::string all;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    for (int column = 0; column < sqlite3_column_count(statement); ++column) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      all += (column > 0 ? "|" : "") + std::string(text != nullptr ? text : "NULL");
    }
    all += "\n";
  }
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return all;
}

// The names of a view's columns, by comma.
inline std::string columns_of(const std::string& path, const std::string& view) {
  std::string names =
      rows_of(path, "SELECT group_concat(name, ',') FROM pragma_table_info('" + view + "')");
  names.pop_back();
  return names;
}

// A run.db that is being made, event by event.
class RunMaker {
 public:
  RunMaker() : store_(EventStore::create(path()).value()) {}

  struct Request {
    std::string_view gateway = "g";
    double at = 0;  // milliseconds
    std::string_view method = "GET";
    std::string_view path = "/";
    std::string_view route = "shop";
    int status = 200;
    Cause cause = Cause::ok;
    double latency = 10;
    int attempts = 1;
  };

  RunMaker& request(const Request& request, int times = 1) {
    for (int i = 0; i < times; ++i) {
      RequestDone done;
      done.request_id = RequestId("r" + std::to_string(++requests_));
      done.at = at_ms(request.at);
      done.latency = from_ms(request.latency);
      done.method = intern(request.method);
      done.path = intern(request.path);
      done.route = intern(request.route);
      done.status = static_cast<std::uint16_t>(request.status);
      done.cause = request.cause;
      done.attempts = static_cast<std::uint8_t>(request.attempts);
      publish(request.gateway, done);
    }
    return *this;
  }

  struct Send {
    std::string_view gateway = "g";
    double at = 0;
    std::string_view method = "GET";
    std::string_view path = "/";
    int status = 200;  // 0: no answer
    double latency = 10;
    int expected = 200;
    bool body = true;
  };

  RunMaker& send(const Send& send, int times = 1) {
    for (int i = 0; i < times; ++i) {
      SendDone done;
      done.request_id = RequestId("s" + std::to_string(++sends_));
      done.method = intern(send.method);
      done.path = intern(send.path);
      done.intended = at_ms(send.at);
      done.sent = at_ms(send.at);
      if (send.status != 0) done.done = at_ms(send.at + send.latency);
      done.status = static_cast<std::uint16_t>(send.status);
      done.body_complete = send.status != 0;
      done.status_expected = static_cast<std::uint16_t>(send.expected);
      done.body_as_expected = send.body;
      publish(send.gateway, done);
    }
    return *this;
  }

  RunMaker& execution(std::string_view gateway, std::string_view method, std::string_view key) {
    Execution done;
    done.request_id = RequestId(key);
    done.business_key = FixedText<40>(key);
    done.method = intern(method);
    publish(gateway, done);
    return *this;
  }

  template <class Body>
  RunMaker& publish(std::string_view gateway, const Body& body) {
    store_->publish(Event{intern(gateway), body});
    return *this;
  }

  RunMaker& phase(std::string_view name, double from, double until) {
    store_->add_phase(name, at_ms(from), at_ms(until));
    return *this;
  }

  // The finished run's path.
  std::string finish() {
    const Result<void> finished = store_->finish();
    EXPECT_TRUE(finished) << finished.error().message;
    return path();
  }

  EventStore& store() { return *store_; }

  [[nodiscard]] std::string path() const { return folder_.file("run.db"); }

  [[nodiscard]] const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<EventStore> store_;
  int requests_ = 0;
  int sends_ = 0;
};

}  // namespace gatedrill::reports
