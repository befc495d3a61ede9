// Events and totals as rows of run.db: one prepared insert a table. Private to reports/.
//
// Must not outlive the Database it was prepared for. Not thread-safe. Each write returns SQLite's
// code, SQLITE_DONE if the row was written.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "gateway/core/event.hpp"
#include "gateway/core/result.hpp"
#include "reports/sqlite.hpp"
#include "reports/tally.hpp"

namespace gatedrill::reports {

class RowWriter {
 public:
  static Result<RowWriter> prepare(Database& database);

  int write(const Event& event, std::uint32_t weight);
  int write(const Tally::Outcome& outcome);
  int write(const Tally::Latency& latency);
  int write_phase(std::string_view name, TimePoint from, TimePoint until, NameId gateway);

  // When the event was over; zero for one without a time.
  static TimePoint time_of(const Event& event);

 private:
  RowWriter() = default;
  int insert(NameId gateway, const RequestDone& event, std::uint32_t weight);
  int insert(NameId gateway, const AttemptDone& event, std::uint32_t weight);
  int insert(NameId gateway, const SendDone& event, std::uint32_t weight);
  int insert(NameId gateway, const Execution& event, std::uint32_t weight);
  int insert(NameId gateway, const Transition& event, std::uint32_t weight);
  int insert(NameId gateway, const ProbeDone& event, std::uint32_t weight);
  int insert(NameId gateway, const Eviction& event, std::uint32_t weight);
  int insert(NameId gateway, const FaultWindow& event, std::uint32_t weight);
  int insert(NameId gateway, const FaultHit& event, std::uint32_t weight);
  int insert(NameId gateway, const ResourceSample& event, std::uint32_t weight);
  int insert(NameId gateway, const Dropped& event, std::uint32_t weight);

  void merge_known(const Tally::Latency& latency, Histogram& histogram);

  Statement known_latency_;
  Statement request_, attempt_, send_, execution_, transition_, probe_, eviction_, fault_,
      fault_hit_, resource_, dropped_, outcome_, latency_, phase_;
};

}  // namespace gatedrill::reports
