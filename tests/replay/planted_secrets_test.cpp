// Secrets of every kind are planted in messages, and no byte of any file that the writer leaves or
// uses on its way holds one of them: not plain, not in base64, not percent-encoded, not escaped.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "replay/content_coding.hpp"
#include "replay/recording.hpp"
#include "replay/recording_writer.hpp"
#include "replay/redact/encodings.hpp"

namespace gatedrill::replay {
namespace {

namespace fs = std::filesystem;

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i + 3 <= bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return static_cast<unsigned>(static_cast<unsigned char>(bytes[i + k]));
    };
    const unsigned bits = byte(0) << 16U | byte(1) << 8U | byte(2);
    for (const unsigned shift : {18U, 12U, 6U, 0U})
      out.push_back(kDigits[bits >> shift & 63U]);
  }
  return out;
}

// Ways to write a secret, each of which would give it away. In base64 it may begin at any of three
// places of a group.
std::vector<std::string> forms_of(const std::string& secret) {
  const std::string percent = percent_encoded(secret);
  const std::string json = json_escaped(secret);
  return {secret,
          percent,
          percent_encoded(percent),
          json,
          json_escaped(json),
          percent_encoded(json),
          base64(secret),
          base64(std::string_view(secret).substr(1)),
          base64(std::string_view(secret).substr(2))};
}

class PlantedSecrets : public testing::Test {
 protected:
  PlantedSecrets() {
    std::string pattern = testing::TempDir() + "planted-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }

  ~PlantedSecrets() override { fs::remove_all(folder_); }

  // A new secret with characters that encodings change.
  std::string plant(const std::string& where) {
    secrets_.push_back("S3:" + where + "/+\"=Zq" + std::to_string(secrets_.size() * 7919));
    return secrets_.back();
  }

  // One that must have a form of its own.
  std::string plant_as(const std::string& secret) {
    secrets_.push_back(secret);
    return secret;
  }

  RecordedExchange exchange(const std::string& type, const std::string& body) const {
    RecordedExchange out;
    out.connection = 1;
    out.request = RecordedRequest{.method = "POST",
                                  .target = "/a",
                                  .version = "HTTP/1.1",
                                  .fields = {{"Content-Type", type}},
                                  .body = body};
    out.response = RecordedResponse{
        .status = 200, .version = "HTTP/1.1", .fields = {{"Content-Type", type}}, .body = body};
    return out;
  }

  std::vector<RecordedExchange> exchanges();
  void plant_odd_bodies(std::vector<RecordedExchange>& all);
  void record(bool keep_secrets);

  // Every file there is, and what is packed in them.
  void look() {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      std::ifstream file(entry.path(), std::ios::binary);
      seen_.append(std::istreambuf_iterator<char>(file), {});
    }
  }

  void unpack() {
    const auto all = Recording::open(folder_ / "t.db")->read_all().value();
    for (const RecordedExchange& one : all) {
      seen_ += one.request->body;
      const auto plain =
          decode_prefix(one.response->body, value_of(one.response->fields, "Content-Encoding"));
      seen_ += plain ? plain->content : one.response->body;
    }
  }

  [[nodiscard]] bool seen(const std::string& secret) const {
    const auto forms = forms_of(secret);
    return std::any_of(forms.begin(), forms.end(), [&](const std::string& form) {
      return seen_.find(form) != std::string::npos;
    });
  }

  fs::path folder_;
  std::vector<std::string> secrets_;
  std::string seen_;
};

