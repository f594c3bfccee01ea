import { keptPlace } from '../call-order.js';

/** What has to happen before the rest of some work can be enqueued. */
export interface Wait {
  /** @throws what ends the work */
  readonly until: () => Promise<unknown>;
  /** Whether the rest can be enqueued without it: enqueuing may block then. */
  readonly isOptional: boolean;
}

/**
 * Work that is enqueued step by step: a generator that yields what it has to wait for. {@link whenEnqueued} waits, {@link atOnce} does all
 * of it in one go, for work that only has waits that are optional.
 */
export type Enqueuing<T = void> = Generator<Wait, T, undefined>;

/** Waits for a promise on the way, and gives its value. */
export function* waited<T>(start: () => Promise<T>): Enqueuing<T> {
  let value: { readonly is: T } | undefined;
  yield {
    until: async () => {
      value = { is: await start() };
    },
    isOptional: false,
  };
  if (value === undefined) throw new TypeError('work went on without what it waited for');
  return value.is;
}

/** Enqueues all of it, and waits on the way. What it calls has the place that this call has among others. @throws what it throws, and what ends its waits */
export async function whenEnqueued<T>(work: Enqueuing<T>): Promise<T> {
  const inPlace = keptPlace();
  let next = inPlace(() => work.next());
  while (next.done !== true) {
    const { until } = next.value;
    try {
      await inPlace(until);
    } catch (error) {
      next = inPlace(() => work.throw(error));
      continue;
    }
    next = inPlace(() => work.next());
  }
  return next.value;
}

/** Enqueues all of it now. @throws what it throws */
export function atOnce<T>(work: Enqueuing<T>): T {
  let next = work.next();
  while (next.done !== true) {
    next = next.value.isOptional
      ? work.next()
      : work.throw(new TypeError('work that waits cannot be enqueued at once'));
  }
  return next.value;
}
