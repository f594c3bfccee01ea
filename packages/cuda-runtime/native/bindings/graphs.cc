#include "kinds.h"

namespace mercer {

namespace {

Napi::Value graphNodeCount(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(unwrap<Graph>(info[0]).nodeCount()));
}

Napi::Value graphDispose(const Napi::CallbackInfo& info) {
  take<Graph>(info[0]);
  return info.Env().Undefined();
}

Napi::Value graphInstantiate(const Napi::CallbackInfo& info) {
  return wrap(info.Env(), std::make_shared<GraphExec>(share<Graph>(info[0])));
}

Napi::Value graphExecLaunch(const Napi::CallbackInfo& info) {
  unwrap<GraphExec>(info[0]).launch(share<Stream>(info[1]));
  return info.Env().Undefined();
}

Napi::Value graphExecUpload(const Napi::CallbackInfo& info) {
  unwrap<GraphExec>(info[0]).upload(share<Stream>(info[1]));
  return info.Env().Undefined();
}

Napi::Value graphExecDispose(const Napi::CallbackInfo& info) {
  take<GraphExec>(info[0]);
  return info.Env().Undefined();
}

}  // namespace

void exportGraphs(Napi::Object exports) {
  method<graphNodeCount>(exports, "graphNodeCount");
  method<graphDispose>(exports, "graphDispose");
  method<graphInstantiate>(exports, "graphInstantiate");
  method<graphExecLaunch>(exports, "graphExecLaunch");
  method<graphExecUpload>(exports, "graphExecUpload");
  method<graphExecDispose>(exports, "graphExecDispose");
}

}  // namespace mercer
