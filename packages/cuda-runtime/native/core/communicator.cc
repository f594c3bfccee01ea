#include "communicator.h"

#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "exit.h"
#include "stream.h"

namespace mercer {
namespace {

/// What ranks tell each other of a call.
struct Header {
  int64_t gathers, type, reduction, count;
  bool operator==(const Header& other) const {
    return gathers == other.gathers && type == other.type && reduction == other.reduction && count == other.count;
  }
};

uint64_t bytesOfElement(int type) {
  switch (type) {
    case nccl::kInt8:
    case nccl::kUint8:
      return 1;
    case nccl::kFloat16:
    case nccl::kBfloat16:
      return 2;
    case nccl::kInt32:
    case nccl::kUint32:
    case nccl::kFloat32:
      return 4;
    case nccl::kInt64:
    case nccl::kUint64:
    case nccl::kFloat64:
      return 8;
    default:
      misuse("INVALID_ARGUMENT", "there is no element type " + std::to_string(type) + " of NCCL");
  }
}

std::string described(const Header& header) {
  static const char* const types[] = {"int8",   "uint8",   "int32",   "uint32",  "int64",
                                      "uint64", "float16", "float32", "float64", "bfloat16"};
  static const char* const reductions[] = {"sum", "product", "maximum", "minimum", "mean"};
  const std::string what =
      header.gathers ? "a gathering" : std::string("a ") + reductions[header.reduction % 5];
  return what + " of " + std::to_string(header.count) + " " + types[header.type % 10] + " values";
}

}  // namespace

Communicator::Communicator(SharedUse use, int size, int rank, std::chrono::milliseconds timeout)
    : use_(std::move(use)), size_(size), rank_(rank), timeout_(timeout), stream_(std::make_shared<Stream>(use_, 0)) {
  nccl::table();
}

Communicator::~Communicator() {
  if (comm_ && !exiting() && use_->device.tryEnter()) nccl::table().ncclCommAbort(comm_);
}

Failure Communicator::failed(const char* name, const char* call, std::string what) const {
  Failure failure;
  failure.kind = FailureKind::Nccl;
  failure.name = name;
  failure.what = std::move(what);
  failure.call = call;
  failure.device = use_->device.ordinal;
  return failure;
}

template <typename Ended>
void Communicator::await(const char* call, Ended ended) {
  const auto begin = Clock::now();
  for (auto waited = Clock::duration::zero(); !ended(); waited = Clock::now() - begin) {
    if (aborted_.load() || exiting())
      throw failed("NCCL_ABORTED", call, "the group was given up while it waited for the other ranks");
    if (waited > timeout_)
      throw failed("NCCL_TIMEOUT", call, "not all ranks came within " + std::to_string(timeout_.count()) + " ms");
    // Short calls are not slept over; the longer it takes, the less it is asked.
    if (waited < std::chrono::microseconds(100))
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::min<Clock::duration>(waited / 16, std::chrono::microseconds(500)));
  }
}

void Communicator::settle(nccl::Result result, const char* call) {
  const int device = use_->device.ordinal;
  if (result == nccl::kSuccess) return;
  if (result != nccl::kInProgress) throw nccl::failureOf(result, call, device, comm_);
  await(call, [&] {
    nccl::Result now = nccl::kInProgress;
    const nccl::Result asked = nccl::table().ncclCommGetAsyncError(comm_, &now);
    if (asked != nccl::kSuccess) throw nccl::failureOf(asked, "ncclCommGetAsyncError", device, comm_);
    if (now != nccl::kSuccess && now != nccl::kInProgress) throw nccl::failureOf(now, call, device, comm_);
    return now == nccl::kSuccess;
  });
}

void Communicator::awaitStream(const char* call) {
  Device& device = use_->device;
  await(call, [&] {
    const auto result = driver().cuStreamQuery(stream_->handle());
    if (result == cu::kSuccess) return true;
    if (result != cu::kNotReady) check(result, "cuStreamQuery", &device);
    settle(nccl::kInProgress, call);
    return false;
  });
}

