import { own } from '@mercer/options';
import {
  CacheError,
  debugPrinter,
  keepingAlive,
  SharedWork,
  type Behind,
  type DebugOption,
} from '@mercer/jit-cache';
import { ambientStream } from './capture/ambient-stream.js';
import { isOnlyAsked } from './capture/refusals.js';
import { isTooLong, noticeTooLong } from './cpu-executor.js';
import type { LoadOptions } from './device.js';

/** How a call that is made now loads its kernels. */
export interface CallLoadOptions extends LoadOptions {
  /**
   * How many values the call computes, the steps of inner sums counted. With it a call on the CPU may be interpreted while its
   * kernels are compiled; without it, it waits for compiled kernels.
   */
  readonly values?: number | undefined;
}

/** How work that a compiler does is loaded. */
export interface CompileOptions extends LoadOptions {
  /** As of `JitCache.get`. */
  readonly behind?: Behind | undefined;
}

/** What the interpreter computes a call with. */
export interface Interpreted<T> {
  readonly form: T;
  /** How long it will take for so many values. */
  milliseconds(values: number): number;
}

/** The ways to something that calls can launch. */
export interface ExecutableParts<T> {
  /** For messages. */
  readonly name: string;
  compileTimeoutMs(): number;
  /** Which ways are open: either, or one alone. */
  ways(): Promise<'either' | 'compiled' | 'interpreted'>;
  /** How long compiling it will take; 0 where that is done, in this process or in the cache. */
  compileMs(): Promise<number>;
  compiled(options: CompileOptions): Promise<T>;
  /** What stands in its place where it is only asked for: nothing launches it. */
  asked(): Promise<T>;
  interpreted(signal: AbortSignal, debug: DebugOption | undefined): Promise<Interpreted<T>>;
}

const ALWAYS: Behind = () => true;

/** Of a compile that was ended with its cache: another call may begin it anew. */
const isClosed = (error: unknown): boolean =>
  error instanceof CacheError && error.code === 'CACHE_CLOSED';

/**
 * Something that calls launch, which a compiler makes fast and the interpreter of the CPU has sooner. What is compiled, or in the cache, is
 * used. Else a call that says how many values it computes is interpreted where that is predicted to take less time than the compiler,
 * which goes on behind for later calls; every other call waits for the compiler. Where the compiler takes too long, or fails behind, the
 * interpreter stays.
 */
export class Executable<T> {
  readonly #parts: ExecutableParts<T>;
  /** What the forms print their launches with. */
  #print = debugPrinter(false);
  #compiled: SharedWork<T> | undefined;
  #interpreted: SharedWork<Interpreted<T>> | undefined;
  #isTooLong = false;
  #failedBehind = false;

  constructor(parts: ExecutableParts<T>) {
    this.#parts = parts;
  }

  /** @throws the compiler's or the loader's error; the signal's reason, which concerns what this call waits for alone */
  async load(options: CallLoadOptions): Promise<T> {
    const { debug, signal, values } = own(options, 'debug', 'signal', 'values');
    signal?.throwIfAborted();
    this.#printWith(debug);
    if (this.#compiled?.state === 'done') return this.#compiled.result;
    if (isOnlyAsked()) {
      this.#compile({ debug }).catch(() => undefined); // who waits for it is told
      return this.#parts.asked();
    }
    const ways = await this.#parts.ways();
    if (ways === 'interpreted' || this.#isTooLong)
      return (await this.#interpret(signal, debug)).form;
    const ambient = ambientStream();
    // what is captured is launched often
    const isCaptured = ambient !== undefined && ambient.capture?.waitsForCompiler !== false;
    if (ways === 'compiled' || values === undefined || isCaptured)
      return this.#waitForCompiled({ debug, signal });
    if (this.#failedBehind) return (await this.#interpret(signal, debug)).form;
    const compileMs = await this.#parts.compileMs();
    if (compileMs === 0) return this.#waitForCompiled({ debug, signal });
    if (ambient?.capture !== undefined) ambient.capture.isProvisional = true;
    const sooner = this.#takeSooner({ debug, signal }, values, compileMs);
    void keepingAlive(sooner);
    return sooner;
  }

  /** Compiles, and plans for the interpreter meanwhile. */
  async #takeSooner(options: LoadOptions, values: number, compileMs: number): Promise<T> {
    let isWaitedFor = true;
    const compiled = this.#compile({ ...options, behind: () => !isWaitedFor });
    const planning = new AbortController();
    const interpreted = this.#interpret(planning.signal, options.debug).then(
      (found) => (found.milliseconds(values) <= compileMs ? found : undefined),
      () => undefined, // what the interpreter does not take is waited for
    );
    try {
      const first = await Promise.race([compiled.then((form) => ({ form })), interpreted]).catch(
        () => {
          options.signal?.throwIfAborted();
          return interpreted; // a compiler that fails at once
        },
      );
      options.signal?.throwIfAborted();
      if (first === undefined) return await this.#orInterpreted(compiled, options);
      if (Object.hasOwn(first, 'milliseconds')) this.#goOnBehind();
      return first.form;
    } finally {
      isWaitedFor = false;
      planning.abort();
      compiled.catch(() => undefined);
    }
  }

  /** Holds the compile under way, whatever becomes of the signals of calls. */
  #goOnBehind(): void {
    const held = this.#compiled;
    if (held === undefined) return;
    held.join(undefined, ALWAYS).catch((error: unknown) => {
      if (held !== this.#compiled || isClosed(error)) return;
      this.#isTooLong ||= isTooLong(error);
      this.#failedBehind = true;
    });
  }

  #waitForCompiled(options: LoadOptions): Promise<T> {
    return this.#orInterpreted(this.#compile(options), options);
  }

  async #orInterpreted(compiled: Promise<T>, { signal, debug }: LoadOptions): Promise<T> {
    try {
      return await compiled;
    } catch (error) {
      if (!isTooLong(error)) throw error;
      const { form } = await this.#interpret(signal, debug).catch(() => {
        throw error;
      });
      this.#isTooLong = true;
      noticeTooLong(this.#parts.name, this.#parts.compileTimeoutMs());
      return form;
    }
  }

  /** Another call may want other lines: the forms are loaded anew then, which compiles nothing twice. */
  #printWith(debug: DebugOption | undefined): void {
    const print = debugPrinter(debug);
    if (print === this.#print) return;
    this.#print = print;
    this.#compiled = undefined;
    this.#interpreted = undefined;
  }

  #compile({ debug, signal, behind }: CompileOptions): Promise<T> {
    this.#printWith(debug);
    let work = this.#compiled;
    if (work === undefined || work.abandoned || work.state === 'failed') {
      work = new SharedWork((abandoned, isBehind) =>
        this.#parts.compiled({ debug, signal: abandoned, behind: isBehind }).then((form) => {
          if (work === this.#compiled) this.#interpreted = undefined;
          return form;
        }),
      );
      this.#compiled = work;
    }
    return work.join(signal, behind);
  }

  #interpret(
    signal: AbortSignal | undefined,
    debug: DebugOption | undefined,
  ): Promise<Interpreted<T>> {
    this.#printWith(debug);
    let work = this.#interpreted;
    if (work === undefined || work.abandoned) {
      work = new SharedWork((abandoned) => this.#parts.interpreted(abandoned, debug));
      this.#interpreted = work;
    }
    return work.join(signal);
  }
}
