import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listNpz, readNpz } from './read-npz.js';
import { readNpy } from './read-npy.js';
import { ALL_DTYPES, randomData, rawBytes } from './testing/arrays.test-support.js';
import { rejectionCode } from './testing/broken-files.test-support.js';
import { numpyMissing, runNumpy } from './testing/numpy.test-support.js';
import { writeNpy } from './write-npy.js';
import { writeNpz } from './write-npz.js';

// numpy is the oracle: it writes what we read and reads what we write. Without it these cases are skipped by name.
const missing = numpyMissing();
const suite = missing === undefined ? 'against numpy' : `against numpy (skipped: ${missing})`;

interface Described {
  readonly name: string;
  readonly dtype: string;
  readonly shape: number[];
  readonly fortran: boolean;
  readonly sha: string;
}

describe.skipIf(missing !== undefined)(suite, () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mercer-numpy-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it('reads every type, byte order, memory order, rank and header version that numpy writes', async () => {
    const files = JSON.parse(runNumpy(WRITE_FILES, folder)) as Described[];
    expect(files.length).toBeGreaterThan(150);
    for (const file of files) {
      const array = await readNpy(join(folder, file.name));
      expect(array, file.name).toMatchObject({ dtype: file.dtype, shape: file.shape });
      expect(array.fortranOrder, file.name).toBe(file.fortran);
      expect(sha(rawBytes(array.data)), file.name).toBe(file.sha);
    }
  });

  it('numpy reads what is written here, without pickle', async () => {
    const expected: Record<string, string> = {};
    const orders = [false, true] as const;
    for (const [i, dtype] of ALL_DTYPES.entries()) {
      for (const fortranOrder of orders) {
        for (const byteOrder of ['little', 'big'] as const) {
          for (const shape of [[], [7], [3, 4], [2, 0, 3], [2, 3, 4]]) {
            const data = randomData(
              dtype,
              shape.reduce((a, b) => a * b, 1),
              i + shape.length,
            );
            const name = `${dtype}-${fortranOrder}-${byteOrder}-${shape.join('x')}.npy`;
            await writeNpy(join(folder, name), { data, shape, dtype, fortranOrder }, { byteOrder });
            expected[name] = `${dtype} (${shape.join(', ')}) ${sha(rawBytes(data))}`;
          }
        }
      }
    }
    const program = JSON.stringify(Object.keys(expected));
    expect(JSON.parse(runNumpy(READ_FILES, folder, program))).toEqual(expected);
  });

  it('both directions for archives, stored and deflated', async () => {
    runNumpy(WRITE_ARCHIVES, folder);
    for (const name of ['stored.npz', 'deflated.npz']) {
      expect((await listNpz(join(folder, name))).map((member) => member.name)).toEqual([
        'x',
        'y',
        'a/b',
        'arr_0',
      ]);
      const arrays = await readNpz(join(folder, name));
      expect(Array.from(arrays.get('x')?.data ?? [], Number)).toEqual([0, 1, 2, 3, 4, 5]);
      expect(arrays.get('y')?.data.length).toBe(1_000_000);
      expect(arrays.get('arr_0')).toMatchObject({ dtype: 'bool', shape: [] });
    }
    for (const compress of [false, true]) {
      const path = join(folder, 'ours.npz');
      const x = { data: Float64Array.from({ length: 50_000 }, (_, i) => i / 3), shape: [500, 100] };
      await writeNpz(
        path,
        { 'a/b': x, empty: { data: new Float32Array(0), shape: [0, 3] } },
        { compress },
      );
      const printed = runNumpy(
        'import sys,numpy as n; f=n.load(sys.argv[1]); print(f.files, f["a/b"].shape, f["empty"].shape, f["a/b"].sum() == n.sum(n.arange(50000)/3))',
        path,
      );
      expect(printed.trim()).toBe("['a/b', 'empty'] (500, 100) (0, 3) True");
    }
  });

  it('refuses what numpy needs pickle or structures for', async () => {
    runNumpy(WRITE_UNSUPPORTED, folder);
    for (const name of ['object', 'structured', 'complex', 'text', 'time']) {
      const read = readNpy(join(folder, `${name}.npy`));
      expect(await rejectionCode(read), name).toBe('NPY_UNSUPPORTED');
    }
  });
});

function sha(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

const WRITE_FILES = `
import sys, json, hashlib, numpy as np
folder = sys.argv[1]
names = {'f2':'float16','f4':'float32','f8':'float64','i4':'int32','i8':'int64','u1':'uint8','b1':'bool',
         'i1':'int32','i2':'int32','u2':'int32','u4':'int64','u8':'int64'}
rng = np.random.default_rng(1)
out = []
for code, dtype in names.items():
  for order in '<>':
    for shape in [(), (5,), (3, 4), (2, 3, 4), (0,), (4, 0), (1, 1), (2, 1, 3, 1)]:
      for layout in 'CF':
        for version in [(1, 0), (2, 0), (3, 0)]:
          a = np.frombuffer(rng.bytes(8 * int(np.prod(shape))), 'i8').reshape(shape)
          a = abs(a).astype(code) if code == 'u8' else a.astype(code)
          a = np.array(a, dtype=np.dtype(code).newbyteorder(order), order=layout)
          name = f"{code}{'le' if order == '<' else 'be'}-{'x'.join(map(str, shape))}-{layout}{version[0]}.npy"
          with open(f'{folder}/{name}', 'wb') as f:
            np.lib.format.write_array(f, a, version=version, allow_pickle=False)
          fortran = bool(a.flags.f_contiguous and not a.flags.c_contiguous)
          native = a.astype(dtype)
          raw = native.tobytes(order='F' if fortran else 'C')
          out.append(dict(name=name, dtype=dtype, shape=list(shape), fortran=fortran, sha=hashlib.sha256(raw).hexdigest()))
print(json.dumps(out))
`;

const READ_FILES = `
import sys, json, hashlib, numpy as np
out = {}
for name in json.loads(sys.argv[2]):
  a = np.load(f'{sys.argv[1]}/{name}', allow_pickle=False)
  native = a.astype(a.dtype.newbyteorder('='), copy=False)
  raw = native.tobytes(order='F' if '-true-' in name else 'C')
  out[name] = f"{native.dtype.name} ({', '.join(map(str, a.shape))}) {hashlib.sha256(raw).hexdigest()}"
print(json.dumps(out))
`;

const WRITE_ARCHIVES = `
import sys, numpy as np
for name, save in [('stored', np.savez), ('deflated', np.savez_compressed)]:
  save(f'{sys.argv[1]}/{name}.npz', np.bool_(True), x=np.arange(6).reshape(2, 3), y=np.zeros(1000000, 'f4'), **{'a/b': np.ones(2)})
`;

const WRITE_UNSUPPORTED = `
import sys, numpy as np
for name, a in dict(object=np.array([{}, None]), structured=np.zeros(2, [('x', 'f4')]), complex=np.zeros(2, 'c8'),
                    text=np.array(['ab']), time=np.zeros(2, 'M8[s]')).items():
  np.save(f'{sys.argv[1]}/{name}.npy', a, allow_pickle=True)
`;
