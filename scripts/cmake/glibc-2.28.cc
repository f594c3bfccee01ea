// Lets a file that is linked on a newer glibc load on glibc 2.28 (docs/adr/0021). It is part of every addon and hidden in it:
// the addon's code and the static C++ library find these names here before the newest versions of the C library.
// - Functions with a version after 2.28, most because they moved into libc.so.6, are jumps to their version before it.
// - What 2.28 does not have is defined.
// scripts/lib/check-addon.mjs names what is missing here.
#ifdef __linux__
#include <features.h>
#endif

// Where this is built on a glibc before 2.34, the names are not what it means, and what is built is for that machine.
#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
#if __GLIBC_PREREQ(2, 34)
#include <errno.h>
#include <pthread.h>
#include <sys/random.h>
#include <time.h>

// A jump serves any signature: registers, stack and return address stay, so that dlopen still sees its caller.
#ifdef __x86_64__
#define MERCER_OLDER(alias, name, x64) \
  __asm__(".symver " #alias ", " #name "@GLIBC_" #x64);
#define MERCER_JUMP(alias) "endbr64\n jmp *" #alias "@GOTPCREL(%rip)\n"
#else
#define MERCER_OLDER(alias, name, x64) __asm__(".symver " #alias ", " #name "@GLIBC_2.17");
#define MERCER_JUMP(alias) \
  "hint 34\n adrp x16, :got:" #alias "\n ldr x16, [x16, :got_lo12:" #alias "]\n br x16\n"
#endif

// Name, version on x86-64 (that on arm64 is 2.17), and the library that had it then, which portable.cmake reads. Each is in a
// section of its own, so that the linker drops what nobody calls.
#define MERCER_OLD(name, x64, library)                                             \
  MERCER_OLDER(mercer_old_##name, name, x64)                              \
  __asm__(".pushsection .text.mercer_" #name ", \"ax\", %progbits\n"      \
          ".globl " #name "\n .hidden " #name "\n .type " #name ", %function\n" \
          ".balign 16\n" #name ":\n" MERCER_JUMP(mercer_old_##name)       \
          ".size " #name ", . - " #name "\n .popsection\n");

// 2.29: they no longer report errors through matherr.
MERCER_OLD(exp, 2.2.5, libm.so.6)
MERCER_OLD(exp2, 2.2.5, libm.so.6)
MERCER_OLD(log, 2.2.5, libm.so.6)
MERCER_OLD(log2, 2.2.5, libm.so.6)
MERCER_OLD(pow, 2.2.5, libm.so.6)
// 2.32 and 2.34: moved from libpthread and libdl.
MERCER_OLD(__pthread_key_create, 2.2.5, libpthread.so.0)
MERCER_OLD(dladdr, 2.2.5, libdl.so.2)
MERCER_OLD(dlclose, 2.2.5, libdl.so.2)
MERCER_OLD(dlerror, 2.2.5, libdl.so.2)
MERCER_OLD(dlinfo, 2.3.3, libdl.so.2)
MERCER_OLD(dlopen, 2.2.5, libdl.so.2)
MERCER_OLD(dlsym, 2.2.5, libdl.so.2)
MERCER_OLD(pthread_attr_getstack, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_attr_setstacksize, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_create, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_detach, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_getaffinity_np, 2.3.4, libpthread.so.0)
MERCER_OLD(pthread_getattr_np, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_getspecific, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_join, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_key_create, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_key_delete, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_kill, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_mutex_trylock, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_mutexattr_destroy, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_mutexattr_init, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_mutexattr_settype, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_once, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_rwlock_rdlock, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_rwlock_tryrdlock, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_rwlock_trywrlock, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_rwlock_unlock, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_rwlock_wrlock, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_setaffinity_np, 2.3.4, libpthread.so.0)
MERCER_OLD(pthread_setname_np, 2.12, libpthread.so.0)
MERCER_OLD(pthread_setspecific, 2.2.5, libpthread.so.0)
MERCER_OLD(pthread_sigmask, 2.2.5, libpthread.so.0)
MERCER_OLD(sem_destroy, 2.2.5, libpthread.so.0)
MERCER_OLD(sem_init, 2.2.5, libpthread.so.0)
MERCER_OLD(sem_post, 2.2.5, libpthread.so.0)
MERCER_OLD(sem_wait, 2.2.5, libpthread.so.0)

// Calls of stat and its kin carried the layout's number until 2.33.
MERCER_OLDER(mercer_xstat, __xstat, 2.2.5)
MERCER_OLDER(mercer_fxstat, __fxstat, 2.2.5)
MERCER_OLDER(mercer_lxstat, __lxstat, 2.2.5)
MERCER_OLDER(mercer_fxstatat, __fxstatat, 2.4)

#define MERCER_HIDDEN __attribute__((visibility("hidden"), used))

extern "C" {

int mercer_xstat(int layout, const char* path, void* status);
int mercer_fxstat(int layout, int file, void* status);
int mercer_lxstat(int layout, const char* path, void* status);
int mercer_fxstatat(int layout, int folder, const char* path, void* status, int flags);

#ifdef __x86_64__
#define MERCER_STAT_LAYOUT 1
#else
#define MERCER_STAT_LAYOUT 0
#endif

#define MERCER_STAT(name)                                        \
  MERCER_HIDDEN int name(const char* path, void* status) {       \
    return mercer_xstat(MERCER_STAT_LAYOUT, path, status);       \
  }
#define MERCER_FSTAT(name)                                       \
  MERCER_HIDDEN int name(int file, void* status) {               \
    return mercer_fxstat(MERCER_STAT_LAYOUT, file, status);      \
  }
#define MERCER_LSTAT(name)                                       \
  MERCER_HIDDEN int name(const char* path, void* status) {       \
    return mercer_lxstat(MERCER_STAT_LAYOUT, path, status);      \
  }
#define MERCER_FSTATAT(name)                                                   \
  MERCER_HIDDEN int name(int folder, const char* path, void* status, int flags) { \
    return mercer_fxstatat(MERCER_STAT_LAYOUT, folder, path, status, flags);   \
  }
MERCER_STAT(stat)
MERCER_STAT(stat64)
MERCER_FSTAT(fstat)
MERCER_FSTAT(fstat64)
MERCER_LSTAT(lstat)
MERCER_LSTAT(lstat64)
MERCER_FSTATAT(fstatat)
MERCER_FSTATAT(fstatat64)

// 2.32: no, this process has threads.
MERCER_HIDDEN char __libc_single_threaded = 0;

// 2.36, for std::random_device.
MERCER_HIDDEN unsigned arc4random() {
  unsigned value = 0;
  while (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
  }
  return value;
}

// 2.30. The older call knows the wall clock only, which may be set: a wait is cut into seconds, each of which may end as a
// spurious wake-up, so that a clock set back prolongs it by a second at most.
MERCER_HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                         clockid_t clock, const timespec* deadline) {
  constexpr long second = 1000000000;
  timespec now, until;
  if (clock_gettime(clock, &now) != 0) return EINVAL;
  long long left = (deadline->tv_sec - now.tv_sec) * 1ll * second + (deadline->tv_nsec - now.tv_nsec);
  if (left < 0) left = 0;
  const bool whole = left <= second;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += static_cast<long>(whole ? left : second);
  until.tv_sec += until.tv_nsec / second;
  until.tv_nsec %= second;
  const int result = pthread_cond_timedwait(condition, mutex, &until);
  return result == ETIMEDOUT && !whole ? 0 : result;
}

}  // extern "C"
#endif
#endif
