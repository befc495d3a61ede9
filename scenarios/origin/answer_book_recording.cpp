#include "scenarios/origin/answer_book.hpp"

namespace gatedrill::scenarios {

Result<AnswerBook> AnswerBook::from(const replay::Recording& recording) {
  AnswerBook book;
  const Result<void> read = recording.for_each([&](const replay::RecordedExchange& exchange) {
    book.add(exchange);
    return true;
  });
  if (!read) return read.error();
  return book;
}

}  // namespace gatedrill::scenarios