void Communicator::giveUp() noexcept {
  if (!comm_) return;
  try {
    nccl::table().ncclCommAbort(std::exchange(comm_, nullptr));
    // The kernels under way end: their memory is given back after them.
    const auto end = Clock::now() + std::chrono::seconds(5);
    while (driver().cuStreamQuery(stream_->handle()) == cu::kNotReady && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
  } catch (...) {
    // Nothing more can be done.
  }
}

void Communicator::post(std::function<void()> work, Waiter::Done done) {
  thread_.run([self = shared_from_this(), work = std::move(work), done = std::move(done)]() mutable {
    std::optional<Failure> failure;
    try {
      self->use_->device.enter();
      work();
    } catch (const Failure& thrown) {
      failure = thrown;
    } catch (const std::exception& error) {
      failure = self->failed("NCCL_INTERNAL_ERROR", "", error.what());
    }
    // A misuse changes nothing; whatever else failed leaves the ranks at different places.
    if (failure && failure->kind != FailureKind::Misuse) {
      if (self->ended_.empty()) self->ended_ = failure->name;
      self->giveUp();
    }
    work = nullptr;
    done(failure ? &*failure : nullptr);
  });
}

void Communicator::join(const nccl::UniqueId& id, Waiter::Done done) {
  post(
      [this, id] {
        if (joined_) misuse("INVALID_ARGUMENT", "the communicator has joined its group already");
        joined_ = true;
        nccl::Config config;
        settle(nccl::table().ncclCommInitRankConfig(&comm_, size_, id, rank_, &config), "ncclCommInitRankConfig");
        headers_ = std::make_unique<DirectMemory>(use_->device, (size_ + 1) * sizeof(Header));
      },
      std::move(done));
}

void Communicator::run(const SharedStream& stream, Collective collective, Waiter::Done done) {
  stream->refuseCapture("a call of all ranks of a group");
  const uint64_t bytes = static_cast<uint64_t>(collective.count) * bytesOfElement(collective.type);
  const void* input = collective.input.on(*stream, bytes);
  void* output = collective.output.on(*stream, collective.gathers ? bytes * static_cast<uint64_t>(size_) : bytes);
  if (&stream->use->device != &use_->device)
    misuse("DEVICE_MISMATCH", "the stream belongs to cuda:" + std::to_string(stream->use->device.ordinal) +
                                  ", the group computes on cuda:" + std::to_string(use_->device.ordinal));
  auto event = stream->mark();
  post(
      [this, collective = std::move(collective), input, output, event = std::move(event)] {
        if (!comm_)
          misuse("GROUP_ENDED", ended_.empty() ? "the group has been left" : "the group ended with " + ended_);
        MERCER_CU(&use_->device, cuStreamWaitEvent, stream_->handle(), event.get(), 0u);
        agree(collective);
        perform(collective, input, output);
      },
      std::move(done));
}

void Communicator::perform(const Collective& collective, const void* input, void* output) {
  if (collective.count == 0) return;
  const auto count = static_cast<size_t>(collective.count);
  const auto& nccl = nccl::table();
  const char* call = collective.gathers ? "ncclAllGather" : "ncclAllReduce";
  settle(collective.gathers
             ? nccl.ncclAllGather(input, output, count, collective.type, comm_, stream_->handle())
             : nccl.ncclAllReduce(input, output, count, collective.type, collective.reduction, comm_,
                                  stream_->handle()),
         call);
  awaitStream(call);
}

void Communicator::agree(const Collective& collective) {
  const Header own{collective.gathers, collective.type, collective.reduction, collective.count};
  Device& device = use_->device;
  const auto all = reinterpret_cast<cu::CUdeviceptr>(headers_->address());
  const cu::CUdeviceptr mine = all + size_ * sizeof(Header);
  MERCER_CU(&device, cuMemcpyHtoDAsync, mine, &own, sizeof own, stream_->handle());
  settle(nccl::table().ncclAllGather(reinterpret_cast<const void*>(mine), headers_->address(),
                                     sizeof own / sizeof(int64_t), nccl::kInt64, comm_, stream_->handle()),
         "ncclAllGather");
  // Not before it is there: a copy to the host waits inside the driver.
  awaitStream("ncclAllGather");
  std::vector<Header> headers(size_);
  MERCER_CU(&device, cuMemcpyDtoHAsync, headers.data(), all, size_ * sizeof(Header), stream_->handle());
  awaitStream("cuMemcpyDtoHAsync");
  for (int rank = 0; rank < size_; rank++)
    if (!(headers[rank] == own))
      misuse("GROUP_MISMATCH", "rank " + std::to_string(rank) + " calls " + described(headers[rank]) + ", and rank " +
                                   std::to_string(rank_) + " " + described(own));
}

void Communicator::close(Waiter::Done done) {
  post(
      [this] {
        if (ended_.empty()) ended_ = "close()";
        if (!comm_) return;
        try {
          settle(nccl::table().ncclCommFinalize(comm_), "ncclCommFinalize");
          nccl::table().ncclCommDestroy(std::exchange(comm_, nullptr));
        } catch (const Failure&) {
          // The others are gone already.
          giveUp();
        }
      },
      std::move(done));
}

}  // namespace mercer
