// Plays a corpus through a fuzz target where there is no libFuzzer: every file of the folders, and
// every file, that the command line names.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void play(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::printf("%s\n", file.filename().c_str());
  std::fflush(stdout);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  int played = 0;
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path path(argv[i]);
    if (!std::filesystem::is_directory(path)) {
      play(path);
      ++played;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      play(entry.path());
      ++played;
    }
  }
  std::printf("%d played\n", played);
  return played > 0 ? 0 : 1;
}
