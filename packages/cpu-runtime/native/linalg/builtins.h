// The table of routines that streams can run.
#pragma once

#include <string>

#include "routine.h"

namespace mercer::cpu {

// Null where there is none of this name.
const Builtin* findBuiltin(const std::string& name);

}  // namespace mercer::cpu
