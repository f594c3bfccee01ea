import {
  cdist,
  formula,
  gatherRows,
  lazyI,
  lazyJ,
  map,
  matmul,
  scatterAdd,
  sumTo,
  tensor,
  type Device,
  type Tensor,
} from '@mercer/core';
import { busyWork } from './busy-work.js';
import { hostTimeUs } from './host-time.js';
import type { Spread } from './statistics.js';

/** Calls whose host time is measured. */
export const CALL_NAMES = [
  'cdist',
  'map',
  'sumTo',
  'gatherRows',
  'scatterAdd',
  'gaussianSum',
  'matmul',
] as const;

/** A name of {@link CALL_NAMES}. */
export type CallName = (typeof CALL_NAMES)[number];

/** Microseconds of host time that one call takes, from the call until it has returned or its promise has resolved. */
export interface HostTimes {
  /** Each round of calls begins with an idle device. */
  readonly idleUs: Spread;
  /** The device is at work behind the stream's last launch; GPUs only. */
  readonly busyUs?: Spread;
}

/** Host times of one operation. */
export interface CallTimes {
  readonly call: CallName;
  /** What is computed. */
  readonly text: string;
  /** Awaited, with a new result that is disposed. */
  readonly ordinary: HostTimes;
  /** Prepared, with a new result that is disposed. */
  readonly prepared?: HostTimes;
}

/** One call, which leaves its result to be disposed. */
type Call = () => Tensor | Promise<Tensor>;

interface Measured {
  readonly text: string;
  readonly ordinary: Call;
  readonly prepared?: Call | undefined;
}

const POINTS = 1000;
const IDLE_ROUNDS = 150;
const BUSY_ROUNDS = 40;

/** Host time of ordinary and prepared calls of small problems, on a warm process: every call is one like the call before. */
export async function measureCallTimes(
  device: Device,
  names: readonly CallName[],
  onProgress: (name: string) => void,
): Promise<readonly CallTimes[]> {
  const calls = await callsOn(device);
  const busy = device.kind === 'cuda' ? await busyWork(device) : undefined;
  const measured: CallTimes[] = [];
  for (const name of names) {
    onProgress(name);
    const { text, ordinary, prepared } = calls[name];
    measured.push({
      call: name,
      text,
      ordinary: await hostTimes(device, ordinary, busy),
      ...(prepared === undefined ? {} : { prepared: await hostTimes(device, prepared, busy) }),
    });
  }
  return measured;
}

async function callsOn(device: Device): Promise<Readonly<Record<CallName, Measured>>> {
  const random = (rows: number, columns: number): Promise<Tensor<'float32'>> =>
    tensor(
      Float32Array.from({ length: rows * columns }, () => Math.random()),
      { shape: [rows, columns], device },
    );
  const [x, y, b] = [await random(POINTS, 3), await random(POINTS, 3), await random(POINTS, 1)];
  const small = await random(16, 16);
  const index = await tensor(
    Int32Array.from({ length: POINTS }, (_, at) => (7 * at) % 64),
    { device },
  );
  const { add, mul, variable } = formula;
  const axpy = add(mul(variable('scale'), variable('x')), variable('y'));
  const parameters = { scale: 2 };
  const gaussian = () => lazyI(x).sqdist(lazyJ(y)).neg().exp();
  const preparedCdist = await cdist.prepare(small, small);
  const preparedMap = await map.prepare(axpy, { x, y }, { parameters });
  const preparedSum = await sumTo.prepare(x, [1, 3]);
  const preparedRows = await gatherRows.prepare(x, index);
  const preparedAdd = await scatterAdd.prepare(x, index, 64);
  const preparedGaussian = await gaussian().mul(lazyJ(b)).reduction('Sum', 'j').prepare([]);
  return {
    cdist: {
      text: 'distances of 16 and 16 rows of 16',
      ordinary: () => cdist(small, small),
      prepared: () => preparedCdist(small, small),
    },
    map: {
      text: `scale * x + y, ${POINTS} x 3`,
      ordinary: () => map(axpy, { x, y }, { parameters }),
      prepared: () => preparedMap({ x, y }, { parameters }),
    },
    sumTo: {
      text: `sum over ${POINTS} rows of 3`,
      ordinary: () => sumTo(x, [1, 3]),
      prepared: () => preparedSum(x, [1, 3]),
    },
    gatherRows: {
      text: `${POINTS} rows of 3 by index`,
      ordinary: () => gatherRows(x, index),
      prepared: () => preparedRows(x, index),
    },
    scatterAdd: {
      text: `${POINTS} rows of 3 into 64`,
      ordinary: () => scatterAdd(x, index, 64),
      prepared: () => preparedAdd(x, index, 64),
    },
    gaussianSum: {
      text: `a Gaussian sum over ${POINTS} x ${POINTS} points of 3, the formula built in the call`,
      ordinary: () => gaussian().matmul(b),
      prepared: () => preparedGaussian([]),
    },
    matmul: { text: 'a product of two 16 x 16 matrices', ordinary: () => matmul(small, small) },
  };
}

async function hostTimes(
  device: Device,
  call: Call,
  before: (() => void) | undefined,
): Promise<HostTimes> {
  const disposed = (): void | Promise<void> => {
    const result = call();
    if (result instanceof Promise)
      return result.then((tensor) => {
        tensor.dispose();
      });
    result.dispose();
  };
  const idleUs = await hostTimeUs(device, disposed, { rounds: IDLE_ROUNDS });
  if (before === undefined) return { idleUs };
  return { idleUs, busyUs: await hostTimeUs(device, disposed, { rounds: BUSY_ROUNDS, before }) };
}
