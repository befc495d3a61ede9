// Gateway reference 2.8, the request side, row by row: what a connection's bytes are read as, and
// why. Where two parsers could disagree on where a request ends, or on whom it is for, it is
// refused and nothing more is read from the connection.
#include <algorithm>
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
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name << ": " << row.why;
}

// Heads up to their first own field.
const std::string kPost = "POST / HTTP/1.1\r\nHost: a\r\n";
const std::string kGet = "GET / HTTP/1.1\r\nHost: a\r\n";
const std::string kTrace = "TRACE / HTTP/1.1\r\nHost: a\r\n";
const std::string kOptions = "OPTIONS / HTTP/1.1\r\nHost: a\r\n";
// What an attacker would have read as the next request.
const std::string kNext = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n";

std::string chunked(const std::string& chunks) {
  return kPost + "Transfer-Encoding: chunked\r\n\r\n" + chunks + kNext;
}

const std::vector<Row> kFraming = {
    {"length", "a body by its length, then the next request",
     kPost + "Content-Length: 5\r\n\r\nhello" + kNext, "POST / 'hello' | GET /next ''"},
    {"length_zero", "no body is no body", kPost + "Content-Length: 0\r\n\r\n" + kNext,
     "POST / '' | GET /next ''"},
    {"length_with_zeros", "leading zeros change nothing; it is written anew",
     kPost + "Content-Length: 0005\r\n\r\nhello" + kNext, "POST / 'hello' | GET /next ''"},
    {"chunks", "chunks, their extensions and a trailer are taken off",
     chunked("5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX-Sum: 1\r\n\r\n"),
     "POST / +X-Sum 'hello!' | GET /next ''"},
    {"chunked_in_capitals", "coding names ignore case",
     kPost + "Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n" + kNext, "POST / '' | GET /next ''"},
    {"gzip_then_length", "Beast frames by the length and keeps both",
     kPost + "Transfer-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", "400 length_and_coding"},
    {"identity_then_length", "the same with identity",
     kPost + "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
     "400 length_and_coding"},
    {"xchunked_then_length", "the same with a coding that looks like chunked",
     kPost + "Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\nhello",
     "400 length_and_coding"},
    {"quoted_chunked_then_length", "the same with quotes",
     kPost + "Transfer-Encoding: \"chunked\"\r\nContent-Length: 5\r\n\r\nhello",
     "400 length_and_coding"},
    {"chunked_identity_then_length", "the same with chunked first",
     kPost + "Transfer-Encoding: chunked, identity\r\nContent-Length: 5\r\n\r\nhello",
     "400 length_and_coding"},
    {"empty_coding_then_length", "a Transfer-Encoding is one even if empty",
     kPost + "Transfer-Encoding:\r\nContent-Length: 5\r\n\r\nhello", "400 length_and_coding"},
    {"length_then_gzip", "the order of the two makes no difference",
     kPost + "Content-Length: 5\r\nTransfer-Encoding: gzip\r\n\r\nhello", "400 length_and_coding"},
    {"gzip_alone", "Beast reads no body; what follows would be the next request",
     kPost + "Transfer-Encoding: gzip\r\n\r\n" + kNext, "501 unknown_coding"},
    {"identity_alone", "RFC 9112 has no identity any more",
     kPost + "Transfer-Encoding: identity\r\n\r\n" + kNext, "501 unknown_coding"},
    {"xchunked_alone", "not chunked", kPost + "Transfer-Encoding: xchunked\r\n\r\n" + kNext,
     "501 unknown_coding"},
    {"gzip_with_parameters", "a coding with parameters is unknown all the same",
     kPost + "Transfer-Encoding: gzip;level=9\r\n\r\n" + kNext, "501 unknown_coding"},
    {"gzip_and_chunked", "we could frame it, but not undo the gzip for an upstream without it",
     kPost + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501 unknown_coding"},
    {"gzip_line_and_chunked_line", "the same on two lines",
     kPost + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "501 unknown_coding"},
    {"chunked_twice", "Beast reads no body", kPost + "Transfer-Encoding: chunked, chunked\r\n\r\n",
     "400 chunked_not_last"},
    {"chunked_on_two_lines", "the same",
     kPost + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "400 chunked_not_last"},
    {"chunked_not_last", "the end of the body would be the connection's",
     kPost + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", "400 chunked_not_last"},
    {"length_list", "one hop takes the first, another the last",
     kPost + "Content-Length: 5, 5\r\n\r\nhello", "400 bad_content_length"},
    {"length_twice", "the same length twice may be two by the next hop's reading",
     kPost + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "400 repeated_content_length"},
    {"two_lengths", "the classic", kPost + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
     "400 repeated_content_length"},
    {"length_twice_in_other_case", "names ignore case",
     kPost + "Content-Length: 5\r\ncontent-length: 0\r\n\r\nhello", "400 repeated_content_length"},
    {"length_plus", "some parsers take a sign", kPost + "Content-Length: +5\r\n\r\nhello",
     "400 bad_content_length"},
    {"length_minus", "some wrap", kPost + "Content-Length: -1\r\n\r\n", "400 bad_content_length"},
    {"length_hex", "some take hexadecimal", kPost + "Content-Length: 0x5\r\n\r\nhello",
     "400 bad_content_length"},
    {"length_empty", "some take it for zero", kPost + "Content-Length:\r\n\r\n",
     "400 bad_content_length"},
    {"length_with_space", "some stop at the space", kPost + "Content-Length: 5 5\r\n\r\nhello",
     "400 bad_content_length"},
    {"length_fraction", "some stop at the point", kPost + "Content-Length: 5.0\r\n\r\nhello",
     "400 bad_content_length"},
    {"length_2_63", "some have 63 bits", kPost + "Content-Length: 9223372036854775808\r\n\r\n",
     "400 bad_content_length"},
    {"length_2_64", "some wrap round to zero",
     kPost + "Content-Length: 18446744073709551616\r\n\r\n", "400 bad_content_length"},
    {"http10_chunked", "HTTP/1.0 has no codings: its framing is faulty (RFC 9112 6.1)",
     "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 coding_in_http10"},
    {"underscore_length", "a name of its own: it frames nothing, and it does not pass",
     kPost + "Content_Length: 5\r\n\r\n" + kNext, "POST / '' | GET /next ''"},
    {"get_with_a_body", "framed like any other, never read as the next request",
     kGet + "Content-Length: 5\r\n\r\nhello" + kNext, "GET / 'hello' | GET /next ''"},
    {"length_cut", "a body that does not come whole is not passed off as one",
     kPost + "Content-Length: 5\r\n\r\nhel", "POST / 'hel' ..."},
};

const std::vector<Row> kLines = {
    {"leading_empty_lines", "RFC 9112 2.2: ignored before a request line",
     "\r\n\r\n" + kGet + "\r\n", "GET / ''"},
    {"bare_lf_after_the_request_line", "one parser's line end is another's byte",
     "GET / HTTP/1.1\nHost: a\r\n\r\n", "400 bare_lf"},
    {"bare_lf_after_a_field", "the same", "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", "400 bare_lf"},
    {"bare_lf_at_the_end", "the same", "GET / HTTP/1.1\r\nHost: a\r\n\n", "400 bare_lf"},
    {"bare_cr_in_a_value", "some take it for a line end", kGet + "X: a\rb\r\n\r\n", "400 bare_cr"},
    {"two_cr", "the same", kGet + "X: a\r\r\n\r\n", "400 bare_cr"},
    {"nul_in_a_value", "some end the text there", kGet + "X: a\0b\r\n\r\n"s, "400 nul_byte"},
    {"control_in_a_value", "no control bytes but tabs", kGet + "X: a\x01\r\n\r\n",
     "400 control_byte"},
    {"delete_in_a_value", "DEL is one of them", kGet + "X: a\x7f\r\n\r\n", "400 control_byte"},
    {"tab_and_obs_text_in_a_value", "allowed, and passed as they are", kGet + "X: a\tb\xff\r\n\r\n",
     "GET / ''"},
    {"obs_fold", "a hop that unfolds and one that does not see two heads",
     kGet + "X: a\r\n b\r\n\r\n", "400 obs_fold"},
    {"obs_fold_of_a_coding", "hides it from the other hop",
     kPost + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", "400 obs_fold"},
    {"obs_fold_of_a_length", "the same", kPost + "Content-Length: 5\r\n 0\r\n\r\nhello",
     "400 obs_fold"},
    {"space_before_the_colon", "RFC 9112 5.1: refused, always",
     kPost + "Content-Length : 5\r\n\r\nhello", "400 space_before_colon"},
    {"tab_before_the_colon", "the same", kPost + "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n",
     "400 space_before_colon"},
    {"space_before_the_first_field", "some skip the line, some take it",
     "GET / HTTP/1.1\r\n Host: a\r\n\r\n", "400 first_line_space"},
    {"no_colon", "no field", kGet + "nothing\r\n\r\n", "400 missing_colon"},
    {"empty_name", "no field", kGet + ": a\r\n\r\n", "400 bad_field_name"},
    {"space_in_a_name", "no token", kGet + "X Y: a\r\n\r\n", "400 bad_field_name"},
    {"nul_in_a_name", "no token", kGet + "X\0Y: a\r\n\r\n"s, "400 bad_field_name"},
    {"two_spaces", "what is the target?", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "400 bad_target"},
    {"space_in_the_target", "what is the version?", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
     "400 bad_target"},
    {"tab_for_a_space", "the parts are divided by spaces", "GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n",
     "400 bad_method"},
    {"fragment", "never sent (RFC 9112 3.2); one hop cuts it off",
     "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", "400 bad_target"},
    {"raw_ff_in_the_target", "bytes beyond ASCII are to be encoded",
     "GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", "400 bad_target"},
    {"control_in_the_target", "no control bytes", "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n",
     "400 bad_target"},
    {"lower_case_method", "a method of its own: methods have a case",
     "get / HTTP/1.1\r\nHost: a\r\n\r\n", "get / ''"},
    {"method_no_token", "no method", "G@T / HTTP/1.1\r\nHost: a\r\n\r\n", "400 bad_method"},
    {"space_before_the_method", "no request line", " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
     "400 bad_method"},
    {"tls_on_a_plain_port", "refused at the first byte: a line end may never come",
     "\x16\x03\x01\x02\x00\x01"s, "400 bad_method"},
    {"http12", "not a version that we speak", "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
     "400 bad_version"},
    {"http2_preface", "HTTP/2 without having agreed on it", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
     "400 bad_version"},
    {"http09", "answered at the end of its line, not when patience ends", "GET /\r\n",
     "400 bad_start_line"},
    {"space_behind_the_version", "no version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
     "400 bad_version"},
    {"version_in_lower_case", "no version", "GET / http/1.1\r\nHost: a\r\n\r\n", "400 bad_version"},
};

const std::vector<Row> kHosts = {
    {"no_host", "RFC 9112 3.2", "GET / HTTP/1.1\r\n\r\n", "400 missing_host"},
    {"no_host_in_http10", "HTTP/1.0 has none", "GET / HTTP/1.0\r\n\r\n", "GET / '' close"},
    {"empty_host", "nobody's in particular, as RFC 9112 3.2 allows",
     "GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET / ''"},
    {"two_hosts", "one hop routes by the first, another by the last",
     "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400 repeated_host"},
    {"host_twice", "the same, even if equal", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n",
     "400 repeated_host"},
    {"host_list", "the same on one line", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "400 bad_host"},
    {"host_with_a_path", "no host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "400 bad_host"},
    {"host_with_a_user", "no host", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "400 bad_host"},
    {"host_with_a_bad_port", "no port", "GET / HTTP/1.1\r\nHost: a:80x\r\n\r\n", "400 bad_host"},
    {"host_with_two_colons", "IPv6 goes in brackets", "GET / HTTP/1.1\r\nHost: ::1\r\n\r\n",
     "400 bad_host"},
    {"host_of_ipv6", "in brackets", "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "GET / ''"},
    {"host_of_open_brackets", "no address", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", "400 bad_host"},
    {"host_beyond_ascii", "a name has none", "GET / HTTP/1.1\r\nHost: \xc3\xa9\r\n\r\n",
     "400 bad_host"},
    {"absolute_form", "its authority wins over Host, and is written as Host",
     "GET http://other:81/x HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://other:81/x ''"},
    {"absolute_form_without_host", "Host is wanted all the same", "GET http://h/ HTTP/1.1\r\n\r\n",
     "400 missing_host"},
    {"absolute_form_with_a_user", "no authority of http",
     "GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n", "400 bad_target"},
    {"absolute_form_without_an_authority", "for whom?", "GET http:///x HTTP/1.1\r\nHost: h\r\n\r\n",
     "400 bad_target"},
    {"absolute_form_of_another_scheme", "we speak http",
     "GET ftp://h/x HTTP/1.1\r\nHost: h\r\n\r\n", "400 bad_target"},
    {"target_of_no_form", "neither path nor absolute", "GET foo HTTP/1.1\r\nHost: a\r\n\r\n",
     "400 bad_target"},
    {"asterisk_of_another_method", "only OPTIONS asks the server",
     "GET * HTTP/1.1\r\nHost: a\r\n\r\n", "400 bad_target"},
    {"asterisk", "OPTIONS asks the server", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
     "OPTIONS * ''"},
    {"connect", "no tunnels", "CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\n\r\n", "405 connect"},
};

// Each with the bytes that would be the smuggled request, had we read as the other hop does.
const std::vector<Row> kDesync = {
    {"cl_te", "the front by length, the back by chunks",
     kPost + "Content-Length: 36\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + kNext,
     "400 length_and_coding"},
    {"te_cl", "the front by chunks, the back by length",
     kPost + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n1f\r\n" + kNext +
         "\r\n0\r\n\r\n",
     "400 length_and_coding"},
    {"te_te_quoted", "a coding that one of two parsers knows",
     kPost + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n" + kNext, "400 bad_coding"},
    {"te_te_single_quoted", "the same; quotes of this kind are token characters",
     kPost + "Transfer-Encoding: 'chunked'\r\n\r\n0\r\n\r\n" + kNext, "501 unknown_coding"},
    {"te_te_parameter", "the same",
     kPost + "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n" + kNext, "400 bad_coding"},
    {"te_te_two_words", "the same", kPost + "Transfer-Encoding: chunked chunked\r\n\r\n0\r\n\r\n",
     "400 bad_coding"},
    {"te_te_vertical_tab", "the same",
     kPost + "Transfer-Encoding: \x0b"
             "chunked\r\n\r\n0\r\n\r\n",
     "400 control_byte"},
    {"te_te_form_feed_behind", "the same",
     kPost + "Transfer-Encoding: chunked\x0c\r\n\r\n0\r\n\r\n", "400 control_byte"},
    {"te_te_nbsp", "the same with a space beyond ASCII",
     kPost + "Transfer-Encoding: \xa0"
             "chunked\r\n\r\n0\r\n\r\n",
     "400 bad_coding"},
    {"te_te_empty", "an empty list: chunked to none, but no length either",
     kPost + "Transfer-Encoding:\r\n\r\n0\r\n\r\n", "400 bad_coding"},
    {"te_te_comma_first", "an empty element",
     kPost + "Transfer-Encoding: , chunked\r\n\r\n0\r\n\r\n", "400 bad_coding"},
    {"te_te_comma_last", "an empty element", kPost + "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n",
     "400 bad_coding"},
    {"te_te_cow", "a second line that hides the first",
     kPost + "Transfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\n\r\n0\r\n\r\n",
     "400 chunked_not_last"},
    {"te_te_cow_first", "the same the other way round",
     kPost + "Transfer-Encoding: cow\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "501 unknown_coding"},
    {"te_te_tab_in_the_value", "white space around a value is taken off",
     kPost + "Transfer-Encoding:\tchunked\t\r\n\r\n0\r\n\r\n" + kNext, "POST / '' | GET /next ''"},
    {"te_te_bare_lf_before", "a field hidden behind a bare LF",
     kPost + "X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 bare_lf"},
    {"te_te_underscore", "a name that some read with a dash does not frame, and does not pass",
     kPost + "Transfer_Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello" + kNext,
     "POST / 'hello' | GET /next ''"},
    {"cl_0", "a back end that ignores the length: its next request would be in our body",
     kPost + "Content-Length: 31\r\n\r\n" + kNext + kNext,
     "POST / 'GET /next HTTP/1.1\r\nHost: a\r\n\r\n' | GET /next ''"},
    {"zero_cl", "a front that ignores the length: we do not",
     kGet + "Content-Length: 31\r\n\r\n" + kNext, "GET / 'GET /next HTTP/1.1\r\nHost: a\r\n\r\n'"},
    {"te_0", "a back end that ignores chunks: ours hold the smuggled request as a body",
     chunked("1f\r\n" + kNext + "\r\n0\r\n\r\n"),
     "POST / 'GET /next HTTP/1.1\r\nHost: a\r\n\r\n' | GET /next ''"},
    {"expect_obfuscated", "a hop that sees 100-continue waits, one that does not reads on",
     kPost + "Expect: y 100-continue\r\nContent-Length: 5\r\n\r\nhello", "417 unknown_expectation"},
    {"expect_list", "the same", kPost + "Expect: 100-continue, x\r\nContent-Length: 5\r\n\r\nhello",
     "417 unknown_expectation"},
    {"expect_twice", "one answer or two?",
     kPost + "Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
     "417 unknown_expectation"},
    {"expect_on_get", "a length on a GET that waits is framed as ever",
     kGet + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello" + kNext,
     "GET / 'hello' | GET /next ''"},
    {"expect_of_http10", "HTTP/1.0 cannot wait: ignored (RFC 9110 10.1.1)",
     "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
     "POST / 'hello' close"},
    {"hidden_by_a_space", "a first line with a space: the field is seen by one hop only",
     "POST / HTTP/1.1\r\n Content-Length: 5\r\nHost: a\r\n\r\nhello", "400 first_line_space"},
    {"hidden_by_a_fold", "the same further down", kPost + "X: y\r\n Content-Length: 5\r\n\r\nhello",
     "400 obs_fold"},
    {"hidden_by_a_bad_name", "a name that one hop skips", kPost + "Content-Length\0: 5\r\n\r\n"s,
     "400 bad_field_name"},
    {"hidden_by_a_cr", "a CR in a name", kPost + "\rContent-Length: 5\r\n\r\nhello",
     "400 bad_field_name"},
    {"hop_by_hop_host", "would take Host from the next hop",
     kGet + "Connection: close, Host\r\n\r\n", "400 protected_connection_option"},
    {"hop_by_hop_length", "would take the length",
     kPost + "Connection: Content-Length\r\nContent-Length: 5\r\n\r\nhello",
     "400 protected_connection_option"},
    {"hop_by_hop_coding", "would take the coding",
     kPost + "Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "400 protected_connection_option"},
    {"hop_by_hop_authorization", "would take who asks", kGet + "Connection: Authorization\r\n\r\n",
     "400 protected_connection_option"},
    {"hop_by_hop_cookie", "the same", kGet + "Connection: cookie\r\n\r\n",
     "400 protected_connection_option"},
    {"hop_by_hop_forwarded_for", "would take the chain of addresses",
     kGet + "Connection: X-Forwarded-For\r\n\r\n", "400 protected_connection_option"},
    {"hop_by_hop_forwarded", "the same", kGet + "Connection: forwarded\r\n\r\n",
     "400 protected_connection_option"},
    {"hop_by_hop_of_its_own", "what Connection is for",
     kGet + "Connection: X-Mine\r\nX-Mine: 1\r\n\r\n", "GET / ''"},
    {"pipelined", "one after another, each on its own", kNext + kNext,
     "GET /next '' | GET /next ''"},
    {"trace_with_a_body", "RFC 9110 9.3.8: none; a hop may not look for one",
     kTrace + "Content-Length: 5\r\n\r\nhello", "400 trace_body"},
    {"max_forwards_twice", "how many?", kOptions + "Max-Forwards: 1\r\nMax-Forwards: 0\r\n\r\n",
     "400 bad_max_forwards"},
    {"max_forwards_no_number", "how many?", kTrace + "Max-Forwards: 1x\r\n\r\n",
     "400 bad_max_forwards"},
    {"max_forwards_of_get", "means nothing there", kGet + "Max-Forwards: 1x\r\n\r\n", "GET / ''"},
};

// A body that is wrong ends the connection: nobody knows where the next request begins.
const std::vector<Row> kChunks = {
    {"size_in_capitals", "hexadecimal", chunked("A\r\n0123456789\r\n0\r\n\r\n"),
     "POST / '0123456789' | GET /next ''"},
    {"size_with_a_prefix", "some take 0x", chunked("0x5\r\nhello\r\n0\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"size_with_a_sign", "some take a sign", chunked("+5\r\nhello\r\n0\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"size_negative", "some wrap", chunked("-1\r\nhello\r\n0\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"size_missing", "no size", chunked("\r\nhello\r\n0\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"size_of_16_digits", "leading zeros up to sixteen",
     chunked("0000000000000005\r\nhello\r\n0\r\n\r\n"), "POST / 'hello' | GET /next ''"},
    {"size_of_17_digits", "some count only the last sixteen",
     chunked("00000000000000005\r\nhello\r\n0\r\n\r\n"), "POST / '' | 400 malformed_body"},
    {"size_beyond_64_bits", "some wrap round", chunked("10000000000000005\r\nhello\r\n0\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"size_of_64_bits", "no body is that long", chunked("FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"space_before_the_size", "no digit", chunked(" 5\r\nhello\r\n0\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"extension", "read over", chunked("5;a;b=c;d=\"e;f\"\r\nhello\r\n0\r\n\r\n"),
     "POST / 'hello' | GET /next ''"},
    {"extension_without_a_name", "no extension", chunked("5;\r\nhello\r\n0\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"extension_open_quotes", "some look for the end on the next line",
     chunked("5;a=\"\r\nhello\r\n0\r\n\r\n"), "POST / '' | 400 malformed_body"},
    {"extension_of_other_bytes", "no extension", chunked("5;a=b c\r\nhello\r\n0\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"lf_in_an_extension", "TERM.EXT: some end the line there",
     chunked("5;a\nb\r\nhello\r\n0\r\n\r\n"), "POST / '' | 400 malformed_body"},
    {"cr_in_an_extension", "EXT.TERM: the same with CR", chunked("5;a\rb\r\nhello\r\n0\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"nul_in_an_extension", "no extension", chunked("5;a\0b\r\nhello\r\n0\r\n\r\n"s),
     "POST / '' | 400 malformed_body"},
    {"more_than_its_size", "the rest is no line end", chunked("5\r\nhello!\r\n0\r\n\r\n"),
     "POST / 'hello' | 400 malformed_body"},
    {"less_than_its_size", "the line end is data then", chunked("8\r\nhello\r\n0\r\n\r\n"),
     "POST / 'hello\r\n0' | 400 malformed_body"},
    {"trailer", "read, and told by name", chunked("0\r\nX-A: 1\r\nX-B: 2\r\n\r\n"),
     "POST / +X-A +X-B '' | GET /next ''"},
    {"trailer_of_framing", "frames nothing there", chunked("0\r\nContent-Length: 31\r\n\r\n"),
     "POST / +Content-Length '' | GET /next ''"},
    {"trailer_folded", "as in a head", chunked("0\r\nX: a\r\n b\r\n\r\n"),
     "POST / +X '' | 400 malformed_body"},
    {"trailer_without_a_colon", "as in a head", chunked("0\r\nnothing\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"trailer_with_a_space_before_the_colon", "as in a head", chunked("0\r\nX : a\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"trailer_with_a_bad_name", "as in a head", chunked("0\r\nX Y: a\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"trailer_with_a_nul", "as in a head", chunked("0\r\nX: a\0\r\n\r\n"s),
     "POST / '' | 400 malformed_body"},
    {"trailer_with_a_bare_lf", "as in a head", chunked("0\r\nX: a\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"trailer_with_a_bare_cr", "as in a head", chunked("0\r\nX: a\rb\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
};

// One for each leniency that llhttp can be switched to; all are off.
const std::vector<Row> kLeniencies = {
    {"headers", "control bytes in values", kGet + "X: a\x02\r\n\r\n", "400 control_byte"},
    {"chunked_length", "a length beside chunked",
     kPost + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "400 length_and_coding"},
    {"keep_alive", "a request after one that closes", kGet + "Connection: close\r\n\r\n" + kNext,
     "GET / '' close"},
    {"transfer_encoding", "a coding behind chunked",
     kPost + "Transfer-Encoding: chunked, deflate\r\n\r\n0\r\n\r\n", "400 chunked_not_last"},
    {"version", "a version of another number", "GET / HTTP/0.9\r\nHost: a\r\n\r\n",
     "400 bad_version"},
    {"data_after_close", "bytes after a request that closes",
     kPost + "Connection: close\r\nContent-Length: 5\r\n\r\nhelloworld", "POST / 'hello' close"},
    {"optional_lf_after_cr", "CR alone ends a line", "GET / HTTP/1.1\rHost: a\r\r", "..."},
    {"optional_cr_before_lf", "LF alone ends a line", "GET / HTTP/1.1\nHost: a\n\n", "400 bare_lf"},
    {"optional_crlf_after_chunk", "no line end behind a chunk's data",
     chunked("5\r\nhello0\r\n\r\n"), "POST / 'hello' | 400 malformed_body"},
    {"optional_cr_after_chunk", "LF alone behind it", chunked("5\r\nhello\n0\r\n\r\n"),
     "POST / 'hello' | 400 malformed_body"},
    {"spaces_after_chunk_size", "a space behind the size", chunked("5 \r\nhello\r\n0\r\n\r\n"),
     "POST / '' | 400 malformed_body"},
    {"spaces_before_extension", "a space before the semicolon",
     chunked("5 ;a\r\nhello\r\n0\r\n\r\n"), "POST / '' | 400 malformed_body"},
    {"header_value_relaxed", "every control byte but CR, LF and NUL", kGet + "X: \x7f\r\n\r\n",
     "400 control_byte"},
};

class RequestRow : public testing::TestWithParam<Row> {};

TEST_P(RequestRow, IsReadAsToldHoweverItIsCut) {
  const Row& row = GetParam();
  const wire::Reading whole = wire::read_requests(row.bytes);
  EXPECT_EQ(whole.story, row.story) << row.why;
  for (const wire::Ends& ends : wire::every_split(row.bytes.size())) {
    ASSERT_EQ(wire::read_requests(row.bytes, ends), whole)
        << row.why << ", first cut at " << ends.front();
  }
}

// What is sent on holds as many requests as were read, with the same bodies: the next hop cannot
// find another one in it, and a second gateway would change nothing about that.
TEST_P(RequestRow, HoldsTheSameRequestsForTheNextHop) {
  const std::string sent = wire::read_requests(GetParam().bytes).upstream;
  const wire::Reading next = wire::read_requests(sent);
  const auto count = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\'') / 2;
  };
  const std::string& story = GetParam().story;
  if (story.find("400 malformed_body") != std::string::npos || story.ends_with("...")) return;
  EXPECT_EQ(next.story.find(" | 4"), std::string::npos) << next.story;
  EXPECT_EQ(count(next.story), count(story)) << next.story;
  EXPECT_EQ(wire::read_requests(next.upstream).story, next.story);
}

std::string name_of(const testing::TestParamInfo<Row>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Framing, RequestRow, testing::ValuesIn(kFraming), name_of);
INSTANTIATE_TEST_SUITE_P(Lines, RequestRow, testing::ValuesIn(kLines), name_of);
INSTANTIATE_TEST_SUITE_P(Hosts, RequestRow, testing::ValuesIn(kHosts), name_of);
INSTANTIATE_TEST_SUITE_P(Desync, RequestRow, testing::ValuesIn(kDesync), name_of);
INSTANTIATE_TEST_SUITE_P(Chunks, RequestRow, testing::ValuesIn(kChunks), name_of);
INSTANTIATE_TEST_SUITE_P(Leniencies, RequestRow, testing::ValuesIn(kLeniencies), name_of);

}  // namespace
}  // namespace gatedrill::http
