import { describeValue, ofThisRealm, refusePromise } from '@mercer/options';
import {
  columnMajorStrides,
  empty,
  MercerError,
  rowMajorStrides,
  isTensor,
  type BlockDestination,
  type Device,
  tensor,
  type DType,
  type Stream,
  type StridedSource,
  type Tensor,
} from '@mercer/tensor';
import { checkOut, formatShape, inSlices, type Rows } from '@mercer/tensor/operation';

/** Where a result goes that is no tensor: elements in host memory, or a destination that takes blocks, such as `npyOutput(path)`. */
export type HostOut = Float32Array | Float64Array | StridedSource | BlockDestination;

/** Where blocks of a matrix are put together. */
export interface ResultSink {
  /** Room for a block that a kernel on this device can write itself. */
  readonly room: (device: Device, rows: Rows, columns: Rows) => Tensor | undefined;
  /** Takes a block from a device; resolves when it is there. */
  readonly put: (block: Tensor, rows: Rows, columns: Rows, how: Homeward) => Promise<void>;
  /** What the call gives, once all blocks are there. */
  readonly finish: () => Promise<unknown>;
  /** The call has ended early. */
  readonly abandon: () => Promise<void>;
}

/** How a block travels. */
export interface Homeward {
  /** Of the block's device. */
  readonly stream: Stream;
  readonly signal: AbortSignal;
}

/** What is known of the result. */
export interface ResultForm {
  readonly what: string;
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Of results that no `out` takes. */
  readonly home: Device;
  /** What the call reads. */
  readonly read: readonly Tensor[];
  readonly signal: AbortSignal | undefined;
}

/** Whether `out` is one of {@link HostOut}, or something else that is no tensor. */
export const isHostOut = (out: unknown): out is HostOut => out !== undefined && !isTensor(out);

/** @throws MercerError for an `out` that does not take the result; what opening a destination throws */
export async function resultSink(
  out: Tensor | HostOut | undefined,
  form: ResultForm,
): Promise<ResultSink> {
  if (out === undefined) {
    const { shape, dtype, home } = form;
    const made = empty(shape, { dtype, device: home });
    return tensorSink(made, () => {
      made.dispose();
    });
  }
  if (isTensor(out)) {
    const { what, shape, dtype, read } = form;
    out.assertAlive();
    checkOut(out, { shape, dtype, device: out.device }, read, what);
    return tensorSink(out, () => undefined);
  }
  if (isDestination(out)) return destinationSink(out, form);
  return arraySink(out, form);
}

function isDestination(out: object): out is BlockDestination {
  return 'open' in out && typeof out.open === 'function';
}

/** A block of the last two axes. */
function blockOf(whole: Tensor, rows: Rows, columns: Rows): Tensor {
  const batch = new Array<null>(whole.rank - 2).fill(null);
  const of = ([first, count]: Rows): readonly [number, number] => [first, first + count];
  return whole.slice(...batch, of(rows), of(columns));
}

const tensorSink = (out: Tensor, abandon: () => void): ResultSink => ({
  room: (device, rows, columns) =>
    out.device === device ? blockOf(out, rows, columns) : undefined,
  put: async (block, rows, columns, how) => {
    using room = blockOf(out, rows, columns);
    const { signal } = how;
    if (out.device.kind === 'cuda') {
      await room.copyFrom(block, { signal });
    } else {
      // read beside the work of the device, not in its turn
      const data = await readHome(block, how);
      using here = await tensor(data, { shape: block.shape, device: out.device, signal });
      await room.copyFrom(here, { signal });
    }
    await out.device.defaultStream.synchronize({ signal });
  },
  finish: () => Promise.resolve(out),
  abandon: () => {
    abandon();
    return Promise.resolve();
  },
});

const nothing = (): undefined => undefined;

/** Elements of a block, in row-major order. */
async function readHome(block: Tensor, how: Homeward): Promise<Floats> {
  return (await block.toTypedArray(how)) as Floats;
}

async function destinationSink(
  out: BlockDestination,
  { shape, dtype, signal: ended }: ResultForm,
): Promise<ResultSink> {
  const writer = await out.open({ shape: [...shape], dtype }, { signal: ended });
  const batch = new Array<number>(shape.length - 2).fill(0);
  return {
    room: nothing,
    put: async (block, [i], [j], how) => {
      const data = await readHome(block, how);
      const { signal } = how;
      await writer.write([...batch, i, j], { data, shape: [...block.shape] }, { signal });
    },
    finish: async () => {
      await writer.finish();
      return out;
    },
    abandon: () => writer.abandon(),
  };
}

