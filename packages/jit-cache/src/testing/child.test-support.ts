import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { JitCache } from '../cache.js';
import { loadDriver } from '../store/driver.js';
import { realSystem } from '../store/system.js';
import type { CacheWarning, CompileUnit, Toolchain } from '../types.js';
import type { ChildGet, ChildJob, ChildResult, ChildSettings } from './child-jobs.test-support.js';
import { fakeToolchain, fakeUnit, testToolchain } from './fake-toolchain.test-support.js';
import { watchLoop } from './loop-watch.test-support.js';
import { stormWith } from './storm.test-support.js';
import { namedDriver, spiedDriver } from './test-system.test-support.js';

const { settings, job } = JSON.parse(process.argv[2] ?? '') as {
  settings: ChildSettings;
  job: ChildJob;
};
if (settings.umask !== undefined) process.umask(settings.umask);
// The driver's binary is loaded first: another user may not be allowed to read where it lies.
loadDriver();
if (settings.uid !== undefined) {
  process.setgroups?.([settings.uid]);
  process.setgid?.(settings.uid);
  process.setuid?.(settings.uid);
}

const warnings: Omit<CacheWarning, 'cause'>[] = [];

function openCache(statement?: number): JitCache {
  const onWarning = ({ code, message }: CacheWarning): void => {
    warnings.push({ code, message });
  };
  let count = 0;
  const driver =
    statement === undefined
      ? loadDriver()
      : spiedDriver(() => {
          if (++count === statement) process.kill(process.pid, 'SIGKILL');
        });
  return new JitCache({ ...settings.cache, onWarning }, { ...realSystem(), driver: () => driver });
}

async function getOne(cache: JitCache, unit: CompileUnit, toolchain: Toolchain): Promise<ChildGet> {
  const started = performance.now();
  const { origin, binary, log, loweredNames } = await cache.get(unit, toolchain);
  const sha = createHash('sha256').update(binary).digest('hex');
  return { origin, sha, log, loweredNames, ms: performance.now() - started };
}

async function getUnits(units: readonly CompileUnit[], statement?: number): Promise<ChildResult> {
  const cache = openCache(statement);
  const toolchain = await testToolchain(settings.toolchain);
  const gets: ChildGet[] = [];
  for (const unit of units) gets.push(await getOne(cache, unit, toolchain));
  const stats = await cache.stats();
  await cache.close();
  return { gets, stats, warnings };
}

async function holdLock(path: string, holdMs: number): Promise<void> {
  const connection = loadDriver().open(path, { readOnly: false });
  connection.exec('BEGIN IMMEDIATE');
  console.log('held');
  await sleep(holdMs);
  connection.exec('ROLLBACK');
  connection.close();
}

async function timer(durationMs: number, unitBytes: number): Promise<ChildResult> {
  const cache = openCache();
  const toolchain = fakeToolchain({ ...settings.toolchain, bytes: unitBytes });
  const stop = watchLoop();
  const gets: ChildGet[] = [];
  const end = performance.now() + durationMs;
  for (let n = 0; performance.now() < end; n++) {
    gets.push(await getOne(cache, fakeUnit(`timed ${n}`), toolchain));
    await sleep(20);
  }
  const loop = stop();
  const stats = await cache.stats();
  await cache.close();
  return { gets, stats, warnings, loop };
}

async function storm(durationMs: number, keys: number): Promise<ChildResult> {
  const cache = openCache();
  const found = await stormWith(settings.cache, durationMs, keys);
  const stats = await cache.stats();
  await cache.close();
  return { gets: [], stats, warnings, ...found };
}

async function workers(unit: CompileUnit, count: number, calls: number): Promise<ChildResult> {
  const source = new URL('./worker.test-support.js', import.meta.url);
  const done = Array.from({ length: count }, async () => {
    const worker = new Worker(source, { workerData: { settings, unit, calls } });
    const [answer] = (await once(worker, 'message')) as [ChildGet[]];
    return answer;
  });
  const gets = (await Promise.all(done)).flat();
  const cache = openCache();
  const stats = await cache.stats();
  await cache.close();
  return { gets, stats, warnings };
}

function openFiles(directory: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(directory) ? [path] : [];
    } catch {
      return []; // the descriptor of the listing itself
    }
  });
}

async function terminate(count: number, driver: string): Promise<ChildResult> {
  const bad: string[] = [];
  // busy-worker.test-support.ts as one file: vitest.global-setup.ts
  const source = new URL('../busy-worker.test-bundle.js', import.meta.url);
  const workerOptions = { workerData: { cache: settings.cache, driver } };
  let left = count;
  let done = false;
  const endOne = async (): Promise<void> => {
    while (left-- > 0) {
      const worker = new Worker(source, workerOptions);
      worker.on('error', (error) => bad.push(String(error)));
      const [message] = (await once(worker, 'message')) as [string];
      worker.on('message', (text: string) => bad.push(text));
      if (message) bad.push(message);
      await sleep(Math.random() * 25);
      await worker.terminate();
    }
  };
  const system = { ...realSystem(), driver: () => namedDriver(driver) };
  const useStore = async (): Promise<void> => {
    for (let n = 0; !done; n++) {
      const cache = new JitCache(
        { ...settings.cache, onWarning: ({ message }) => bad.push(message) },
        system,
      );
      await getOne(cache, fakeUnit(`main ${n % 20}`), fakeToolchain());
      const { setAside, corrupt } = (await cache.stats()).counters;
      if (setAside + corrupt > 0) bad.push(`${setAside} set aside, ${corrupt} corrupt`);
      await cache.close();
      await sleep(5);
    }
  };
  const main = useStore();
  await Promise.all([endOne(), endOne(), endOne()]);
  done = true;
  await main;
  const stillOpen = openFiles(settings.cache.directory ?? '');
  const cache = openCache();
  const { corrupt } = await cache.verify();
  if (corrupt > 0) bad.push(`${corrupt} corrupt`);
  const stats = await cache.stats();
  await cache.close();
  return { gets: [], stats, warnings, bad, openFiles: stillOpen };
}

async function run(): Promise<ChildResult | undefined> {
  switch (job.kind) {
    case 'get':
      return getUnits(job.units);
    case 'die-at':
      return getUnits(job.units, job.statement);
    case 'hold-lock':
      await holdLock(job.path, job.holdMs);
      return undefined;
    case 'timer':
      return timer(job.durationMs, job.unitBytes);
    case 'storm':
      return storm(job.durationMs, job.keys);
    case 'terminate':
      return terminate(job.workers, job.driver);
    case 'workers':
      return workers(job.unit, job.workers, job.calls);
  }
}

if (settings.waits) {
  console.log('ready');
  await once(process.stdin, 'data');
  process.stdin.destroy();
}
const result = await run();
if (result) console.log(JSON.stringify(result));
