// Cores that this process may use: affinity mask and cgroup quota.
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "cpu-info.h"

namespace mercer::cpu {

namespace {

constexpr int kMaxCpus = 8192;

size_t affinityCores() {
  cpu_set_t* set = CPU_ALLOC(kMaxCpus);
  const size_t size = CPU_ALLOC_SIZE(kMaxCpus);
  size_t count = 0;
  if (set != nullptr && sched_getaffinity(0, size, set) == 0)
    count = static_cast<size_t>(CPU_COUNT_S(size, set));
  if (set != nullptr) CPU_FREE(set);
  return count != 0 ? count : std::max(1u, std::thread::hardware_concurrency());
}

// cgroup v2 writes "max 100000" or "200000 100000".
double quotaV2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return HUGE_VAL;
  return std::strtod(quota.c_str(), nullptr) / period;
}

double quotaV1(const std::string& folder) {
  double quota = 0, period = 0;
  std::ifstream quotaFile(folder + "/cpu.cfs_quota_us"), periodFile(folder + "/cpu.cfs_period_us");
  if (!(quotaFile >> quota) || !(periodFile >> period) || quota <= 0 || period <= 0)
    return HUGE_VAL;
  return quota / period;
}

// A group's limit binds its children: look at the whole way up.
template <class Quota>
double smallest(const std::string& root, std::string path, Quota quota) {
  double cores = quota(root);
  while (!path.empty() && path != "/") {
    cores = std::min(cores, quota(root + path));
    path.resize(path.find_last_of('/'));
  }
  return cores;
}

double cgroupCores() {
  double cores = HUGE_VAL;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      cores = std::min(cores, smallest("/sys/fs/cgroup", path, quotaV2));
      continue;
    }
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');)
      if (name == "cpu") cores = std::min(cores, smallest("/sys/fs/cgroup/cpu", path, quotaV1));
  }
  return cores;
}

}  // namespace

size_t availableCores() {
  const size_t cores = affinityCores();
  const double quota = cgroupCores();
  if (!(quota < static_cast<double>(cores))) return cores;
  return std::max<size_t>(1, static_cast<size_t>(std::ceil(quota)));
}

}  // namespace mercer::cpu
