#include "chaos/link_model.hpp"

#include <array>
#include <cstdio>
#include <string>

namespace gatedrill::chaos {
namespace {

FixedText<60> delay_text(Duration added, Direction direction) {
  std::array<char, 61> text{};
  const std::string_view way = to_string(direction);
  std::snprintf(text.data(), text.size(), "+%.1fms %.*s", to_ms(added),
                static_cast<int>(way.size()), way.data());
  return FixedText<60>(text.data());
}

}  // namespace

LinkModel::LinkModel(Settings settings, FaultRun& run)
    : settings_(std::move(settings)),
      run_(&run),
      base_(run.plan().seed(), "link"),
      target_(intern(settings_.name.endpoint)) {
  const std::vector<PlacedFault>& faults = run.plan().faults();
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (covers(faults[i].target, settings_.name))
      mine_.push_back({&faults[i], i, intern(faults[i].name)});
  }
}

bool LinkModel::accepts(TimePoint now) const {
  return origin_listening_ && !refusing_fault(now);
}

std::optional<NameId> LinkModel::refusing_fault(TimePoint now) const {
  for (const Mine& mine : mine_) {
    if (mine.placed->active(now) && mine.placed->fault->refuses()) return mine.name;
  }
  return std::nullopt;
}

ConnectVerdict LinkModel::on_connect(TimePoint now, std::uint64_t connection) {
  for (const Mine& mine : mine_) {
    if (!mine.placed->active(now) || !mine.placed->fault->resets_at_once()) continue;
    if (!rolled(mine, connection) || !run_->take_hit(mine.index)) continue;
    return {PlannedHit{mine.name, FaultEffect::reset, std::string_view("RST as soon as accepted")}};
  }
  return {};
}

RequestVerdict LinkModel::on_request(TimePoint now, RequestSight sight) {
  sight.attempt = run_->sightings().see(sight.request_id);
  RequestVerdict verdict;
  verdict.attempt = sight.attempt;
  const std::string_view link = settings_.name.endpoint;
  verdict.to_origin = settings_.to_origin.at(base_.of_request(link, sight, "to_origin"));
  verdict.to_gateway = settings_.to_gateway.at(base_.of_request(link, sight, "to_gateway"));
  for (const Mine& mine : mine_) {
    if (!mine.placed->active(now) || !mine.placed->requests.passes(sight)) continue;
    if (!rolled(mine, sight)) continue;
    switch (mine.placed->fault->shape()) {
      case FaultShape::connection:
        add_reset(mine, sight, verdict);
        break;
      case FaultShape::bytes:
        add_delay(mine, sight, verdict);
        break;
      case FaultShape::message:
        add_growth(mine, verdict);
        break;
    }
  }
  return verdict;
}

void LinkModel::add_reset(const Mine& mine, const RequestSight& sight, RequestVerdict& verdict) {
  if (verdict.reset) return;  // it can be reset once only
  const std::optional<ResetMoment> moment = mine.placed->fault->on_request(sight);
  if (!moment || !run_->take_hit(mine.index)) return;
  verdict.reset = moment;
  std::string text = "RST on request " + std::to_string(sight.ordinal) + " ";
  text += to_string(*moment);
  verdict.hits.push_back({mine.name, FaultEffect::reset, std::string_view(text)});
}

void LinkModel::add_delay(const Mine& mine, const RequestSight& sight, RequestVerdict& verdict) {
  const Draw& draw = run_->plan().draw(mine.index);
  const std::string_view link = settings_.name.endpoint;
  const Fault& fault = *mine.placed->fault;
  const Duration there =
      fault.delay(Direction::to_origin, draw.of_request(link, sight, "to_origin"));
  const Duration back =
      fault.delay(Direction::to_gateway, draw.of_request(link, sight, "to_gateway"));
  if (there.count() <= 0 && back.count() <= 0) return;
  if (!run_->take_hit(mine.index)) return;
  verdict.to_origin += there;
  verdict.to_gateway += back;
  const Direction longer = back >= there ? Direction::to_gateway : Direction::to_origin;
  verdict.hits.push_back(
      {mine.name, FaultEffect::delay, delay_text(std::max(there, back), longer)});
}

void LinkModel::add_growth(const Mine& mine, RequestVerdict& verdict) {
  const std::size_t bytes = mine.placed->fault->head_growth();
  if (bytes == 0 || !run_->take_hit(mine.index)) return;
  verdict.head_growth += bytes;
  const std::string text = "answer head +" + std::to_string(bytes) + " bytes";
  verdict.hits.push_back({mine.name, FaultEffect::head_growth, std::string_view(text)});
}

Duration LinkModel::close_delay(TimePoint now,
                                Direction direction,
                                std::uint64_t connection) const {
  const std::string_view link = settings_.name.endpoint;
  const std::string_view what =
      direction == Direction::to_origin ? "close to_origin" : "close to_gateway";
  const Distribution& own =
      direction == Direction::to_origin ? settings_.to_origin : settings_.to_gateway;
  Duration delay = own.at(base_.of_connection(link, connection, what));
  for (const Mine& mine : mine_) {
    if (!mine.placed->active(now) || !rolled(mine, connection)) continue;
    const Draw& draw = run_->plan().draw(mine.index);
    delay += mine.placed->fault->delay(direction, draw.of_connection(link, connection, what));
  }
  return delay;
}

std::optional<ResetDue> LinkModel::reset_due(TimePoint now,
                                             std::uint64_t connection,
                                             std::optional<TimePoint> idle_since) const {
  std::optional<ResetDue> first;
  const auto consider = [&](const Mine& mine, TimePoint at, std::string_view planned) {
    if (at < now || at >= mine.placed->until || (first && first->at <= at)) return;
    const std::uint64_t limit = mine.placed->hits_max;
    if (limit != 0 && run_->hits(mine.index) >= limit) return;
    if (!rolled(mine, connection)) return;
    first = ResetDue{at, {mine.name, FaultEffect::reset, planned}, mine.index};
  };
  for (const Mine& mine : mine_) {
    if (mine.placed->fault->resets_at_once())
      consider(mine, mine.placed->at, "RST of all connections");
    const std::optional<Duration> limit = mine.placed->fault->idle_limit();
    if (limit && idle_since) {
      const TimePoint at = std::max(*idle_since + *limit, mine.placed->at);
      // The moment may have passed while nobody asked: then it is now.
      consider(mine, std::max(at, now), "RST of an idle connection");
    }
  }
  return first;
}

bool LinkModel::rolled(const Mine& mine, const RequestSight& sight) const {
  if (mine.placed->share >= 1.0) return true;
  const double roll =
      run_->plan().draw(mine.index).of_request(settings_.name.endpoint, sight, "share");
  return roll < mine.placed->share;
}

bool LinkModel::rolled(const Mine& mine, std::uint64_t connection) const {
  if (mine.placed->share >= 1.0) return true;
  const double roll =
      run_->plan().draw(mine.index).of_connection(settings_.name.endpoint, connection, "share");
  return roll < mine.placed->share;
}

}  // namespace gatedrill::chaos
