#include "scenarios/spec/traffic.hpp"

#include "replay/recording.hpp"

namespace gatedrill::scenarios {

Result<Traffic> load_traffic(const TrafficSpec& spec, Duration duration) {
  auto recording = replay::Recording::open(spec.recording);
  if (!recording) return recording.error();
  auto exchanges = recording->read_all();
  if (!exchanges) return exchanges.error();
  replay::CopyTiming timing;
  timing.duration = duration;
  if (spec.rate) timing.rate_per_second = spec.rate->per_second();
  Traffic traffic;
  traffic.exchanges = std::move(*exchanges);
  auto plan = replay::ReplayPlan::make(traffic.exchanges, timing);
  if (!plan) return plan.error();
  traffic.plan = std::move(*plan);
  return traffic;
}

AnswerBooks make_answer_books(const Scenario& scenario, const Traffic& traffic) {
  std::shared_ptr<AnswerBook> recorded;
  AnswerBooks books;
  for (const Variant& variant : scenario.variants) {
    for (const auto& [name, spec] : variant.world.origins) {
      if (books.contains(name)) continue;
      if (!spec.answers.from_recording) {
        books[name] = std::make_shared<AnswerBook>(
            AnswerBook::fixed(spec.answers.status, spec.answers.body_bytes));
        continue;
      }
      if (!recorded) {
        recorded = std::make_shared<AnswerBook>();
        for (const replay::RecordedExchange& exchange : traffic.exchanges) recorded->add(exchange);
      }
      books[name] = recorded;
    }
  }
  return books;
}

}  // namespace gatedrill::scenarios
