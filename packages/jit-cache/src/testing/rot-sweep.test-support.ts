import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JitCache } from '../cache.js';
import type { CompileUnit } from '../types.js';
import { fakeBinary, fakeToolchain } from './fake-toolchain.test-support.js';

export interface SweepOutcome {
  store: number;
  compiled: number;
  /** Offsets after which the bytes were wrong. */
  readonly wrong: number[];
}

/** Flips one bit at each of `count` places spread over a database, and gets its one unit each time. */
export async function rotSweep(
  file: string,
  unit: CompileUnit,
  count: number,
  copy: () => string,
): Promise<SweepOutcome> {
  const bytes = readFileSync(file);
  const expected = fakeBinary('fake 1.0', unit, 20_000);
  const outcome: SweepOutcome = { store: 0, compiled: 0, wrong: [] };
  for (let n = 0; n < count; n++) {
    // Half of the places in the header and schema, where a flip does the strangest things.
    const span = n % 2 === 0 ? 4096 : bytes.length;
    const at = Math.floor(((n + 0.5) / count) * span);
    const directory = copy();
    const rotten = Buffer.from(bytes);
    rotten.writeUInt8(rotten.readUInt8(at) ^ (1 << (n % 8)), at);
    writeFileSync(join(directory, 'kernels-v1.sqlite'), rotten);
    const cache = JitCache.open({ directory, onWarning: () => undefined });
    const { origin, binary, loweredNames } = await cache.get(
      unit,
      fakeToolchain({ bytes: 20_000 }),
    );
    const right = Buffer.compare(binary, expected) === 0 && loweredNames['entry'] === '_Zentry';
    if (!right) outcome.wrong.push(at);
    if (origin === 'store') outcome.store++;
    else outcome.compiled++;
    await cache.close();
  }
  return outcome;
}
