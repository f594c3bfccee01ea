import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { JitCache } from '../cache.js';
import type { CompileUnit } from '../types.js';
import type { ChildGet, ChildSettings } from './child-jobs.test-support.js';
import { fakeToolchain } from './fake-toolchain.test-support.js';

const { settings, unit, calls } = workerData as {
  settings: ChildSettings;
  unit: CompileUnit;
  calls: number;
};
const cache = JitCache.open(settings.cache);
const toolchain = fakeToolchain(settings.toolchain);
const gets = await Promise.all(
  Array.from({ length: calls }, async (): Promise<ChildGet> => {
    const { origin, binary, log, loweredNames } = await cache.get(unit, toolchain);
    const sha = createHash('sha256').update(binary).digest('hex');
    return { origin, sha, log, loweredNames, ms: 0 };
  }),
);
await cache.close();
parentPort?.postMessage(gets);
