// Compiles what takes long: in a worker thread that is ended, or in the main thread until a signal ends the process.
import { Worker, isMainThread } from 'node:worker_threads';
import { cpu } from '../dist/index.js';

const { level } = cpu.info();
// A constant expression that takes a compiler minutes.
const slow = `
constexpr unsigned long f(unsigned long n) { unsigned long s = 0; for (unsigned long i = 0; i < n; i++) s = s * 31 + i; return s; }
template <int N> struct Slow { static constexpr unsigned long value = f(200000 + N) + Slow<N - 1>::value; };
template <> struct Slow<0> { static constexpr unsigned long value = 0; };
extern "C" void k(const void*, long, long, void* to) { *(unsigned long*)to = Slow<800>::value; }`;

if (isMainThread && process.argv[2] === 'worker') {
  const worker = new Worker(new URL(import.meta.url));
  await new Promise((resolve) => worker.once('online', resolve));
  process.stdin.once('data', () => {
    void worker.terminate().then(() => console.log('terminated'));
  });
  process.stdin.once('end', () => process.exit());
} else {
  await cpu.compile({ source: slow, level });
}
