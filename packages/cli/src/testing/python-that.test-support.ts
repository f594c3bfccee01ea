import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A Python in a folder that answers as the shell script does. */
export async function pythonThat(folder: string, says: string): Promise<string> {
  const path = join(folder, `python-${says.length}`);
  await writeFile(path, `#!/bin/sh\n${says}\n`);
  await chmod(path, 0o755);
  return path;
}
