import type { CudaKernel } from '../emitted-kernel.js';
import { random } from '../testing/pairwise-check.test-support.js';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import { partsLength, type ProductsConfig } from './products-config.js';
import { emitCentre } from './emit-centre.js';
import { emitCentredParts } from './emit-centred-parts.js';

/** A standard normal number. */
export const normal = (): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** Rows of a row-major matrix. */
export interface Rows {
  readonly values: Float32Array;
  readonly rows: number;
  readonly ld: number;
}

/** Rows with a gap behind each. */
export function rowsOf(
  rows: number,
  k: number,
  value: (row: number, column: number) => number,
  gap = 0,
): Rows {
  const ld = k + gap;
  const values = new Float32Array(rows * ld);
  for (let i = 0; i < rows; i++) for (let l = 0; l < k; l++) values[i * ld + l] = value(i, l);
  return { values, rows, ld };
}

/** The centre of two matrices, by the kernel. */
export function centreOf(a: Rows, b: Rows, k: number): Float32Array {
  const centre = new Float32Array(k).fill(NaN);
  const scalars = { m: a.rows, n: b.rows, k, lda: a.ld, ldb: b.ld };
  runCudaKernel(emitCentre(), { scalars, pointers: [a.values, b.values, centre] });
  return centre;
}

/** The parts of rows, and their norms. */
export interface Parts {
  readonly parts: Float32Array;
  readonly norms: Float32Array;
}

/** The parts of a matrix, by the kernel. */
export function partsOf(
  role: 'a' | 'b',
  { values, rows, ld }: Rows,
  centre: Float32Array,
  config: ProductsConfig,
): Parts {
  const parts = new Float32Array(rows * partsLength(config)).fill(NaN);
  const norms = new Float32Array(rows).fill(NaN);
  const { chunk, chunks } = config;
  const kernel: CudaKernel = emitCentredParts(role);
  const scalars = { rows, k: centre.length, ldx: ld, chunk, chunks };
  runCudaKernel(kernel, { scalars, pointers: [values, centre, parts, norms] });
  return { parts, norms };
}

const bits = new DataView(new ArrayBuffer(8));

/** x without what lies below 2^-2 of a unit in the last place of a float32 sum of this size: tensor cores cut terms so. */
function cut(x: number, size: number): number {
  if (size === 0 || !Number.isFinite(size)) return x;
  bits.setFloat64(0, size);
  const exponent = ((bits.getUint32(0) >>> 20) & 0x7ff) - 1023;
  const unit = 2 ** (exponent - 25);
  return Math.trunc(x / unit) * unit;
}

/**
 * Products of parts as tensor cores form them: steps of k four at a time, each term cut to the largest one's bits, the sum cut to
 * float32; chunks are added up in float32.
 */
export function productsOfParts(
  a: Parts,
  b: Parts,
  config: ProductsConfig,
  out: Float32Array,
  ldo: number,
): void {
  const pitch = partsLength(config);
  const steps = 3 * config.chunk;
  const [m, n] = [a.norms.length, b.norms.length];
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      let total = 0;
      for (let chunk = 0; chunk < config.chunks; chunk++) {
        let sum = 0;
        for (let l = 0; l < steps; l += 4) {
          const terms = [0, 1, 2, 3].map((t) => {
            const at = chunk * steps + l + t;
            return (a.parts[i * pitch + at] ?? NaN) * (b.parts[j * pitch + at] ?? NaN);
          });
          const size = Math.max(Math.abs(sum), ...terms.map(Math.abs));
          const exact = terms.reduce((all, term) => all + cut(term, size), cut(sum, size));
          const rounded = Math.fround(exact);
          sum = Math.abs(rounded) > Math.abs(exact) ? towardsZero(rounded) : rounded;
        }
        total = Math.fround(total + sum);
      }
      out[i * ldo + j] = total;
    }
  }
}

const single = new DataView(new ArrayBuffer(4));

/** The float32 next to x in the direction of 0. */
function towardsZero(x: number): number {
  single.setFloat32(0, x);
  single.setInt32(0, single.getInt32(0) - 1);
  return single.getFloat32(0);
}

/** The squared distance of two rows in double precision. */
export function squaredDistance(a: Rows, i: number, b: Rows, j: number, k: number): number {
  let sum = 0;
  for (let l = 0; l < k; l++) {
    const d = (a.values[i * a.ld + l] ?? NaN) - (b.values[j * b.ld + l] ?? NaN);
    sum += d * d;
  }
  return sum;
}
