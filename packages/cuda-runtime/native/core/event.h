// A user's event: marks a point of a stream, with or without timing.
#pragma once

#include "stream.h"

namespace mercer {

class Event {
 public:
  Event(SharedUse use, bool timing);

  const SharedUse use;
  const bool timing;
  void record(Stream& stream);
  void waitedBy(Stream& stream);
  bool query();
  void whenDone(Waiter::Done done);
  float elapsedMs(const Event& since);

 private:
  std::shared_ptr<cu::CUevent_st> event_;
  bool recorded_ = false;
  std::weak_ptr<Capture> capture_;  // it was recorded into
};

}  // namespace mercer
