#include "lapack.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <mutex>

#include "../pool.h"

namespace mercer::cpu {

namespace {

std::atomic<const Lapack*> opened{nullptr};
std::mutex openMutex;

// How a library spells its routines: prefix + dpotrf + suffix. The name itself is lower case with an underscore; libraries with
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
    if (dlsym(handle, spelling.of("dpotrf").c_str()) != nullptr) return &spelling;
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

std::shared_mutex& gate() {
  static auto* mutex = new std::shared_mutex();
  return *mutex;
}

}  // namespace

const Lapack* Lapack::get() { return opened.load(std::memory_order_acquire); }

template <>
const LapackFunctions<float>& Lapack::functions<float>() const {
  return single_;
}
template <>
const LapackFunctions<double>& Lapack::functions<double>() const {
  return double_;
}

bool Lapack::open(const std::string& path, std::string& error) {
  const std::lock_guard<std::mutex> lock(openMutex);
  if (get() != nullptr) return true;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
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
  found->findThreadControl(handle);
  found->setThreads(1);
  opened.store(found, std::memory_order_release);
  return true;
}

bool Lapack::resolve(void* handle, std::string& error) {
  const Spelling* spelling = spellingOf(handle);
  if (spelling == nullptr) {
    error = "it has no routine dpotrf_, so it is no LAPACK";
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

void Lapack::findThreadControl(void* handle) {
  struct Control {
    const char* vendor;
    const char* symbol;
    bool wide;
  };
  constexpr Control controls[] = {
      {"OpenBLAS", "openblas_set_num_threads", false},
      {"OpenBLAS", "openblas_set_num_threads64_", false},
      {"OpenBLAS", "scipy_openblas_set_num_threads", false},
      {"OpenBLAS", "scipy_openblas_set_num_threads64_", false},
      {"MKL", "MKL_Set_Num_Threads", false},
      {"BLIS", "bli_thread_set_num_threads", true},
  };
  vendor_ = "LAPACK";
  for (const Control& control : controls) {
    void* symbol = dlsym(handle, control.symbol);
    if (symbol == nullptr) continue;
    vendor_ = control.vendor;
    if (control.wide)
      setThreads64_ = reinterpret_cast<void (*)(int64_t)>(symbol);
    else
      setThreads32_ = reinterpret_cast<void (*)(int)>(symbol);
    return;
  }
}

void Lapack::setThreads(int threads) const {
  if (setThreads32_ != nullptr) setThreads32_(threads);
  if (setThreads64_ != nullptr) setThreads64_(threads);
}

LapackThreads::LapackThreads(bool alone) : alone_(alone) {
  if (!alone_) {
    gate().lock_shared();
    return;
  }
  const int threads = static_cast<int>(Pool::get().threads());
  gate().lock();
  Lapack::get()->setThreads(threads);
}

LapackThreads::~LapackThreads() {
  if (!alone_) {
    gate().unlock_shared();
    return;
  }
  Lapack::get()->setThreads(1);
  gate().unlock();
}

}  // namespace mercer::cpu
