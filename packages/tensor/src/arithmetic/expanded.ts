import { recorded } from '../trace/dispatch.js';
import type {
  BatchRule,
  DerivativeRule,
  KnownValue,
  Primitive,
  Value,
} from '../trace/primitive.js';
import type { Tensor } from '../tensor.js';
import { Unlaunched, type LaunchOptions } from '../unlaunched.js';
import { ChainResult } from './chain-result.js';

/** A result that is not launched yet with more axes of extent 1. Its shape is known, as that of any elementwise result, and it is no kernel of its own. */
class Expanded extends ChainResult {
  readonly #source: ChainResult;

  constructor(source: ChainResult, shape: readonly number[]) {
    const { dtype, device, chain } = source;
    super({
      operator: 'cast',
      what: 'reshape',
      operands: [source],
      before: [source],
      reads: [],
      operations: 0,
      shape,
      dtype,
      computesIn: chain.computesIn,
      device,
    });
    this.#source = source;
  }

  override twin(): ChainResult | Tensor {
    return this.tensor?.view() ?? new Expanded(this.#source, this.shape);
  }

  override joins(): boolean {
    return false;
  }

  override async computeInto(): Promise<boolean> {
    return Promise.resolve(false);
  }

  protected override async start(options: LaunchOptions): Promise<Tensor> {
    const read = await this.launchedBefore(this.#source, options);
    const tensor = read.bound();
    const result = tensor.reshape(this.shape);
    if (tensor !== read.tensor) tensor.dispose();
    this.spend();
    return result;
  }
}

/** The same elements with more axes of extent 1: what is not launched yet stays so. @param x its shape is known */
export function expanded(x: Value, shape: readonly number[]): Value {
  const traced = recorded(expanding, [x, shape]);
  if (traced !== undefined) return traced as Value;
  const present = x instanceof Unlaunched ? (x.tensor ?? x) : x;
  return present instanceof ChainResult
    ? (new Expanded(present, shape) as unknown as Value)
    : present.reshape(shape);
}

type Expanding = readonly [x: KnownValue, shape: readonly number[]];

const expanding: Primitive = {
  name: 'reshape',
  call: expanded,
  derivative: {
    vjp: (g, { args: [x] }) => [() => g.contiguous().reshape(x.shape)],
    jvp: 'linear',
  } satisfies DerivativeRule<Expanding>,
  batch: (({ args: [x, shape], size }) =>
    expanded(x, [size, ...shape])) satisfies BatchRule<Expanding>,
};
