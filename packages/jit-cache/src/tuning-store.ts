import { describeValue } from '@mercer/options';
import { CacheError } from './errors.js';
import type { StoreSession } from './store/store-session.js';
import type { System } from './store/system.js';
import { readTuning, writeTuning } from './store/tuning-records.js';

/** Plans that tuning found best, per problem class and device, in the same store as the kernels. */
export class TuningStore {
  readonly #memory = new Map<string, string>();

  constructor(
    private readonly session: StoreSession | undefined,
    private readonly writes: boolean,
    private readonly system: System,
  ) {}

  /** The plan for a problem class on a device, undefined where none was found. */
  async get(problemClass: string, device: string): Promise<unknown> {
    const kept = this.#memory.get(JSON.stringify([problemClass, device]));
    if (kept !== undefined) return JSON.parse(kept) as unknown;
    return this.session?.read((database) => readTuning(database, problemClass, device));
  }

  /**
   * Keeps a plan: any value that JSON can carry.
   *
   * @throws CacheError INVALID_ARGUMENT where JSON cannot: undefined, functions, bigints, circles
   */
  async set(problemClass: string, device: string, plan: unknown): Promise<void> {
    const json = asJson(plan);
    this.#memory.set(JSON.stringify([problemClass, device]), json);
    if (!this.writes) return;
    await this.session?.write((database) => {
      writeTuning(database, problemClass, device, json, this.system.now());
    });
  }
}

function asJson(plan: unknown): string {
  let [json, cause]: [unknown, unknown] = [undefined, undefined];
  try {
    json = JSON.stringify(plan);
  } catch (error) {
    cause = error;
  }
  if (typeof json === 'string') return json;
  const why = cause instanceof Error ? ` (${cause.message.split('\n')[0]})` : '';
  throw new CacheError(
    'INVALID_ARGUMENT',
    `keeping a plan failed: JSON cannot carry ${describeValue(plan)}${why}. Give a plain value.`,
    { cause },
  );
}
