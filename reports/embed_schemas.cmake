# cmake -DOUTPUT=FILE.c -DINPUTS="a.json;b.json" -P embed_schemas.cmake
set(arrays "")
set(rows "")
foreach(input ${INPUTS})
  get_filename_component(name ${input} NAME_WE)
  file(READ ${input} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "static const char ${name}_json[] = { ${bytes} };\n")
  string(APPEND rows "    { \"${name}\", ${name}_json, sizeof ${name}_json },\n")
endforeach()
file(WRITE ${OUTPUT}
  "/* Made from reports/schemas by embed_schemas.cmake. */\n#include \"schema.h\"\n\n"
  "${arrays}\nconst struct kr_schema kr_schemas[] = {\n${rows}    { 0 },\n};\n")
