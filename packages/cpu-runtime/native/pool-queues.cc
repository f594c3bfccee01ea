// The pool's side that moves streams forward: enqueueing, events, completion, the end of an environment.
#include <algorithm>

#include "error.h"
#include "pool.h"

namespace mercer::cpu {

Pool& Pool::get() {
  static Pool* pool = new Pool();  // never destroyed: its threads outlive static destruction
  return *pool;
}

void Params::assign(const void* bytes, size_t size) { assign(nullptr, 0, bytes, size); }

void Params::assign(const void* header, size_t headerSize, const void* bytes, size_t bytesSize) {
  const size_t size = headerSize + bytesSize;
  uint8_t* target = inline_;
  if (size > kInline) {
    heap_ = HostMemory::allocate(size);
    if (!heap_) throw RuntimeError("OUT_OF_MEMORY", "copying launch parameters failed: no memory.");
    target = static_cast<uint8_t*>(heap_->data());
  }
  if (headerSize != 0) std::memcpy(target, header, headerSize);
  if (bytesSize != 0) std::memcpy(target + headerSize, bytes, bytesSize);
}

void Pool::registerStream(const std::shared_ptr<Stream>& stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto& streams = stream->env->streams;
  streams.erase(std::remove_if(streams.begin(), streams.end(),
                               [](const std::weak_ptr<Stream>& one) { return one.expired(); }),
                streams.end());
  streams.push_back(stream);
}

void Pool::enqueue(const std::shared_ptr<Stream>& stream, Op&& op) {
  Effects effects;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (op.isWork()) {
      ensureThreads();
      stream->inFlight.fetch_add(1, std::memory_order_relaxed);
    }
    stream->ops.push_back(std::move(op));
    if (!stream->blocked) advance(stream, effects);
    advanceAll(effects);
  }
  apply(effects);
}

Graph::~Graph() {
  std::vector<napi_ref> references;
  for (const auto& launch : launches)
    references.insert(references.end(), launch->references.begin(), launch->references.end());
  if (references.empty()) return;
  env->release(references);
  env->wake();
}

bool Rests::ends() const {
  // NaN is not 0
  return count != 0 && std::none_of(numbers, numbers + count, [](double one) { return one == 0; });
}

Passes::Passes(std::shared_ptr<const Graph> graph, std::shared_ptr<const Graph> between, int64_t times, Rests rests)
    : graph_(std::move(graph)), between_(std::move(between)), left_(times), rests_(rests), stops_(graph_->stops.load()) {
  const auto take = [this](const Graph& from) {
    for (const auto& captured : from.launches) {
      if (captured->tasks <= 0) continue;
      auto launch = std::make_unique<Launch>();
      launch->kernel = captured->kernel;
      launch->tasks = captured->tasks;
      launch->chunk = captured->chunk;
      launch->scratchBytes = captured->scratchBytes;
      launch->params = captured->params;
      launches_.push_back(std::move(launch));
    }
  };
  take(*graph_);
  end_ = launches_.size();
  if (between_ && times > 1 && end_ != 0) take(*between_);
}

bool Passes::isLast() {
  left_ -= 1;
  return left_ <= 0 || end_ == 0 || graph_->stops.load(std::memory_order_relaxed) != stops_ || rests_.ends();
}

Launch* Passes::next() {
  if (left_ <= 0 || (at_ == end_ && isLast())) {
    left_ = 0;
    return nullptr;
  }
  if (at_ == launches_.size()) at_ = 0;
  Launch* launch = launches_[at_++].get();
  launch->next.store(0, std::memory_order_relaxed);
  return launch;
}

bool Pool::idle(Stream& stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  return stream.ops.empty();
}

bool Pool::listen(Event& event, const std::shared_ptr<EnvState>& env, napi_deferred deferred) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (event.fired) return false;
  event.listeners.emplace_back(env, deferred);
  return true;
}

bool Pool::fired(Event& event) {
  std::lock_guard<std::mutex> lock(mutex_);
  return event.fired;
}

bool Pool::failed(Stream& stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  return stream.outOfMemory;
}

void Pool::fire(Event& event, Effects& effects) {
  event.fired = true;
  event.time = std::chrono::steady_clock::now();
  for (auto& waiter : event.waiters) {
    waiter->blocked = false;
    effects.ready.push_back(std::move(waiter));
  }
  event.waiters.clear();
  for (auto& [env, deferred] : event.listeners) {
    env->settle({deferred, false});
    effects.wake.push_back(env);
  }
  event.listeners.clear();
}

// The head of the stream runs from here on.
void Pool::begin(Launch& launch, const std::shared_ptr<Stream>& stream, Effects& effects) {
  launch.stream = stream;
  stream->blocked = true;
  stream->env->running += 1;
  // A stream that was idle has no claim on the time it did not use.
  stream->servedNs = std::max(stream->servedNs, virtualNs_);
  active_.push_back(&launch);
  activeCount_.store(active_.size(), std::memory_order_relaxed);
  effects.newWork = true;
}

