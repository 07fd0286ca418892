# Makes one file that includes all sources that Verilator generated for PREFIX in FOLDER, because
# their number depends on Verilator's version.
file(GLOB sources RELATIVE ${FOLDER} ${FOLDER}/${PREFIX}.cpp ${FOLDER}/${PREFIX}_*.cpp)
list(REMOVE_ITEM sources ${PREFIX}__all.cpp ${PREFIX}__ALL.cpp)
set(text "")
foreach(source ${sources})
  string(APPEND text "#include \"${source}\"\n")
endforeach()
file(WRITE ${FOLDER}/${PREFIX}__all.cpp "${text}")
