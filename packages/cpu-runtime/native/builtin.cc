#include "builtin.h"

namespace mercer::cpu {

const Builtin* findBuiltin(const std::string& name, const std::string& level) {
  const Builtin* const routine = findRoutine(name);
  return routine != nullptr ? routine : findKernel(name, level);
}

}  // namespace mercer::cpu
