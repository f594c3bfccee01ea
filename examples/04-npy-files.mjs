// 4. Files of numpy. Reading checks every size before it takes memory; writing replaces a file whole or not at all.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cdist, tensor } from '@mercer/core';
import {
  decodeNpy,
  listNpz,
  NpyError,
  readNpy,
  readNpz,
  writeNpy,
  writeNpz,
} from '@mercer/core/npy';

const folder = await mkdtemp(join(tmpdir(), 'mercer-example-'));
try {
  // A 3 x 2 matrix in Fortran order: the first axis runs fastest.
  const data = Float64Array.of(0, 3, 6, 0, 4, 8);
  await writeNpy(join(folder, 'points.npy'), { data, shape: [3, 2], fortranOrder: true });

  const points = await tensor(await readNpy(join(folder, 'points.npy')), { dtype: 'float64' });
  console.log(String(points), 'strides', points.strides, await points.toNested());

  const distances = await cdist(points, points);
  const result = { data: await distances.toTypedArray(), shape: distances.shape };
  await writeNpz(join(folder, 'result.npz'), { distances: result }, { compress: true });
  console.log(await listNpz(join(folder, 'result.npz')));
  console.log((await readNpz(join(folder, 'result.npz'))).get('distances')?.data);

  decodeNpy(new TextEncoder().encode('this is no array, but it is long enough'));
} catch (error) {
  if (!(error instanceof NpyError)) throw error;
  console.log(`${error.code}: ${error.message}`);
} finally {
  await rm(folder, { recursive: true });
}
