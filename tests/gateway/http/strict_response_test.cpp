// Gateway reference 2.8 and 2.5, the response side, row by row: what an upstream's bytes are read
// as, and whether its connection may carry another request.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gateway/http/wire.hpp"

namespace gatedrill::http {
namespace {

using namespace std::string_literals;

struct Row {
  std::string name;
  std::string_view why;
  std::string bytes;
  std::string story;  // wire.hpp says how it is told
  std::string_view method = "GET";
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name << ": " << row.why;
}

const std::string kOk = "HTTP/1.1 200 OK\r\n";
const std::string kLength = kOk + "Content-Length: 5\r\n";
const std::string kNext = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";

const std::vector<Row> kSound = {
    {"length", "ends where it says", kLength + "\r\nhello", "200 'hello' keep"},
    {"no_content", "ends at once", kOk + "Content-Length: 0\r\n\r\n", "200 '' keep"},
    {"chunks", "end with the last",
     kOk + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "200 'hello' keep"},
    {"until_close", "ends with the connection, which is not kept", kOk + "\r\nhello",
     "200 'hello' close"},
    {"connection_close", "the upstream's word", kLength + "Connection: close\r\n\r\nhello",
     "200 'hello' close"},
    {"connection_close_in_a_list", "the same", kLength + "Connection: x, Close\r\n\r\nhello",
     "200 'hello' close"},
    {"http10", "closes unless it says otherwise",
     "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", "200 'hello' close"},
    {"http10_keep_alive", "it says otherwise",
     "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello",
     "200 'hello' keep"},
    {"http10_keep_alive_and_close", "close wins",
     "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive, close\r\n\r\nhello",
     "200 'hello' close"},
    {"empty_reason", "the space is there", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n",
     "200 '' keep"},
    {"continue", "not the answer yet", "HTTP/1.1 100 Continue\r\n\r\n" + kLength + "\r\nhello",
     "100 | 200 'hello' keep"},
    {"continue_twice", "double 100: still not the answer",
     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + kLength + "\r\nhello",
     "100 | 100 | 200 'hello' keep"},
    {"early_hints", "not the answer yet",
     "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + kLength + "\r\nhello",
     "103 | 200 'hello' keep"},
    {"trailer", "read, and told by name",
     kOk + "Transfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 1\r\n\r\n", "200 +X-Sum '' keep"},
};

const std::vector<Row> kBodiless = {
    {"head", "no body whatever the fields say", kLength + "\r\n", "200 '' keep", "HEAD"},
    {"head_chunked", "the same", kOk + "Transfer-Encoding: chunked\r\n\r\n", "200 '' keep", "HEAD"},
    {"head_with_a_body", "bytes that nobody asked for: the connection is not kept",
     kLength + "\r\nhello", "200 '' close", "HEAD"},
    {"connect", "a tunnel would begin", kOk + "\r\n", "200 '' keep", "CONNECT"},
    {"no_content", "no body", "HTTP/1.1 204 No Content\r\n\r\n", "204 '' keep"},
    {"no_content_zero", "says so once more", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
     "204 '' keep"},
    {"no_content_with_bytes", "unread bytes", "HTTP/1.1 204 No Content\r\n\r\nhello",
     "204 '' close"},
    {"no_content_with_a_length", "announces bytes that may still come",
     "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "204 '' close"},
    {"no_content_chunked", "the same",
     "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "204 '' close"},
    {"reset_content", "no body; without a length its end is the connection's",
     "HTTP/1.1 205 Reset Content\r\n\r\n", "205 '' close"},
    {"reset_content_zero", "no body, as it says",
     "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", "205 '' keep"},
    {"reset_content_with_a_body", "is not passed",
     "HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello", "205 '' close"},
    {"not_modified", "no body; the length is the one it would have",
     "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "304 '' keep"},
    {"not_modified_with_bytes", "unread bytes",
     "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello", "304 '' close"},
};

const std::vector<Row> kMalformed = {
    {"gzip_and_length", "Beast frames by the length",
     kLength + "Transfer-Encoding: gzip\r\n\r\nhello", "502 length_and_coding close"},
    {"chunked_and_length", "which one?",
     kOk + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello",
     "502 length_and_coding close"},
    {"length_twice", "Beast takes it", kLength + "Content-Length: 5\r\n\r\nhello",
     "502 repeated_content_length close"},
    {"length_list", "which one?", kOk + "Content-Length: 5, 5\r\n\r\nhello",
     "502 bad_content_length close"},
    {"length_with_a_sign", "no length", kOk + "Content-Length: +5\r\n\r\nhello",
     "502 bad_content_length close"},
    {"length_negative", "no length", kOk + "Content-Length: -1\r\n\r\n",
     "502 bad_content_length close"},
    {"gzip", "to the end of the connection, and coded",
     kOk + "Transfer-Encoding: gzip\r\n\r\nhello", "502 unknown_coding close"},
    {"chunked_twice", "coded twice", kOk + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
     "502 chunked_not_last close"},
    {"chunked_not_last", "to the end of the connection",
     kOk + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", "502 chunked_not_last close"},
    {"http10_chunked", "HTTP/1.0 has no codings",
     "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "502 coding_in_http10 close"},
    {"status_099", "Beast takes it", "HTTP/1.1 099 x\r\n\r\n", "502 bad_status close"},
    {"status_999", "Beast takes it", "HTTP/1.1 999 x\r\n\r\n", "502 bad_status close"},
    {"status_of_two_digits", "no status", "HTTP/1.1 20 OK\r\n\r\n", "502 bad_status close"},
    {"status_of_four_digits", "no status", "HTTP/1.1 2000 OK\r\n\r\n", "502 bad_status close"},
    {"no_space_behind_the_status", "RFC 9112 4: it is there even without a reason",
     "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "502 bad_start_line close"},
    {"two_spaces", "no status", "HTTP/1.1  200 OK\r\n\r\n", "502 bad_status close"},
    {"no_status", "no status line", "HTTP/1.1\r\n\r\n", "502 bad_start_line close"},
    {"http12", "not a version that we speak", "HTTP/1.2 200 OK\r\n\r\n", "502 bad_version close"},
    {"http2", "an upstream of HTTP/2", "\x00\x00\x12\x04\x00"s, "502 bad_version close"},
    {"tls_alert", "an upstream of TLS", "\x15\x03\x01\x00\x02\x02\x46"s, "502 bad_version close"},
    {"ssh", "another server altogether, which then waits", "SSH-2.0-x\r\n",
     "502 bad_version close"},
    {"leading_empty_line", "only requests may have one (RFC 9112 2.2)",
     "\r\n" + kLength + "\r\nhello", "502 bad_version close"},
    {"body_without_a_head", "HTTP/0.9", "<html>", "502 bad_version close"},
    {"obs_fold", "a hop that unfolds sees another head", kLength + "X: a\r\n b\r\n\r\nhello",
     "502 obs_fold close"},
    {"bare_lf", "one parser's line end", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
     "502 bare_lf close"},
    {"bare_cr", "the same", kLength + "X: a\rSet-Cookie: b\r\n\r\nhello", "502 bare_cr close"},
    {"nul", "no byte of a value", kLength + "X: a\0\r\n\r\nhello"s, "502 nul_byte close"},
    {"control_in_the_reason", "no byte of a reason", "HTTP/1.1 200 O\x01K\r\n\r\n",
     "502 control_byte close"},
    {"space_before_the_colon", "RFC 9112 5.1", kOk + "Content-Length : 5\r\n\r\nhello",
     "502 space_before_colon close"},
    {"space_before_the_first_field", "seen by one hop only",
     kOk + " Content-Length: 5\r\n\r\nhello", "502 first_line_space close"},
    {"continue_with_a_length", "a hop that reads that body takes the answer for it",
     "HTTP/1.1 100 Continue\r\nContent-Length: 49\r\n\r\n" + kLength + "\r\nhello",
     "502 framed_interim close"},
    {"early_hints_chunked", "the same",
     "HTTP/1.1 103 x\r\nTransfer-Encoding: chunked\r\n\r\n" + kLength, "502 framed_interim close"},
};

// Response-queue poisoning, and bodies that do not end as they should: nothing of it is left to
// the connection's next request.
const std::vector<Row> kAfter = {
    {"another_answer", "nobody has asked", kLength + "\r\nhello" + kNext, "200 'hello' close"},
    {"another_answer_after_chunks", "the same",
     kOk + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + kNext, "200 '' close"},
    {"one_byte_more", "one is enough", kLength + "\r\nhello\n", "200 'hello' close"},
    {"cut_short", "the length is not reached", kLength + "\r\nhel", "200 'hel' cut close"},
    {"chunks_cut_short", "no last chunk", kOk + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
     "200 'hello' cut close"},
    {"trailer_cut_short", "no end", kOk + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n",
     "200 +X '' cut close"},
    {"bad_chunk", "no size", kOk + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
     "200 'hello' malformed_body close"},
    {"bad_trailer", "no field", kOk + "Transfer-Encoding: chunked\r\n\r\n0\r\nX\r\n\r\n",
     "200 '' malformed_body close"},
    {"nothing", "closed before it said anything", "", "... close"},
    {"half_a_head", "closed too early", kLength, "... close"},
    {"only_a_continue", "closed before the answer", "HTTP/1.1 100 Continue\r\n\r\n",
     "100 | ... close"},
};

class ResponseRow : public testing::TestWithParam<Row> {};

TEST_P(ResponseRow, IsReadAsToldHoweverItIsCut) {
  const Row& row = GetParam();
  EXPECT_EQ(wire::read_response(row.bytes, row.method), row.story) << row.why;
  for (const wire::Ends& ends : wire::every_split(row.bytes.size())) {
    ASSERT_EQ(wire::read_response(row.bytes, row.method, ends), row.story)
        << row.why << ", first cut at " << (ends.empty() ? 0 : ends.front());
  }
}

std::string name_of(const testing::TestParamInfo<Row>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Sound, ResponseRow, testing::ValuesIn(kSound), name_of);
INSTANTIATE_TEST_SUITE_P(Bodiless, ResponseRow, testing::ValuesIn(kBodiless), name_of);
INSTANTIATE_TEST_SUITE_P(Malformed, ResponseRow, testing::ValuesIn(kMalformed), name_of);
INSTANTIATE_TEST_SUITE_P(After, ResponseRow, testing::ValuesIn(kAfter), name_of);

}  // namespace
}  // namespace gatedrill::http