// Takes ops off the head until one has to run or to wait.
void Pool::advance(const std::shared_ptr<Stream>& stream, Effects& effects) {
  if (stream->env->ended) return;
  while (!stream->ops.empty()) {
    Op& op = stream->ops.front();
    switch (op.kind) {
      case Op::Kind::kLaunch:
        if (op.launch->tasks > 0) return begin(*op.launch, stream, effects);
        stream->inFlight.fetch_sub(1, std::memory_order_relaxed);
        if (!op.launch->references.empty()) {
          stream->env->release(op.launch->references);
          effects.wake.push_back(stream->env);
        }
        break;
      case Op::Kind::kPasses:
        if (Launch* launch = op.passes->next()) return begin(*launch, stream, effects);
        stream->inFlight.fetch_sub(1, std::memory_order_relaxed);
        break;
      case Op::Kind::kRecord:
        fire(*op.event, effects);
        break;
      case Op::Kind::kWait:
        if (!op.event->fired) {
          op.event->waiters.push_back(stream);
          stream->blocked = true;
          return;
        }
        break;
      case Op::Kind::kNotify:
        stream->env->settle({op.deferred, std::exchange(stream->outOfMemory, false)});
        effects.wake.push_back(stream->env);
        break;
    }
    effects.dead.push_back(std::move(op));
    stream->ops.pop_front();
  }
}

void Pool::advanceAll(Effects& effects) {
  while (!effects.ready.empty()) {
    std::shared_ptr<Stream> stream = std::move(effects.ready.back());
    effects.ready.pop_back();
    if (!stream->blocked) advance(stream, effects);
    effects.visited.push_back(std::move(stream));
  }
}

void Pool::forget(Launch* launch) {
  auto found = std::find(active_.begin(), active_.end(), launch);
  if (found == active_.end()) return;
  active_.erase(found);
  activeCount_.store(active_.size(), std::memory_order_relaxed);
}

// A thread of the pool is through with a launch; without `ok` it could not have its scratch memory.
void Pool::leave(Launch& launch, bool ok, Effects& effects) {
  launch.users -= 1;
  if (launch.inner) {
    if (!ok) forget(&launch);  // whoever shares it goes on alone
    if (launch.users == 0) shared_.notify_all();
    return;
  }
  if (!ok) launch.stream->outOfMemory = true;
  if (launch.users == 0 && launch.exhausted()) finish(&launch, effects);
}

// The last user of an exhausted launch left it.
void Pool::finish(Launch* launch, Effects& effects) {
  forget(launch);
  std::shared_ptr<Stream> held = std::exchange(launch->stream, nullptr);
  Stream& stream = *held;
  EnvState& env = *stream.env;
  stream.blocked = false;
  // passes stay at the head until they have no next launch
  if (stream.ops.front().kind == Op::Kind::kLaunch || env.ended) {
    stream.inFlight.fetch_sub(1, std::memory_order_relaxed);
    if (!launch->references.empty()) {
      env.release(launch->references);
      effects.wake.push_back(stream.env);
    }
    effects.dead.push_back(std::move(stream.ops.front()));
    stream.ops.pop_front();
  }
  advance(held, effects);
  advanceAll(effects);
  const bool goesOn = stream.blocked;
  env.running -= 1;
  if (env.ended && env.running == 0) ended_.notify_all();
  // a stream that goes on is held by what it runs or waits for
  if (!goesOn) effects.visited.push_back(std::move(held));
}

void Pool::apply(Effects& effects) {
  if (effects.newWork) wakeOne();
  std::shared_ptr<EnvState> last;
  for (auto& env : effects.wake) {
    if (env != last) env->wake();
    last = env;
  }
  effects.wake.clear();
  effects.dead.clear();
  effects.visited.clear();
  effects.newWork = false;
}

void Pool::closeEnvironment(EnvState& env) {
  std::vector<Op> discarded;
  std::vector<std::shared_ptr<Stream>> visited;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    env.ended = true;
    for (const auto& weak : env.streams) {
      std::shared_ptr<Stream> stream = weak.lock();
      if (!stream) continue;
      const bool running = stream->blocked && stream->ops.front().isWork();
      while (stream->ops.size() > (running ? 1u : 0u)) {
        discarded.push_back(std::move(stream->ops.back()));
        stream->ops.pop_back();
      }
      visited.push_back(std::move(stream));
    }
    ended_.wait(lock, [&env] { return env.running == 0; });
  }
  for (Op& op : discarded)
    if (op.launch && !op.launch->references.empty()) env.release(op.launch->references);
}

}  // namespace mercer::cpu
