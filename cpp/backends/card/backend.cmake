# The conformance suite runs on the board of the card's C++ tests, whose parameters are read here.
# The boards for users are card/boards/*.toml.
set(card_board)
file(STRINGS card/tests/u250.hpp card_board_lines REGEX "{\"(link|host|dma|memory|kernel|registers|sram|serial)\\.")
foreach(line ${card_board_lines})
  string(REGEX REPLACE ".*{\"([^\"]*)\", \"([^\"]*)\"}.*" "\\1=\\2" parameter "${line}")
  list(APPEND card_board ${parameter})
endforeach()
isthmus_add_backend(
  card
  VARIES
  SOURCES
  card.cpp
  host_memory.cpp
  offload.cpp
  mmio.cpp
  operations.cpp
  ring.cpp
  LIBRARIES
  isthmus_card_model
  OPTIONS
  ${card_board})
if(TARGET isthmus_card_rtl)  # with Verilator
  target_link_libraries(isthmus_card PRIVATE isthmus_card_rtl)
  target_compile_definitions(isthmus_card PRIVATE ISTHMUS_CARD_RTL)
endif()
