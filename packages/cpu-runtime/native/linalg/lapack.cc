#include "lapack.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace mercer::cpu {

namespace {

std::atomic<const Lapack*> opened{nullptr};
std::mutex openMutex;

// How a library spells its routines: prefix + dsyevd + suffix. The name itself is lower case with an underscore; libraries with
// 64-bit integers beside 32-bit ones add 64, and the builds that scipy's and numpy's wheels carry put scipy_ before it.
struct Spelling {
  const char* prefix;
  const char* suffix;
  std::string of(const std::string& name) const { return prefix + name + suffix; }
};

constexpr Spelling kSpellings[] = {{"", "_64_"},       {"", "_"},       {"", "_64"},
                                   {"scipy_", "_64_"}, {"scipy_", "_"}, {"scipy_", "_64"}};

const Spelling* spellingOf(void* handle) {
  for (const Spelling& spelling : kSpellings)
    if (dlsym(handle, spelling.of("dsyevd").c_str()) != nullptr) return &spelling;
  return nullptr;
}

// A count whose low half is 1 and which is negative as a whole: a library with 32-bit integers sums one element, one with
// 64-bit integers none.
bool hasWideIntegers(void* handle, const Spelling& spelling, bool& known) {
  using Sum = double (*)(const Int*, const double*, const Int*);
  const auto sum = reinterpret_cast<Sum>(dlsym(handle, spelling.of("dasum").c_str()));
  known = sum != nullptr;
  if (!known) return false;
  const Int count = static_cast<Int>(0xFFFFFFFF00000001ull), step = 1;
  const double one = 1;
  return sum(&count, &one, &step) == 0;
}

template <class T>
bool find(void* handle, char precision, const Spelling& spelling, LapackFunctions<T>& functions,
          std::string& error) {
#define MERCER_LAPACK(name, parameters)                                                            \
  {                                                                                                \
    const std::string symbol = spelling.of(precision + std::string(#name));                        \
    functions.name = reinterpret_cast<decltype(functions.name)>(dlsym(handle, symbol.c_str()));    \
    if (functions.name == nullptr) {                                                               \
      error = "it has no routine " + symbol;                                                       \
      return false;                                                                                \
    }                                                                                              \
  }
#include "lapack-symbols.inc"
#undef MERCER_LAPACK
  return true;
}

std::string realPath(void* handle, const std::string& fallback) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name != nullptr && *map->l_name != '\0')
    return map->l_name;
  return fallback;
}

// OPENBLAS_NUM_THREADS=1 for as long as the library is being opened: it starts its threads then, and its fork handler stops them in
// the middle of what they compute. The environment becomes another array for that time, never freed and with the variable at its
// end, so that other threads may read either one; nothing that they read moves.
class OneThreadEnvironment {
 public:
  OneThreadEnvironment() {
    size_t count = 0;
    while (environ != nullptr && environ[count] != nullptr) ++count;
    auto** changed = new char*[count + 2]();
    std::copy(environ, environ + count, changed);
    size_t at = 0;
    while (at < count && std::strncmp(changed[at], kEntry, kName + 1) != 0) ++at;
    before_ = changed[at];
    changed[at] = kEntry;
    __atomic_store_n(&environ, changed, __ATOMIC_RELEASE);
  }

  ~OneThreadEnvironment() {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      if (*entry != kEntry) continue;
      if (before_ != nullptr || entry[1] == nullptr)
        *entry = before_;
      else
        unsetenv("OPENBLAS_NUM_THREADS");  // another thread has added variables meanwhile
      return;
    }
  }

  OneThreadEnvironment(const OneThreadEnvironment&) = delete;
  OneThreadEnvironment& operator=(const OneThreadEnvironment&) = delete;

 private:
  static constexpr size_t kName = sizeof "OPENBLAS_NUM_THREADS" - 1;
  static char kEntry[];
  char* before_;
};

char OneThreadEnvironment::kEntry[] = "OPENBLAS_NUM_THREADS=1";

void* openLibrary(const std::string& path) {
  const OneThreadEnvironment environment;
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

const Lapack* Lapack::get() { return opened.load(std::memory_order_acquire); }

template <>
const LapackFunctions<float>& Lapack::functions<float>() const {
  onOneThread();
  return single_;
}
template <>
const LapackFunctions<double>& Lapack::functions<double>() const {
  onOneThread();
  return double_;
}

bool Lapack::open(const std::string& path, std::string& error) {
  const std::lock_guard<std::mutex> lock(openMutex);
  if (get() != nullptr) return true;
  void* handle = openLibrary(path);
  if (handle == nullptr) {
    const char* reason = dlerror();
    error = reason == nullptr ? "the loader gave no reason" : reason;
    return false;
  }
  auto* found = new Lapack();
  found->path_ = realPath(handle, path);
  if (!found->resolve(handle, error)) {
    delete found;
    dlclose(handle);
    return false;
  }
  found->findVendor(handle);
  opened.store(found, std::memory_order_release);
  return true;
}

bool Lapack::resolve(void* handle, std::string& error) {
  const Spelling* spelling = spellingOf(handle);
  if (spelling == nullptr) {
    error = "it has no routine dsyevd_, so it is no LAPACK";
    return false;
  }
  bool known = false;
  ilp64_ = hasWideIntegers(handle, *spelling, known);
  if (!known) {
    error = "it has no routine " + spelling->of("dasum");
    return false;
  }
  return find(handle, 's', *spelling, single_, error) && find(handle, 'd', *spelling, double_, error);
}

// The library computes on the thread that calls it: threads of its own do not survive a fork in the middle of a call, and the pool's
// are there. OpenBLAS and oneMKL have one setting for the process, BLIS and OpenMP one for each thread.
void Lapack::findVendor(void* handle) {
  struct Control {
    const char* vendor;
    const char* symbol;
  };
  constexpr Control controls[] = {
      {"OpenBLAS", "openblas_set_num_threads"},
      {"OpenBLAS", "openblas_set_num_threads64_"},
      {"OpenBLAS", "scipy_openblas_set_num_threads"},
      {"OpenBLAS", "scipy_openblas_set_num_threads64_"},
      {"MKL", "MKL_Set_Num_Threads"},
  };
  vendor_ = "LAPACK";
  for (const Control& control : controls) {
    void* symbol = dlsym(handle, control.symbol);
    if (symbol == nullptr) continue;
    vendor_ = control.vendor;
    reinterpret_cast<void (*)(int)>(symbol)(1);
    break;
  }
  void* blis = dlsym(handle, "bli_thread_set_num_threads");
  if (blis != nullptr && vendor_ == "LAPACK") {
    vendor_ = "BLIS";
    setThreadsOfBlis_ = reinterpret_cast<void (*)(int64_t)>(blis);
  }
  setThreadsOfOpenMP_ = reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
}

void Lapack::onOneThread() const {
  static thread_local bool done = false;
  if (std::exchange(done, true)) return;
  if (setThreadsOfBlis_ != nullptr) setThreadsOfBlis_(1);
  if (setThreadsOfOpenMP_ != nullptr) setThreadsOfOpenMP_(1);
}

}  // namespace mercer::cpu
