#include "tests/differential/proxy.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <vector>

#include "tests/support/loopback_peer.hpp"
#include "tests/support/run_program.hpp"

namespace gatedrill::differential {
namespace {

constexpr const char* kGatedrill = R"(
listen: 127.0.0.1:@port
cause_header: true
client: {header_timeout: 1500ms, body_timeout: 1500ms, keep_alive: 1500ms, max_body: 64KiB}
timeouts: {connect: 700ms, response: 1500ms, idle: 1500ms, total: 4s, tunnel: 1500ms}
upstreams:
  origin: {endpoints: [127.0.0.1:@origin], health: off, breaker: off}
  refused: {endpoints: [127.0.0.1:@refused], health: off, breaker: off}
  blackhole: {endpoints: [127.0.0.1:@blackhole], health: off, breaker: off}
routes:
  - {match: {path_prefix: /refused}, upstream: refused}
  - {match: {path_prefix: /blackhole}, upstream: blackhole}
  - {match: {path_prefix: /}, upstream: origin}
)";

constexpr const char* kNginx = R"(
worker_processes 1;
daemon off;
master_process off;
pid @folder/pid;
error_log stderr warn;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path @folder/body;
  proxy_temp_path @folder/proxy;
  fastcgi_temp_path @folder/fastcgi;
  uwsgi_temp_path @folder/uwsgi;
  scgi_temp_path @folder/scgi;
  client_header_timeout 1500ms;
  client_body_timeout 1500ms;
  keepalive_timeout 1500ms;
  client_max_body_size 64k;
  proxy_connect_timeout 700ms;
  proxy_read_timeout 1500ms;
  proxy_send_timeout 1500ms;
  proxy_http_version 1.1;
  proxy_set_header Host $host;
  proxy_set_header Upgrade $http_upgrade;
  proxy_set_header Connection $upstream_connection;
  map $http_upgrade $upstream_connection { default upgrade; '' ''; }
  upstream origin { server 127.0.0.1:@origin max_fails=0; keepalive 16; }
  server {
    listen 127.0.0.1:@port;
    server_name shop.example;
    location / { proxy_pass http://origin; }
    location /refused { proxy_pass http://127.0.0.1:@refused; }
    location /blackhole { proxy_pass http://127.0.0.1:@blackhole; }
  }
}
)";

constexpr const char* kHaproxy = R"(
global
  nbthread 1
  maxconn 256
defaults
  mode http
  retries 0
  timeout connect 700ms
  timeout client 1500ms
  timeout server 1500ms
  timeout http-request 1500ms
  timeout http-keep-alive 1500ms
  timeout tunnel 1500ms
frontend clients
  bind 127.0.0.1:@port
  use_backend refused if { path_beg /refused }
  use_backend blackhole if { path_beg /blackhole }
  default_backend origin
backend origin
  server one 127.0.0.1:@origin
backend refused
  server one 127.0.0.1:@refused
backend blackhole
  server one 127.0.0.1:@blackhole
)";

std::string filled(std::string text, const std::string& name, const std::string& value) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    text.replace(at, name.size(), value);
    at += value.size();
  }
  return text;
}

std::string configuration(Program program) {
  switch (program) {
    case Program::gatedrill:
      return kGatedrill;
    case Program::nginx:
      return kNginx;
    case Program::haproxy:
      return kHaproxy;
  }
  return {};
}

std::vector<std::string> command(Program program, const std::string& config) {
  switch (program) {
    case Program::gatedrill:
      return {GD_PROGRAM, "gateway", "-c", config};
    case Program::nginx:
      return {"nginx", "-p", "/", "-c", config};
    case Program::haproxy:
      return {"haproxy", "-q", "-db", "-f", config};
  }
  return {};
}

}  // namespace

std::string_view to_string(Program program) {
  switch (program) {
    case Program::gatedrill:
      return "gatedrill";
    case Program::nginx:
      return "nginx";
    case Program::haproxy:
      return "haproxy";
  }
  return {};
}

std::string version_of(Program program) {
  if (program == Program::gatedrill) return {};
  const std::string path = testing::find_program(std::string(to_string(program)));
  if (path.empty()) return {};
  const testing::ProgramRun run = testing::run_shell(path + " -v");
  std::smatch found;
  const std::string said = run.out + run.errors;
  return std::regex_search(said, found, std::regex("[0-9]+\\.[0-9]+\\.[0-9]+")) ? found.str() : "";
}

Proxy::Proxy(Program program, const Backends& backends, const std::string& folder) {
  std::filesystem::create_directories(folder);
  const std::string config = folder + "/config";
  const std::string log = folder + "/log";
  // Another process may take the port that was free a moment ago.
  for (int tries = 0; tries < 3; ++tries) {
    port_ = testing::unused_port();
    std::string text = configuration(program);
    text = filled(text, "@port", std::to_string(port_));
    text = filled(text, "@origin", std::to_string(backends.origin));
    text = filled(text, "@refused", std::to_string(backends.refused));
    text = filled(text, "@blackhole", std::to_string(backends.blackhole));
    text = filled(text, "@folder", folder);
    std::ofstream(config) << text;
    process_ = std::make_unique<testing::ChildProgram>(command(program, config), log);
    if (testing::wait_until_listening(port_, *process_)) return;
  }
  std::stringstream said;
  said << std::ifstream(log).rdbuf();
  throw std::runtime_error(std::string(to_string(program)) + " does not start: " + said.str());
}

Proxy::~Proxy() = default;

}  // namespace gatedrill::differential
