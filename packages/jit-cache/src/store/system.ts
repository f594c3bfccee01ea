import process from 'node:process';
import { accessSync, constants, readFileSync, readlinkSync, statfsSync } from 'node:fs';
import { homedir, hostname, tmpdir } from 'node:os';
import type { Driver } from './driver-types.js';
import { loadDriver } from './driver.js';

/** Everything the cache asks of the machine, in one place, so that tests can answer instead. */
export interface System {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Undefined where users have no numbers (Windows). */
  readonly uid: number | undefined;
  readonly gid: number | undefined;
  readonly pid: number;
  readonly host: string;
  /** Identity of this boot of the machine; empty where it cannot be had. */
  readonly bootId: string;
  /** Identity of the process-number space; equal numbers mean equal processes only within one. */
  readonly pidNamespace: string;
  readonly temporaryDirectory: string;
  homeDirectory(): string | undefined;
  /** Wall clock, ms since 1970. */
  now(): number;
  /** A clock that nobody sets, ms. */
  monotonicMs(): number;
  /** In [0, 1). */
  readonly random: () => number;
  isAlive(pid: number): boolean;
  /** When a process started, in the kernel's own count; empty where it cannot be had. */
  startTime(pid: number): string;
  /** The file system's magic number, undefined where it says nothing. */
  fileSystemType(path: string): number | undefined;
  /** Bytes that this user may still write there, undefined where that cannot be told. */
  freeBytes(path: string): number | undefined;
  isWritable(path: string): boolean;
  /** Throws a StoreFault where there is none. */
  driver(): Driver;
}

function quietly<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, and belongs to someone else.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function startTime(pid: number): string {
  const stat = quietly(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  // The second field, the name, may hold spaces and brackets; the start time is field 22.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

/** The machine as it is. */
export function realSystem(): System {
  return {
    env: process.env,
    uid: process.geteuid?.(),
    gid: process.getegid?.(),
    pid: process.pid,
    host: hostname(),
    bootId: quietly(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()) ?? '',
    pidNamespace: quietly(() => readlinkSync('/proc/self/ns/pid')) ?? '',
    temporaryDirectory: tmpdir(),
    homeDirectory: () => quietly(homedir) || undefined,
    now: () => Date.now(),
    monotonicMs: () => performance.now(),
    random: () => Math.random(),
    isAlive,
    startTime,
    fileSystemType: (path) =>
      process.platform === 'linux' ? quietly(() => statfsSync(path).type) : undefined,
    freeBytes: (path) =>
      quietly(() => {
        const { bavail, bsize } = statfsSync(path);
        return bavail * bsize;
      }),
    isWritable: (path) => quietly(() => (accessSync(path, constants.W_OK), true)) ?? false,
    driver: loadDriver,
  };
}
