import process from 'node:process';
import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'mercer-cpu-';
/** Ours, in full: the machine as the numbers of processes are counted, the process, when it started, six random characters. */
const NAME = /^mercer-cpu-([0-9a-f]{12})-(\d+)-(\d+)-\w{6}$/;
/** No compiler runs for so long: whose folder it was cannot be told, or need not be. */
const ABANDONED_MS = 24 * 3600e3;

/** Runs `body` with a folder that only this user can enter (mode 0700), and removes it whatever happens. */
export async function withPrivateFolder<T>(body: (folder: string) => Promise<T>): Promise<T> {
  const place = tmpdir();
  await sweepOnce(place);
  const own = `${machine()}-${process.pid}-${startOf(process.pid) ?? 0}`;
  const folder = await mkdtemp(join(place, `${PREFIX}${own}-`));
  try {
    return await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const swept = new Map<string, Promise<void>>();

function sweepOnce(place: string): Promise<void> {
  let sweep = swept.get(place);
  if (sweep === undefined) swept.set(place, (sweep = sweepFolders(place)));
  return sweep;
}

/**
 * Removes what processes left that were killed with their compiler's guard, or between two steps: folders of this user whose process
 * is gone. Links are not followed, and nothing that goes wrong here matters.
 */
async function sweepFolders(place: string): Promise<void> {
  const names = await readdir(place).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(PREFIX)) continue;
    const path = join(place, name);
    try {
      const found = await lstat(path);
      if (!found.isDirectory() || found.uid !== process.getuid?.()) continue;
      const left = Date.now() - found.mtimeMs > ABANDONED_MS || isOfDeadProcess(name);
      if (left) await rm(path, { recursive: true, force: true });
    } catch {
      // gone meanwhile, or not to be removed
    }
  }
}

function isOfDeadProcess(name: string): boolean {
  const [, where, pid, start] = NAME.exec(name) ?? [];
  if (where === undefined || where !== machine() || startOf(process.pid) === undefined)
    return false;
  const now = startOf(Number(pid));
  return now === undefined || now !== Number(start);
}

/** When a process of this machine started, in ticks since the boot; undefined where there is none. */
function startOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may hold anything; the start is field 22, the state behind it field 3.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? undefined : Number(fields[18]);
  } catch {
    return undefined;
  }
}

let known: string | undefined;

/** What tells this boot and its numbers of processes from those of other machines and containers that share the folder. */
function machine(): string {
  if (known === undefined) {
    const parts = [
      () => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim(),
      () => readlinkSync('/proc/self/ns/pid'),
    ].map((read) => {
      try {
        return read();
      } catch {
        return '';
      }
    });
    known = createHash('sha256').update(parts.join(' ')).digest('hex').slice(0, 12);
  }
  return known;
}
