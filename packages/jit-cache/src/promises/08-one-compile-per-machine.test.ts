import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acquireLease, withHeartbeat, type LeaseRequest } from '../compile-once.js';
import { limitsFor } from '../store/eviction.js';
import { isOwnerDead, readLease, takeLease, type Lease } from '../store/lease.js';
import { StoreSession } from '../store/store-session.js';
import type { System } from '../store/system.js';
import { compilesIn, fakeUnit } from '../testing/fake-toolchain.test-support.js';
import { startChild } from '../testing/run-child.test-support.js';
import { temporaryDirectory } from '../testing/temporary-directory.test-support.js';
import { testSystem } from '../testing/test-system.test-support.js';

const key = new Uint8Array(32).fill(7);

function sessionIn(directory: string, system: System): StoreSession {
  return new StoreSession({
    system,
    directory,
    readOnly: false,
    logPages: limitsFor(2 ** 26).logPages,
    onWarning: ({ message }) => {
      throw new Error(message);
    },
    onSetAside: () => undefined,
  });
}

function requestIn(
  directory: string,
  owner: string,
  system: System,
  signal = new AbortController().signal,
): LeaseRequest {
  const session = sessionIn(directory, system);
  return { session, system, key, owner, signal, keepsAlive: true, onWait: () => undefined };
}

test('twelve processes that need one key: one compile', async () => {
  const counterFile = join(temporaryDirectory(), 'count');
  const settings = {
    cache: { directory: temporaryDirectory() },
    toolchain: { counterFile, delayMs: 300 },
    waits: true,
  };
  const children = Array.from({ length: 12 }, () =>
    startChild(settings, { kind: 'get', units: [fakeUnit('wanted by all')] }),
  );
  await Promise.all(children.map((child) => child.line('ready')));
  for (const child of children) child.begin();
  const results = await Promise.all(children.map(({ result }) => result));
  expect(compilesIn(counterFile)).toHaveLength(1);
  expect(new Set(results.map(({ gets }) => gets[0]?.sha)).size).toBe(1);
  expect(results.filter(({ gets }) => gets[0]?.origin === 'compiled')).toHaveLength(1);
});

test('the owner is killed in its compile: another takes over at once, two compiles in all', async () => {
  const counterFile = join(temporaryDirectory(), 'count');
  const cache = { directory: temporaryDirectory() };
  const job = { kind: 'get', units: [fakeUnit('orphaned')] } as const;
  const owner = startChild({ cache, toolchain: { counterFile, delayMs: 60_000 } }, job);
  while (compilesIn(counterFile).length === 0) await new Promise((next) => setTimeout(next, 10));
  const waiting = Array.from({ length: 3 }, () =>
    startChild({ cache, toolchain: { counterFile, delayMs: 50 }, waits: true }, job),
  );
  await Promise.all(waiting.map((child) => child.line('ready')));
  for (const child of waiting) child.begin();
  await new Promise((next) => setTimeout(next, 300));
  expect(compilesIn(counterFile)).toHaveLength(1);
  owner.process.kill('SIGKILL');
  await owner.end;
  const killed = performance.now();
  const results = await Promise.all(waiting.map(({ result }) => result));
  // Far below the 10 s after which any silent lease ends: the process was seen to be gone.
  expect(performance.now() - killed).toBeLessThan(5000);
  expect(compilesIn(counterFile)).toHaveLength(2);
  expect(new Set(results.map(({ gets }) => gets[0]?.sha)).size).toBe(1);
});

test('whoever waits for another process leaves when its signal aborts, and the owner keeps the lease', async () => {
  const directory = temporaryDirectory();
  const owner = requestIn(directory, 'owner', testSystem());
  expect(await acquireLease(owner)).toEqual({ kind: 'compile', held: true });
  const controller = new AbortController();
  const waiting = requestIn(directory, 'waiting', testSystem(), controller.signal);
  const outcome = acquireLease(waiting);
  const reason = new Error('given up');
  setTimeout(() => {
    controller.abort(reason);
  }, 100);
  await expect(outcome).rejects.toBe(reason);
  const third = requestIn(directory, 'third', testSystem(), AbortSignal.timeout(200));
  await expect(acquireLease(third)).rejects.toThrow('timeout');
  for (const { session } of [owner, waiting, third]) session.close();
});

test('a living owner whose heart stands still is replaced, though its lease ends tomorrow', async () => {
  const directory = temporaryDirectory();
  // The clock was set back after the lease was taken; and the owner is not visible from here.
  const tomorrow = testSystem({ now: () => Date.now() + 86_400_000, pidNamespace: 'pid:[1]' });
  const dead = requestIn(directory, 'dead', tomorrow);
  expect(await acquireLease(dead)).toEqual({ kind: 'compile', held: true });
  dead.session.close();
  const fast = testSystem({ monotonicMs: () => performance.now() * 40 });
  const started = fast.monotonicMs();
  const next = requestIn(directory, 'next', fast);
  expect(await acquireLease(next)).toEqual({ kind: 'compile', held: true });
  const tookMs = fast.monotonicMs() - started;
  expect(tookMs).toBeGreaterThan(9000);
  expect(tookMs).toBeLessThan(40_000);
  next.session.close();
});

test('a heartbeat keeps the lease through a compile longer than it lasts', async () => {
  const directory = temporaryDirectory();
  const owner = requestIn(directory, 'owner', testSystem());
  await acquireLease(owner);
  const before = await owner.session.read((database) => readLease(database, key));
  const after = await withHeartbeat(owner, async () => {
    await new Promise((next) => setTimeout(next, 2800));
    return owner.session.read((database) => readLease(database, key));
  });
  expect(before?.beat).toBe(0);
  expect(after?.beat).toBe(1);
  expect((after?.expires ?? 0) - (before?.expires ?? 0)).toBeGreaterThan(2000);
  owner.session.close();
});

test('a lease is taken over only from the owner that was seen to be dead', async () => {
  const directory = temporaryDirectory();
  const system = testSystem();
  const session = sessionIn(directory, system);
  const outcome = await session.write((database) => {
    takeLease(database, key, 'first', system);
    const seen = readLease(database, key);
    // Two waiters saw the same dead owner; the first of them has replaced it.
    const second = takeLease(database, key, 'second', system, seen);
    const third = takeLease(database, key, 'third', system, seen);
    return { second, third };
  });
  expect(outcome?.second).toBe('mine');
  expect(outcome?.third).toMatchObject({ owner: 'second' });
  session.close();
});

test('who is dead and who only cannot be seen', () => {
  const system = testSystem({
    now: () => 1000,
    isAlive: (pid) => pid === 5,
    startTime: () => 't1',
  });
  const { bootId: boot, pidNamespace: namespace, host } = system;
  const alive: Lease = {
    owner: 'o',
    pid: 5,
    started: 't1',
    boot,
    namespace,
    host,
    beat: 0,
    expires: 2000,
  };
  expect(isOwnerDead(alive, system)).toBe(false);
  expect(isOwnerDead({ ...alive, expires: 999 }, system)).toBe(true);
  expect(isOwnerDead({ ...alive, pid: 6 }, system)).toBe(true);
  // Another process has been given the number since.
  expect(isOwnerDead({ ...alive, started: 't0' }, system)).toBe(true);
  expect(isOwnerDead({ ...alive, boot: 'earlier' }, system)).toBe(true);
  expect(isOwnerDead({ ...alive, boot: 'other', host: 'elsewhere' }, system)).toBe(false);
  expect(isOwnerDead({ ...alive, pid: 6, namespace: 'pid:[2]' }, system)).toBe(false);
});
