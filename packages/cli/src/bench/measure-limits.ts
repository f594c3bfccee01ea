import { cpu, cpuExecutor, empty, type Device } from '@mercer/core';
import { measureHandWritten } from './measure-hand-written.js';
import { limitLoops, type LimitLoop, type LimitWork } from './limit-loops.js';
import type { DeviceLimitsReport, MeasuredLimit } from './limits.js';
import { spreadOf } from './statistics.js';
import { measureCalls, timeCalls } from './timer.js';

const TARGET_MS = 25;
const CALLS = 9;
const LONGEST_LOOP = 2 ** 30;
const ENQUEUE_ROUNDS = 400;
/** Launches of one round: few enough that no queue fills. */
const ENQUEUED = 32;
const CPU_COPY_BYTES = 2 ** 28;
const LEFT_OUT =
  'loops of arithmetic, since they have to be compiled and kernels are interpreted here; without them nothing has a floor';

/**
 * Measures every limit of a device: what its arithmetic, its memory and its launches can do at most. Loops of arithmetic are compiled: where the CPU
 * interprets kernels they are left out, and what is measured beside them has no floor.
 */
export async function measureLimits(
  device: Device,
  onProgress: (title: string) => void,
): Promise<DeviceLimitsReport> {
  const limits: MeasuredLimit[] = [];
  const compiles = device.limits.kind === 'cuda' || (await cpuExecutor()).executor === 'compiled';
  const loops = compiles ? limitLoops(device) : [];
  await device.loadAll(loops.map(({ kernel }) => kernel)); // compiled side by side
  for (const loop of loops) {
    onProgress(loop.title);
    limits.push(await measureLoop(device, loop));
  }
  if (device.limits.kind === 'cpu') {
    if (compiles) {
      onProgress('a loop by hand');
      limits.push(await measureHandWritten(device, device.limits));
    }
    onProgress('copy and launch');
    limits.push(await measureCpuCopy(device), await measureCpuLaunch(device));
    for (const loop of loops.slice(0, 1)) limits.push(await measureCpuEnqueue(device, loop));
  }
  return {
    device: device.id,
    deviceName: device.name,
    cacheBytes: cacheBytes(device),
    limits,
    ...(!compiles && { leftOut: LEFT_OUT }),
  };
}

function cacheBytes({ limits }: Device): number {
  if (limits.kind === 'cuda') return limits.l2Bytes;
  return Math.max(limits.l2Bytes * limits.cores, cpu.info().l3Bytes);
}

async function measureLoop(device: Device, loop: LimitLoop): Promise<MeasuredLimit> {
  const loaded = await device.load(loop.kernel);
  const pointers = loop.storageBytes.map((bytes) =>
    device.allocate(bytes, { purpose: 'limit loop' }),
  );
  let scalars = loop.scalars(loop.length);
  const launch = (): void => {
    loaded.launch(device.defaultStream, { pointers, scalars });
  };
  try {
    await timeCalls(device, 3, launch);
    if (!loop.fixed) {
      const once = Math.min(...(await timeCalls(device, 3, launch)));
      const length = Math.round((loop.length * TARGET_MS) / Math.max(once, 1e-3));
      scalars = loop.scalars(Math.min(LONGEST_LOOP, Math.max(1, length)));
      await timeCalls(device, 2, launch);
    }
    // the shortest launch is the floor of calls that are measured likewise
    const times = loop.fixed
      ? await measureCalls(device, 1, launch)
      : await timeCalls(device, CALLS, launch);
    const ms = spreadOf(times);
    return { limit: loop.limit, title: loop.title, ms, ...rates(loop.work(scalars), ms.p10) };
  } finally {
    for (const storage of pointers) storage.dispose();
  }
}

/** The CPU has no loop of its own for these: a copy of a tensor and the smallest fill stand for them. */
async function measureCpuCopy(device: Device): Promise<MeasuredLimit> {
  const shape = [CPU_COPY_BYTES / 4];
  const [from, to] = [empty(shape, { device }), empty(shape, { device })];
  try {
    await to.copyFrom(await from.fill(1));
    const ms = spreadOf(await timeAwaited(CALLS, () => to.copyFrom(from)));
    const title = 'copy of a tensor, read and write';
    return { limit: 'copy', title, ms, ...rates({ bytes: 2 * CPU_COPY_BYTES }, ms.p10) };
  } finally {
    from.dispose();
    to.dispose();
  }
}

async function measureCpuLaunch(device: Device): Promise<MeasuredLimit> {
  const one = empty([1], { device });
  try {
    await timeAwaited(200, () => one.fill(1));
    const ms = spreadOf(await timeAwaited(500, () => one.fill(1)));
    return { limit: 'launch', title: 'launch of the smallest kernel, waited for', ms };
  } finally {
    one.dispose();
  }
}

/** What one launch takes of the JavaScript thread: the least work of a loop, with room in the queue, not waited for. */
async function measureCpuEnqueue(device: Device, loop: LimitLoop): Promise<MeasuredLimit> {
  const loaded = await device.load(loop.kernel);
  const pointers = loop.storageBytes.map((bytes) =>
    device.allocate(bytes, { purpose: 'limit loop' }),
  );
  const values = { pointers, scalars: { ...loop.scalars(1), tasks: 1 } };
  const stream = device.defaultStream;
  try {
    const times: number[] = [];
    for (let round = 0; round < ENQUEUE_ROUNDS; round++) {
      await stream.synchronize();
      const start = performance.now();
      for (let i = 0; i < ENQUEUED; i++) loaded.launch(stream, values);
      times.push((performance.now() - start) / ENQUEUED);
    }
    await stream.synchronize();
    const ms = spreadOf(times.slice(ENQUEUE_ROUNDS / 4));
    return { limit: 'enqueue', title: 'launch from JavaScript, not waited for', ms };
  } finally {
    for (const storage of pointers) storage.dispose();
  }
}

async function timeAwaited(
  calls: number,
  call: () => Promise<{ ready(): Promise<unknown> }>,
): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < calls; i++) {
    const start = performance.now();
    await (await call()).ready();
    times.push(performance.now() - start);
  }
  return times;
}

function rates(work: LimitWork, ms: number): Partial<MeasuredLimit> {
  const perSecond = {
    bytesPerSecond: work.bytes,
    pairsPerSecond: work.pairs,
    issuePerSecond: work.issueSlots,
    specialPerSecond: work.specialOps,
  };
  return Object.fromEntries(
    Object.entries(perSecond).flatMap(([name, amount]) =>
      amount === undefined || amount === 0 || ms === 0 ? [] : [[name, (amount / ms) * 1e3]],
    ),
  );
}
