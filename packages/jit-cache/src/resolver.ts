import { artifactTrouble, assertArtifact } from './artifact-check.js';
import {
  acquireLease,
  withHeartbeat,
  type LeaseOutcome,
  type LeaseRequest,
} from './compile-once.js';
import type { DebugPrinter } from './debug.js';
import type { CacheKey } from './key.js';
import type { MemoryTier } from './memory-tier.js';
import { missReason } from './miss-reason.js';
import type { Behind } from './shared-work.js';
import { deleteEntry, readEntry, type Entry } from './store/entries.js';
import type { StoreSession } from './store/store-session.js';
import type { System } from './store/system.js';
import type { StoreWriter } from './store/writer.js';
import type { Artifact, CacheCounters, CompileUnit, Toolchain } from './types.js';

/** What a call wants, with its key. */
export interface Wanted {
  readonly key: CacheKey;
  readonly unit: CompileUnit;
  readonly toolchain: Toolchain;
  readonly print: DebugPrinter | undefined;
  readonly timeoutMs: number | undefined;
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal;
  readonly behind: Behind | undefined;
}

export interface Resolved {
  readonly entry: Entry;
  readonly origin: Artifact['origin'];
}

/** Where the resolver looks and writes. */
export interface ResolverParts {
  readonly memory: MemoryTier;
  /** Undefined when the cache is off. */
  readonly session: StoreSession | undefined;
  /** Undefined when nothing is to be written. */
  readonly writer: StoreWriter | undefined;
  readonly system: System;
  readonly counters: CacheCounters;
  readonly owner: string;
}

/** How a line of debug output names a unit. */
function label({ key, unit }: Wanted): string {
  return `${unit.names[0] ?? ''} ${unit.target} ${key.hex.slice(0, 12)}`;
}

function milliseconds(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 0)} ms`;
}

/** From a key to its bytes: the store, or one compile on this machine. */
export class Resolver {
  constructor(private readonly parts: ResolverParts) {}

  async resolve(wanted: Wanted): Promise<Resolved> {
    const { session, writer, memory } = this.parts;
    const stored = session && (await this.#fromStore(session, wanted));
    if (stored) return stored;
    this.parts.counters.misses++;
    if (wanted.print) await this.#explain(session, wanted, wanted.print);
    const made =
      session && writer
        ? await this.#compileOnce(session, writer, wanted)
        : { entry: await this.#compile(wanted), origin: 'compiled' as const };
    memory.set(wanted.key.hex, made.entry);
    return made;
  }

  async #fromStore(session: StoreSession, wanted: Wanted): Promise<Resolved | undefined> {
    const { counters, memory, system, writer } = this.parts;
    const { key, unit, print } = wanted;
    const startedMs = system.monotonicMs();
    const found = await session.read((database) => readEntry(database, key.bytes));
    if (found === undefined || found.kind === 'miss') return undefined;
    const trouble =
      found.kind === 'corrupt' ? found.why : artifactTrouble(unit.target, found.entry.binary);
    if (found.kind === 'corrupt' || trouble !== undefined) {
      counters.corrupt++;
      print?.(`corrupt ${label(wanted)}: ${trouble ?? ''}; deleted`);
      if (writer)
        await session.write((database) => {
          deleteEntry(database, key.bytes);
        });
      return undefined;
    }
    counters.storeHits++;
    memory.set(key.hex, found.entry);
    writer?.touch(key.hex, key.bytes, found.lastUsed);
    print?.(
      `hit ${label(wanted)} from the store in ${milliseconds(system.monotonicMs() - startedMs)}`,
    );
    return { entry: found.entry, origin: 'store' };
  }

  async #compileOnce(
    session: StoreSession,
    writer: StoreWriter,
    wanted: Wanted,
  ): Promise<Resolved> {
    const { system, owner, counters } = this.parts;
    const request: LeaseRequest = {
      session,
      system,
      owner,
      key: wanted.key.bytes,
      signal: wanted.signal,
      keepsAlive: wanted.behind === undefined,
      onWait: () => {
        counters.waited++;
        wanted.print?.(`wait ${label(wanted)}: it is being compiled elsewhere on this machine`);
      },
    };
    for (;;) {
      wanted.signal.throwIfAborted();
      const lease: LeaseOutcome = writer.isLogFull
        ? { kind: 'compile', held: false }
        : await acquireLease(request);
      if (lease.kind === 'compile') {
        const entry = lease.held
          ? await withHeartbeat(request, () => this.#compile(wanted))
          : await this.#compile(wanted);
        const { bytes, fields } = wanted.key;
        const { target } = wanted.unit;
        writer.put(
          {
            ...entry,
            key: bytes,
            keyJson: JSON.stringify(fields),
            target,
            toolchain: fields.toolchain,
          },
          owner,
        );
        return { entry, origin: 'compiled' };
      }
      const stored = await this.#fromStore(session, wanted);
      if (stored) return stored;
    }
  }

  async #compile(wanted: Wanted): Promise<Entry> {
    const { counters, system } = this.parts;
    const { unit, toolchain, print, timeoutMs, signal, behind } = wanted;
    const startedMs = system.monotonicMs();
    try {
      signal.throwIfAborted();
      const limits = {
        signal,
        ...(timeoutMs !== undefined && { timeoutMs }),
        ...(behind && { behind }),
      };
      const { binary, loweredNames, log } = await toolchain.compile(unit, limits);
      assertArtifact(toolchain.name, unit.target, binary);
      const compileMs = system.monotonicMs() - startedMs;
      counters.compiles++;
      print?.(
        `compiled ${label(wanted)} with ${toolchain.name} in ${milliseconds(compileMs)}, ${binary.length} bytes`,
      );
      return { binary: binary.slice(), loweredNames: { ...loweredNames }, log, compileMs };
    } catch (error) {
      counters.failures++;
      print?.(`failed ${label(wanted)} with ${toolchain.name}`);
      if (!signal.aborted) this.#note(wanted, error);
      throw error;
    }
  }

  #note({ key, unit }: Wanted, error: unknown): void {
    const { names, target } = unit;
    this.parts.writer?.noteFailure({
      key: key.bytes,
      names,
      target,
      toolchain: key.fields.toolchain,
      message: error instanceof Error ? error.message : String(error),
    });
  }

  async #explain(
    session: StoreSession | undefined,
    wanted: Wanted,
    print: DebugPrinter,
  ): Promise<void> {
    const reason = await session?.read((database) => missReason(database, wanted.key.fields));
    const why = reason ?? session?.reason ?? 'there is no store';
    print(`miss ${label(wanted)}: ${why}`);
  }
}
