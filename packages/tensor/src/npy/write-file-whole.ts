import type { OptionNames } from '@mercer/options';
import type { SignalOption } from '../device.js';
import { FileBeside } from './file-beside.js';
import { ioError } from './npy-error.js';
import { readOptions } from './read-options.js';
import { Watch } from './watch.js';

const SIGNAL_OPTION: OptionNames<SignalOption> = { signal: true };

/**
 * Writes a file whole or not at all: the pieces go to a new file with an unguessable name in the same folder, which is
 * flushed to the disk and then takes the place of `path` in one step. A reader sees the old file or the new one.
 * When anything fails, the new file is removed and the old one is as it was; so it is when the process exits or is ended by SIGINT,
 * SIGTERM or SIGHUP. What SIGKILL or a crash leaves is removed by the next process that writes in the folder.
 *
 * A file that is replaced keeps its permissions and its group, and its owner where root writes; other names of it (hard links) keep the
 * old content. A symbolic link, a folder, a pipe, a device or a read-only file as `path` is refused with `NPY_IO`.
 * A signal ends it between pieces, and before the new file takes its place: what was at `path` stays.
 */
export async function writeFileWhole(
  path: string,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  options?: SignalOption,
): Promise<void> {
  const { signal } = readOptions('writeFileWhole', options, SIGNAL_OPTION);
  await writeWhole(path, pieces, new Watch({ signal }));
}

/** The same for the codec's own files. */
export async function writeWhole(
  path: string,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  watch: Watch,
): Promise<void> {
  watch.check();
  const beside = await FileBeside.open(path);
  try {
    for await (const piece of pieces) {
      await beside.write(piece);
      watch.check();
    }
    await beside.commit(() => {
      watch.check();
    });
  } catch (cause) {
    await beside.abandon();
    if (watch.owns(cause)) throw cause;
    throw ioError('write', path, cause);
  }
}
