#include "beside.h"

#include "solver.h"

namespace mercer {

Beside::Beside(SharedUse use, int priority) : stream(std::make_shared<Stream>(std::move(use), priority)) {}

namespace {

Failure outOfHostMemory(const std::exception& error) {
  Failure failure;
  failure.name = "OUT_OF_HOST_MEMORY";
  failure.what = error.what();
  return failure;
}

/// Runs `call` and reports what it throws; what it enqueued before that may still be running, so
/// `done` comes after it in any case.
void finish(const SharedStream& beside, std::vector<std::shared_ptr<void>> kept,
            const std::function<void(Stream&)>& call, const Waiter::Done& done) {
  std::optional<Failure> failure;
  try {
    call(*beside);
  } catch (const Failure& thrown) {
    failure = thrown;
  } catch (const std::exception& error) {
    failure = outOfHostMemory(error);
  }
  // Not through the environment's use of the device, which may have ended: the memory in `kept` must
  // not be freed under work on the way.
  Device& device = beside->use->device;
  device.enter();
  auto event = device.events.take();
  MERCER_CU(&device, cuEventRecord, event.get(), beside->handle());
  device.waiter.add(beside.get(), std::move(event),
                    [beside, kept = std::move(kept), done, failure](const Failure* later) {
                      done(later || !failure ? later : &*failure);
                    });
}

}  // namespace

void runBeside(const SharedStream& stream, std::vector<std::shared_ptr<void>> kept,
               std::function<void(Stream& beside)> call, Waiter::Done done) {
  stream->refuseCapture("a call that waits inside cuSOLVER");
  auto event = stream->mark();
  Beside& own = stream->beside();
  // The task keeps `stream`, and with it the thread that runs it.
  own.thread.run([stream, beside = own.stream, event = std::move(event), kept = std::move(kept),
                  call = std::move(call), done = std::move(done)]() mutable {
    try {
      Device& device = beside->enter();
      MERCER_CU(&device, cuStreamWaitEvent, beside->handle(), event.get(), 0u);
      finish(beside, std::move(kept), call, done);
    } catch (const Failure& failure) {
      done(&failure);
    } catch (const std::exception& error) {
      const Failure failure = outOfHostMemory(error);
      done(&failure);
    }
  });
}

namespace {

/// Makes library handles on the solver thread of `stream`.
void makeHandles(const SharedStream& stream, const char* what, void (*make)(Stream& stream, Stream& beside),
                 Waiter::Done done) {
  stream->refuseCapture(what);
  Beside& own = stream->beside();
  own.thread.run([stream, beside = own.stream, make, done = std::move(done)] {
    try {
      make(*stream, *beside);
      done(nullptr);
    } catch (const Failure& failure) {
      done(&failure);
    } catch (const std::exception& error) {
      const Failure failure = outOfHostMemory(error);
      done(&failure);
    }
  });
}

}  // namespace

void prepareSolvers(const SharedStream& stream, Waiter::Done done) {
  const auto make = [](Stream& own, Stream& beside) {
    own.makeSolver();
    beside.makeSolver();
  };
  makeHandles(stream, "making the cuSOLVER handle", make, std::move(done));
}

void prepareBlas(const SharedStream& stream, Waiter::Done done) {
  const auto make = [](Stream& own, Stream&) { own.makeBlas(); };
  makeHandles(stream, "making the cuBLAS handle", make, std::move(done));
}

}  // namespace mercer
