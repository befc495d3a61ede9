# cmake -DOUTPUT=<file.cpp> -DNAMES="a;b" -DFILES="x;y" -P embed.cmake
# Writes each file as a std::string_view of its name, for reports/embedded.hpp.
set(text "#include \"reports/embedded.hpp\"\n\nnamespace gatedrill::reports::embedded {\n\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
  file(READ "${file}" content)
  string(APPEND text "const std::string_view ${name} = R\"embedded(${content})embedded\";\n\n")
endforeach()
string(APPEND text "}  // namespace gatedrill::reports::embedded\n")
file(WRITE "${OUTPUT}" "${text}")
