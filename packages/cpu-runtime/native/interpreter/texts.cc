// Kernels whose text is fixed: generated from the same emitter, compiled with the addon, found by the hash of their text.
#include <stddef.h>
#include <stdint.h>

#include "program.h"

namespace mercer::cpu::interpreter {

#include "generated/texts.h"

TextFn findText(uint32_t low, uint32_t high) {
  for (const auto& one : kTexts)
    if (one.low == low && one.high == high) return one.run;
  return nullptr;
}

}  // namespace mercer::cpu::interpreter
