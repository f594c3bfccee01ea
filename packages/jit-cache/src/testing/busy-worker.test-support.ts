import { randomBytes } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { JitCache } from '../cache.js';
import { realSystem } from '../store/system.js';
import type { CacheOptions } from '../types.js';
import { fakeToolchain, fakeUnit } from './fake-toolchain.test-support.js';
import { namedDriver } from './test-system.test-support.js';

const { cache: options, driver } = workerData as { cache: CacheOptions; driver: string };
const system = { ...realSystem(), driver: () => namedDriver(driver) };

/** Writes, reads, takes leases and compiles until it is ended. */
async function work(): Promise<never> {
  for (;;) {
    const cache = new JitCache(
      { ...options, onWarning: ({ message }) => parentPort?.postMessage(message) },
      system,
    );
    const calls = Array.from({ length: 8 }, (_, n) => {
      const isNew = n % 2 === 0;
      const unit = fakeUnit(isNew ? randomBytes(8).toString('hex') : `shared ${n}`);
      return cache.get(unit, fakeToolchain({ bytes: 200_000, delayMs: n % 3 }));
    });
    await Promise.all(calls);
    await cache.list();
    if (Math.random() < 0.5) await cache.close();
  }
}

parentPort?.postMessage('');
await work();
