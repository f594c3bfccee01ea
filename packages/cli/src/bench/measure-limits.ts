import { type Device, type Storage } from '@mercer/core';
import { type KernelCost } from '@mercer/core/bench';
import { limitLoops, type LimitLoop } from './limit-loops.js';
import type { DeviceLimitsReport, MeasuredLimit } from './limits.js';
import { spreadOf } from './statistics.js';
import { timeCalls } from './timer.js';

const TARGET_MS = 25;
const CALLS = 9;
const FIRST_STEPS = 256;
const COPY_BYTES = { cuda: 2 ** 29, cpu: 2 ** 26 } as const;

/** Measures every limit of a device: what its arithmetic, its memory and its launches can do at most. */
export async function measureLimits(
  device: Device,
  onProgress: (title: string) => void,
): Promise<DeviceLimitsReport> {
  const limits: MeasuredLimit[] = [];
  const kernels = limitLoops(device);
  for (const entry of kernels) {
    onProgress(entry.title);
    limits.push(await measureLimit(device, entry));
  }
  return { device: device.id, deviceName: device.name, limits };
}

async function measureLimit(device: Device, entry: LimitLoop): Promise<MeasuredLimit> {
  const { kernel, limit, title } = entry;
  const loaded = await device.load(kernel);
  const moves = kernel.params.some((param) => param.name === 'a');
  const copyElements = COPY_BYTES[device.kind] / 16; // the copy loop counts in units of 16 bytes
  let k = moves ? copyElements : FIRST_STEPS;
  const storages = allocateFor(device, entry, k);
  try {
    const launch = (): void => {
      loaded.launch(device.defaultStream, { pointers: storages, scalars: { k, p: 1.3 } });
    };
    await timeCalls(device, 3, launch);
    if (!moves && kernel.params.some((param) => param.name === 'k')) {
      const [once = 1] = await timeCalls(device, 1, launch);
      k = Math.min(2 ** 30, Math.max(1, Math.round((k * TARGET_MS) / Math.max(once, 1e-3))));
      await timeCalls(device, 2, launch);
    }
    const ms = spreadOf(await timeCalls(device, CALLS, launch));
    return { limit, title, ms, ...rates(entry, k, ms.median) };
  } finally {
    for (const storage of storages) storage.dispose();
  }
}

/** One element for each thread of a loop, whole buffers for a copy. */
function allocateFor(device: Device, { kernel }: LimitLoop, k: number): Storage[] {
  const pointers = kernel.params.filter((param) => param.kind === 'pointer');
  const copies = pointers.length > 1;
  const geometry = kernel.geometry({ k, p: 1.3 });
  const threads = 'grid' in geometry ? geometry.grid[0] * geometry.block[0] : geometry.tasks * 64;
  return pointers.map(() =>
    device.allocate(copies ? k * 16 : threads * 8, { purpose: 'limit loop' }),
  );
}

function rates({ kernel, pairs }: LimitLoop, k: number, ms: number): Partial<MeasuredLimit> {
  const cost: Partial<KernelCost> = kernel.cost?.({ k, p: 1.3 }) ?? {};
  const perSecond = (amount: number | undefined): number | undefined =>
    amount === undefined || amount === 0 || ms === 0 ? undefined : (amount / ms) * 1e3;
  const all = {
    bytesPerSecond: perSecond(cost.bytes),
    pairsPerSecond: perSecond(pairs?.({ k, p: 1.3 })),
    issuePerSecond: perSecond(cost.issueSlots),
    specialPerSecond: perSecond(cost.specialOps),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
