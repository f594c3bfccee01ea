import { cdist, empty, tensor, type Device } from '@mercer/core';

/** Rows and components of the distances that keep a GPU busy for some 14 ms on an H200. */
const BUSY = { rows: 8192, components: 512 };

/** Enqueues work for some milliseconds. */
export async function busyWork(device: Device): Promise<() => void> {
  const { rows, components } = BUSY;
  const points = await tensor(new Float32Array(rows * components), {
    shape: [rows, components],
    device,
  });
  const prepared = await cdist.prepare(points, points, { p: 1.3 });
  const out = empty([rows, rows], { device });
  return () => {
    prepared(points, points, { out });
  };
}
