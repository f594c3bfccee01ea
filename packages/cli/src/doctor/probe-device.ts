import { cdist, device, tensor } from '@mercer/core';

/** A device and whether a small distance came out right on it. */
export interface Backend {
  readonly id: string;
  readonly name?: string;
  readonly works: boolean;
  /** Why it does not work. */
  readonly error?: string;
}

/**
 * Compiles and runs one kernel on the device: the distance between (0, 0) and (3, 4). On a CPU the interpreter runs it where the
 * compiler fails, as it does for calls. Never throws.
 */
export async function probeDevice(id: string): Promise<Backend> {
  try {
    const target = device(id as 'cpu');
    const a = await tensor([[0, 0]], { dtype: 'float32', device: target });
    const b = await tensor([[3, 4]], { dtype: 'float32', device: target });
    if (target.kind === 'cpu') await cdist.prepare(a, b, { p: 2 }).catch(() => undefined);
    const [distance] = await (await cdist(a, b, { p: 2 })).toTypedArray();
    if (distance === 5) return { id, name: target.name, works: true };
    return {
      id,
      name: target.name,
      works: false,
      error: `the distance of (0, 0) and (3, 4) came out as ${distance}`,
    };
  } catch (error) {
    return { id, works: false, error: error instanceof Error ? error.message : String(error) };
  }
}
