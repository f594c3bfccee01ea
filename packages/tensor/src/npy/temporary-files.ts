import process from 'node:process';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { lstat, opendir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * `.mercer-<machine>-<pid>-<start>-<random>.tmp`: who writes it, so that another process can tell whether that one is gone. `machine` stands
 * for this boot of this machine and its process numbers (containers have their own), `start` for when the process began.
 */
const PATTERN = /^\.mercer-([0-9a-f]{12}|unknown)-(\d+)-(\d+)-[0-9a-f]{16}\.tmp$/;

/** How long a file of another machine, whose processes cannot be asked for, has to lie untouched. */
const FOREIGN_MS = 24 * 3600 * 1000;

let ours: { readonly machine: string; readonly start: string } | undefined;

function identity(): { readonly machine: string; readonly start: string } {
  if (ours !== undefined) return ours;
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1');
    const namespace = readlinkSync('/proc/self/ns/pid');
    const machine = createHash('sha256').update(`${boot} ${namespace}`).digest('hex').slice(0, 12);
    const start = parseStat(readFileSync('/proc/self/stat', 'latin1')).start;
    ours = { machine, start };
  } catch {
    ours = { machine: 'unknown', start: '0' }; // no /proc: only age tells
  }
  return ours;
}

/** A name for a temporary file of this process that nobody can guess. */
export function temporaryName(): string {
  const { machine, start } = identity();
  return `.mercer-${machine}-${process.pid}-${start}-${randomBytes(8).toString('hex')}.tmp`;
}

/**
 * Deletes what writers that are gone left in a folder: regular files with a temporary name that this user owns. Never fails, as it is
 * done on the way to something else.
 */
export async function sweepTemporaries(folder: string): Promise<void> {
  try {
    for await (const { name } of await opendir(folder)) {
      const [, machine = '', pid = '', start = ''] = PATTERN.exec(name) ?? [];
      if (machine !== '') await removeIfLeft(join(folder, name), machine, pid, start);
    }
  } catch {
    // The folder cannot be listed, or somebody else was quicker.
  }
}

async function removeIfLeft(
  path: string,
  machine: string,
  pid: string,
  start: string,
): Promise<void> {
  const stat = await lstat(path);
  const user = process.geteuid?.() ?? stat.uid;
  if (!stat.isFile() || stat.uid !== user) return;
  const here = machine !== 'unknown' && machine === identity().machine;
  const left = here ? await hasEnded(pid, start) : Date.now() - stat.mtimeMs > FOREIGN_MS;
  if (left) await unlink(path);
}

async function hasEnded(pid: string, start: string): Promise<boolean> {
  try {
    const found = parseStat(await readFile(`/proc/${pid}/stat`, 'latin1'));
    return found.start !== start || /[ZX]/.test(found.state);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** State and start of a process: the third field and the twenty-second. The second is its name, which may hold anything. */
function parseStat(text: string): { readonly state: string; readonly start: string } {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', start: fields[19] ?? '' };
}
