# Writes a C file that holds the built-in rule and policy files as byte arrays.
# cmake -DOUT=... -DFILES="a.json;b.json" -P embed.cmake
set(arrays "")
set(table "")
set(index 0)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(APPEND arrays "static const unsigned char file_${index}[] = {\n${hex}\n};\n\n")
  string(APPEND table "    { \"${name}\", file_${index}, sizeof file_${index} },\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUT}.new "/* Written by embed.cmake; do not edit. */
#include \"rules_priv.h\"

${arrays}const struct kr_builtin kr_builtin_files[] = {
${table}};

const size_t kr_builtin_count = sizeof kr_builtin_files / sizeof kr_builtin_files[0];
")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
