import { cudaType } from '../../emit/literals.js';
import { indent } from '../../emit/text.js';
import { readNeighbours } from './neighbours.js';
import { everyCase, type PairStep, type StepText } from './pair-arithmetic.js';
import { vectorWidth, type TileConfig, type TileOperand } from './tile-operand.js';

/** Elements of an operand that a thread takes from shared memory at one step of k. */
interface Elements {
  readonly operand: TileOperand;
  readonly count: number;
  /** Neighbours that one instruction reads. */
  readonly vector: number;
  /** Where the first is at step 0, as text. */
  readonly at: string;
}

const whole = (operand: TileOperand, at: string): Elements => ({
  operand,
  at,
  count: operand.perThread,
  vector: vectorWidth(operand),
});

/**
 * All pairs of one stage. Expects `rowTile` and `columnTile` (this thread's places in shared memory)
 * and `sum`.
 */
export function computeTile(
  rows: TileOperand,
  columns: TileOperand,
  tile: TileConfig,
  step: PairStep,
): string {
  const [x, y] = [whole(rows, 'rowTile'), whole(columns, 'columnTile')];
  return everyCase(step, (text, long) =>
    long ? inParts(x, y, tile, text) : loopOverK(x, y, tile, text),
  );
}

function loopOverK(rows: Elements, columns: Elements, tile: TileConfig, step: StepText): string {
  const type = cudaType(rows.operand.dtype);
  const place = `i * ${columns.count} + j`;
  return `#pragma unroll ${tile.chunkK}
for (int kk = ${tile.slicesK === 1 ? '0' : 'slice'}; kk < ${tile.tileK}; kk += ${tile.slicesK}) {
  ${type} x[${rows.count}], y[${columns.count}];
${indent(readStep(rows, 'x'))}
${indent(readStep(columns, 'y'))}
  #pragma unroll
  for (int i = 0; i < ${rows.count}; ++i)
    #pragma unroll
    for (int j = 0; j < ${columns.count}; ++j)
      sum[i][j] = ${step('sum[i][j]', 'x[i]', 'y[j]', place)};
}`;
}

/** Elements of one operand that a long step takes at a time, beside all of the other one. */
const PART = 2;

/**
 * The same with two of the longer operand's elements at a time, so that the text has fewer pairs.
 * Registers have no index: after each turn the sums of the next elements move to the first places.
 */
function inParts(rows: Elements, columns: Elements, tile: TileConfig, step: StepText): string {
  const byRows = rows.count >= columns.count;
  const { operand, vector, count: all, at } = byRows ? rows : columns;
  const size = Math.min(PART, vector);
  const part = { operand, count: size, vector: size, at: 'partTile' };
  const [x, y] = byRows ? [part, columns] : [rows, part];
  const type = cudaType(operand.dtype);
  const sum = (place: string): string => (byRows ? `sum[${place}][j]` : `sum[i][${place}]`);
  const index = byRows ? 'i' : 'j';
  return `#pragma unroll 1
for (int part = 0; part < ${all / size}; ++part) {
  const ${type}* const partTile = ${at} + part / ${vector / size} * ${operand.threads * vector} + part % ${vector / size} * ${size};
${indent(loopOverK(x, y, tile, step))}
  #pragma unroll
  for (int i = 0; i < ${x.count}; ++i)
    #pragma unroll
    for (int j = 0; j < ${y.count}; ++j) {
      const ${type} done = ${sum(index)};
      #pragma unroll
      for (int next = ${index} + ${size}; next < ${all}; next += ${size}) ${sum(`next - ${size}`)} = ${sum('next')};
      ${sum(`${all - size} + ${index}`)} = done;
    }
}`;
}

/** Reads the thread's elements of one step of k. */
function readStep({ operand, count, vector, at }: Elements, target: string): string {
  const from = `${at} + kk * ${operand.stride} + h * ${operand.threads * vector}`;
  return readNeighbours(target, count, vector, from);
}