void PlantedSecrets::plant_odd_bodies(std::vector<RecordedExchange>& all) {
  const auto add = [&](const std::string& type, const std::string& body) {
    all.push_back(exchange(type, body));
  };
  const auto json = [&](const std::string& where) { return json_escaped(plant(where)); };
  add("application/json", R"({"p\u0061ssword":")" + json("escaped-name") +
                              R"(","token":["x",{"y":")" + json("below") + R"("}]})");
  add("application/x-ndjson", "{\"bad\n{\"token\":\"" + json("after-bad-line") + "\"}\n");
  add("application/javascript", "var x={token:\"" + json("script") + "\"};");
  add("text/plain", "note\nCookie: sid=" + plant("cookie-line") + "\nX-Api-Key: " +
                        plant("key-line") + "\npassword='" + json("assignment") + "'\n");
  add("text/xml", "<a><password><![CDATA[" + plant("cdata") + "]]></password><secret><b>" +
                      plant("nested") + "</b></secret><item key=\"password\">" + plant("item") +
                      "</item></a>");
  add("multipart/form-data", "--XX\nContent-Disposition: form-data; name=pin\n\n" +
                                 plant("bare-multipart") + "\n--XX--\n");
  add("text/event-stream", "data: {\"tok\ndata: en\":\"" + json("split-event") + "\"}\n\n");
  for (const std::string name : {"x-user-pin", "userPin", "otp_code", "jwt-assertion",
                                 "x-hub-signature-256", "session", "device_code"}) {
    RecordedExchange named =
        exchange("application/json", "{\"" + name + "\":\"" + json(name + "-json") + "\"}");
    named.request->target = "/a?" + name + "=" + percent_encoded(plant(name + "-query"));
    named.request->fields.push_back({name, plant(name + "-field")});
    all.push_back(named);
    add("application/x-www-form-urlencoded", name + "=" + percent_encoded(plant(name + "-form")));
    add("text/xml", "<a><" + name + ">" + plant(name + "-xml") + "</" + name + "></a>");
  }
  RecordedExchange proxied = exchange("text/plain", "hello");
  proxied.host = "u:" + plant("host") + "@h";
  proxied.request->method = "CONNECT";
  proxied.request->target = "u:" + plant("connect") + "@h:443";
  proxied.request->fields = {{"Host", "u:" + plant("host-field") + "@h"},
                             {"Sec-WebSocket-Protocol", "bearer, " + plant("protocol")},
                             {"no colon token=" + plant_as("n0-colon-4711"), ""}};
  proxied.response->reason = "x token=" + plant_as("r3ason-4711");
  proxied.response->fields = {{"Authentication-Info", "nextnonce=\"" + plant("nonce") + "\", a=b"}};
  all.push_back(proxied);
  RecordedExchange coded = exchange("text/plain", "hello");
  coded.request->target = "/%3Ftoken=" + percent_encoded(plant("coded-question-mark"));
  all.push_back(coded);
}

