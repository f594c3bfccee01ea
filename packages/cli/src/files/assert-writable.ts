import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { assertReplaceable, printable } from '@mercer/core/npy';
import { CliError } from '../cli-error.js';

/** Checks before the work, not after it, that files can be made where the results shall go. */
export async function assertWritable(...paths: readonly (string | undefined)[]): Promise<void> {
  for (const path of paths) {
    if (path === undefined) continue;
    await assertFolder(path, dirname(path));
    await assertReplaceable(path);
  }
}

async function assertFolder(path: string, folder: string): Promise<void> {
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    if ((await stat(folder)).isDirectory()) return;
  } catch (cause) {
    throw cannotWrite(path, folder, cause);
  }
  throw cannotWrite(path, folder);
}

function cannotWrite(path: string, folder: string, cause?: unknown): CliError {
  return new CliError(
    'CANNOT_WRITE',
    `Cannot write '${printable(path)}': no file can be made in '${printable(folder)}'. Create the folder, or name another.`,
    { cause },
  );
}
