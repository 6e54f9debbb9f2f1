# SPDX-License-Identifier: Apache-2.0
# cmake -DINPUT=file -DOUTPUT=file.hpp -DNAME=identifier -P embed_text.cmake
# Writes a header with the file's text as a string constant.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "// Made by embed_text.cmake; not to be edited.\n#pragma once\n"
  "namespace troupe::runtime::process {\n"
  "inline constexpr char ${NAME}[] = R\"embedded(${text})embedded\";\n"
  "}\n")