type Floats = Float32Array | Float64Array;

/** Where the elements of a result lie in a caller's array. */
interface ArrayLayout {
  readonly data: Floats;
  readonly strides: readonly number[];
  readonly offset: number;
}

function arraySink(out: Floats | StridedSource, form: ResultForm): ResultSink {
  const layout = arrayLayout(out, form);
  return {
    room: nothing,
    put: async (block, rows, columns, how) => {
      const data = await readHome(block, how);
      const steps = scatterSteps(data, block.shape, layout, [rows[0], columns[0]]);
      await inSlices(steps, how.signal);
    },
    finish: () => Promise.resolve(out),
    abandon: () => Promise.resolve(),
  };
}

/** @throws MercerError INVALID_ARGUMENT, DTYPE_MISMATCH, SHAPE_MISMATCH */
function arrayLayout(out: unknown, { what, shape, dtype }: ResultForm): ArrayLayout {
  refusePromise(out, `${what}: out`);
  const isBare = ArrayBuffer.isView(out);
  const given = (isBare ? { data: out, shape } : Object(out)) as Partial<StridedSource>;
  const { offset = 0 } = given;
  const data = ofThisRealm(given.data);
  if (!(data instanceof Float32Array || data instanceof Float64Array)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: out is ${describeValue(isBare ? out.constructor.name : out)}. Pass a tensor, a Float32Array or Float64Array, { data, shape } with one, or a destination such as npyOutput(path).`,
    );
  }
  const own = data instanceof Float32Array ? 'float32' : 'float64';
  if (own !== dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: out is a ${data.constructor.name} and the result is ${dtype}. Pass a ${dtype === 'float32' ? 'Float32Array' : 'Float64Array'}.`,
    );
  }
  const size = shape.reduce((product, extent) => product * extent, 1);
  if (isBare ? data.length !== size : String(given.shape) !== String(shape)) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: out has ${isBare ? `${data.length} elements` : `shape [${String(given.shape)}]`}, and the result has shape ${formatShape(shape)}. Make them agree.`,
    );
  }
  const natural = given.fortranOrder === true ? columnMajorStrides(shape) : rowMajorStrides(shape);
  const strides = given.strides ?? given.stride ?? natural;
  const last = shape.reduce(
    (sum, extent, axis) => sum + (extent - 1) * (strides[axis] ?? NaN),
    offset,
  );
  const areSteps = strides.length === shape.length && strides.every((one) => one > 0);
  const isWhole = [offset, ...strides].every((one) => Number.isSafeInteger(one) && one >= 0);
  if (isWhole && (size === 0 || (areSteps && last < data.length && isApart(shape, strides)))) {
    return { data, strides, offset };
  }
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: out has offset ${offset} and strides [${strides.join(', ')}], and its data has ${data.length} elements. Elements of ${formatShape(shape)} lie apart and inside.`,
  );
}

/** Whether no two elements lie at one place: each axis steps over all of those with smaller steps. */
function isApart(shape: readonly number[], strides: readonly number[]): boolean {
  const axes = shape
    .map((extent, axis) => [strides[axis] ?? 0, extent] as const)
    .filter(([, extent]) => extent > 1)
    .sort(([a], [b]) => a - b);
  let reach = 0;
  for (const [stride, extent] of axes) {
    if (stride <= reach) return false;
    reach += (extent - 1) * stride;
  }
  return true;
}

/** Elements that are written in one step. */
const AT_ONCE = 2 ** 18;

/** Writes a row-major block to its place, in steps. */
function* scatterSteps(
  block: Floats,
  shape: readonly number[],
  { data, strides, offset }: ArrayLayout,
  [i, j]: readonly [number, number],
): Generator<undefined, void> {
  const columns = shape.at(-1) ?? 0;
  const rows = block.length / Math.max(1, columns);
  const step = strides.at(-1) ?? 1;
  const start = offset + i * (strides.at(-2) ?? 0) + j * step;
  let since = 0;
  for (let row = 0; row < rows; row++) {
    let rest = row;
    let at = start;
    for (let axis = shape.length - 2; axis >= 0; axis--) {
      const extent = shape[axis] ?? 1;
      at += (rest % extent) * (strides[axis] ?? 0);
      rest = Math.floor(rest / extent);
    }
    const from = row * columns;
    if (step === 1) data.set(block.subarray(from, from + columns), at);
    else for (let n = 0; n < columns; n++) data[at + n * step] = block[from + n] ?? 0;
    since += columns;
    if (since < AT_ONCE) continue;
    since = 0;
    yield;
  }
}
