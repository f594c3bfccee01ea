// Which C++ class stands behind which kind of handle.
#pragma once

#include "../core/communicator.h"
#include "../core/event.h"
#include "../core/graph.h"
#include "../core/host_copy.h"
#include "../core/module.h"
#include "call.h"

namespace mercer {

MERCER_KIND(DeviceUse, Device)
MERCER_KIND(Stream, Stream)
MERCER_KIND(Event, Event)
MERCER_KIND(Buffer, Buffer)
MERCER_KIND(Pinned, Pinned)
MERCER_KIND(Module, Module)
MERCER_KIND(Function, Function)
MERCER_KIND(Graph, Graph)
MERCER_KIND(GraphExec, GraphExec)
MERCER_KIND(Communicator, Communicator)

}  // namespace mercer