std::vector<RecordedExchange> PlantedSecrets::exchanges() {
  std::vector<RecordedExchange> all;
  RecordedExchange heads = exchange("text/plain", "hello");
  heads.request->target =
      "http://" + percent_encoded(plant("userinfo")) +
      "@shop/a;jsessionid=" + percent_encoded(plant("path-parameter")) +
      "?api_key=" + percent_encoded(plant("query")) +
      "&to=" + percent_encoded("https://b/?token=" + percent_encoded(plant("inner-url"))) +
      "&data=" + percent_encoded(R"({"password":")" + json_escaped(plant("inner-json")) + "\"}") +
      "#id_token=" + percent_encoded(plant("fragment"));
  heads.request->fields = {
      {"Authorization", "Basic " + base64(plant("basic") + "xx")},
      {"Proxy-Authorization", "Bearer " + plant("proxy-bearer")},
      {"Cookie", "sid=" + percent_encoded(plant("cookie")) + "; b=" + plant("second-cookie")},
      {"X-Api-Key", plant("api-key-field")},
      {"X-Amz-Security-Token", plant("amz-token")},
      {"Referer", "https://shop/reset?token=" + percent_encoded(plant("referer"))},
      {"X-Links", "a <https://b/?token=" + percent_encoded(plant("link-in-text")) +
                      "> (and /c?sig=" + percent_encoded(plant("second-link")) + ")"},
      {"X-Note", "see Bearer " + plant_as("n0te.Bearer.token.4711")},
      {"Authorization Basic " + base64(plant("no-colon") + "xx"), ""}};
  heads.response->fields = {
      {"Set-Cookie", "sid=" + plant("set-cookie") + "; Path=/"},
      {"Location", "/cb?code=" + percent_encoded(plant("login-code")) + "&state=1"},
      {"Link", "</a?signature=" + percent_encoded(plant("link")) + ">; rel=next"},
      {"X-Session-Token", plant("session-field")}};
  all.push_back(heads);
  RecordedExchange token = exchange("text/plain", "hello");
  token.request->target =
      "/reset/" + plant_as("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0NzExIn0.c2lnbmF0dXJl") + "/x";
  all.push_back(token);
  all.push_back(exchange(
      "application/json",
      R"({"user":{"password":")" + json_escaped(plant("json")) + R"(","cards":[{"number":")" +
          plant_as("4111 1111 1111 1111") + R"("}],"phone":")" + plant_as("+49 30 90182 4711") +
          R"(","pan":)" + plant_as("5555555555554444") + R"(},"payload":")" +
          json_escaped(R"({"client_secret":")" + json_escaped(plant("json-in-json")) + "\"}") +
          R"(","state":")" + plant_as("eyJwYXNzd29yZCI6ImFiYyIsIngiOjF9") + R"("})"));
  all.push_back(exchange("application/x-www-form-urlencoded",
                         "user=ann&password=" + percent_encoded(plant("form")) +
                             "&t%6Fken=" + percent_encoded(plant("coded-name"))));
  all.push_back(exchange("multipart/form-data; boundary=XX",
                         "--XX\r\nContent-Disposition: form-data; name=\"passwd\"\r\n\r\n" +
                             plant("multipart") + "\r\n--XX--\r\n"));
  all.push_back(exchange("text/xml", "<l><Password>" + plant("xml") + "</Password><k secret='" +
                                         plant("xml-attribute") + "'/></l>"));
  all.push_back(exchange("text/plain", "curl -H 'Authorization: Bearer " +
                                           plant_as("t3xt.body.token.815") + "' and " +
                                           plant_as("AKIAIOSFODNN7EXAMPLE")));
  all.push_back(exchange("application/x-ndjson",
                         "{\"token\":\"" + json_escaped(plant("lines")) + "\"}\n{\"x\":1}\n"));
  for (const auto coding : {"gzip", "br", "zstd", "deflate"}) {
    RecordedExchange coded =
        exchange("application/json", R"({"apiKey":")" + json_escaped(plant(coding)) + "\"}");
    coded.response->body = *encode_content(coded.response->body, coding);
    coded.response->fields.push_back({"Content-Encoding", coding});
    coded.request->body.clear();
    all.push_back(coded);
  }
  for (const auto coding : {"gzip", "foo", "br"}) {
    RecordedExchange coded =
        exchange("text/html", "<p password='" + plant(std::string("no ") + coding) + "'>");
    coded.response->fields.push_back({"Content-Encoding", coding});
    coded.request->body.clear();
    all.push_back(coded);
  }
  for (const bool complete : {true, false}) {
    RecordedExchange cut =
        exchange("application/xml", "<password>" + plant(complete ? "broken" : "gzip cut-off"));
    cut.response->body = *encode_content(cut.response->body, "gzip");
    cut.response->body.resize(cut.response->body.size() - 4);
    cut.response->complete = complete;
    cut.response->fields.push_back({"Content-Encoding", "gzip"});
    cut.request->body.clear();
    all.push_back(cut);
  }
  plant_odd_bodies(all);
  RecordedExchange partial = exchange("application/json", R"({"password":")" + plant("cut-off"));
  partial.request->complete = false;
  partial.response->complete = false;
  all.push_back(partial);
  return all;
}

void PlantedSecrets::record(bool keep_secrets) {
  auto writer = RecordingWriter::create(folder_ / "t.db", {.keep_secrets = keep_secrets}).value();
  const auto all = exchanges();
  // What is written after a save makes use of the journal.
  for (int round = 0; round < 3; ++round) {
    for (const RecordedExchange& one : all)
      writer.add(one).value();
    look();
    writer.save().value();
    look();
  }
  for (int i = 0; i < 200; ++i)
    writer.add(exchange("text/plain", std::to_string(i))).value();
  look();
  writer.finish({}).value();
  look();
  unpack();
}

TEST_F(PlantedSecrets, AreInNoByteOfAnyFile) {
  record(false);
  for (const std::string& secret : secrets_)
    EXPECT_FALSE(seen(secret)) << secret;
}

TEST_F(PlantedSecrets, WouldBeFoundIfTheyWereThere) {
  record(true);
  for (const std::string& secret : secrets_)
    EXPECT_TRUE(seen(secret)) << secret;
}

}  // namespace
}  // namespace gatedrill::replay
