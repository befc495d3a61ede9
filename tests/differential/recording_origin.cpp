#include "tests/differential/recording_origin.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace gatedrill::differential {
namespace {

constexpr std::chrono::milliseconds kMoment{150};
constexpr std::chrono::seconds kHangUpLimit{2};
constexpr const char* kMark = "MARK\n";

// To HEAD too it has a body: unasked, so it comes in one piece with the end of the head.
OriginScript::Answer usual_answer(const Message& request) {
  OriginScript::Answer answer{
      .bytes = testing::answer_of(200, request.target() == "/probe" ? "probe" : "ok"),
      .after = OriginScript::After::keep};
  if (request.method() != "HEAD") return answer;
  const std::size_t head = answer.bytes.find("\r\n\r\n") + 4;
  answer.behind = answer.bytes.substr(head);
  answer.bytes.resize(head);
  return answer;
}

}  // namespace

RecordingOrigin::RecordingOrigin()
    : peer_([this](testing::PeerSocket& peer, int) { serve(peer); }) {}

void RecordingOrigin::begin(const OriginScript& script, Sending sending) {
  const std::lock_guard lock(mutex_);
  script_ = script;
  sending_ = sending;
  requests_.clear();
}

std::vector<Message> RecordingOrigin::end() {
  // Connections are accepted in turn: once this one is, all that the proxy has made are.
  testing::PeerSocket mark = testing::connect_to(port());
  mark.send(kMark);
  mark.read_to_end();
  std::unique_lock lock(mutex_);
  const auto all_served = [this, accepted = peer_.connections()] { return served_ >= accepted; };
  changed_.wait(lock, all_served);
  for (testing::PeerSocket* peer : open_)
    peer->finish();
  const auto all_closed = [this] { return open_.empty(); };
  if (!changed_.wait_for(lock, kHangUpLimit, all_closed)) {
    for (testing::PeerSocket* peer : open_)
      peer->shut_down();
    changed_.wait(lock, all_closed);
  }
  // Which of several was complete first is chance where one never is.
  std::stable_partition(requests_.begin(), requests_.end(),
                        [](const Message& request) { return request.complete; });
  return requests_;
}

OriginScript::Answer RecordingOrigin::record(const Message& request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(request);
  const std::size_t index = requests_.size() - 1;
  if (index < script_.answers.size()) return script_.answers[index];
  return usual_answer(request);
}

// False once the connection is not read any more.
bool RecordingOrigin::answer(testing::PeerSocket& peer, const OriginScript::Answer& answer) {
  std::string_view bytes = answer.bytes;
  std::string end;
  if (!answer.behind.empty()) {
    end = bytes.back() + answer.behind;
    bytes.remove_suffix(1);
  }
  send_pieces(bytes, sending_, [&](std::string_view piece) { return peer.send(piece); });
  if (!end.empty()) peer.send(end);
  if (!answer.later.empty()) {
    std::this_thread::sleep_for(kMoment);
    peer.send(answer.later);
  }
  if (answer.after == OriginScript::After::keep) return true;
  if (answer.after == OriginScript::After::close) {
    peer.finish();
    peer.read_to_end();
    return false;
  }
  // A reset overtakes what has not been read.
  if (!answer.bytes.empty()) std::this_thread::sleep_for(kMoment);
  const std::lock_guard lock(mutex_);
  peer.reset();
  return false;
}

void RecordingOrigin::serve(testing::PeerSocket& peer) {
  {
    const std::lock_guard lock(mutex_);
    open_.push_back(&peer);
    ++served_;
    changed_.notify_all();
  }
  std::string unread;
  bool continued = false;  // 100 is said once a request
  bool answered = false;   // the request that is being read
  bool reads = true;
  while (reads) {
    const std::string some = peer.read_some();
    if (some.empty() || some == kMark) break;
    unread += some;
    while (reads) {
      Message request = read_message(unread, Kind::request, false);
      const bool early = script_.early && request.has_head;
      if (!request.complete && !early) {
        if (request.has_head && !continued && !request.value("expect").empty()) {
          peer.send("HTTP/1.1 100 Continue\r\n\r\n");
          continued = true;
        }
        break;
      }
      // How much of the body came before the answer is chance.
      if (!request.complete) request.body.clear();
      if (!answered) reads = answer(peer, record(request));
      answered = !request.complete;
      if (!request.complete) break;
      unread.erase(0, request.size);
      continued = false;
    }
  }
  const std::lock_guard lock(mutex_);
  if (!unread.empty() && !answered) requests_.push_back(read_message(unread, Kind::request, false));
  open_.remove(&peer);
  changed_.notify_all();
}

}  // namespace gatedrill::differential
