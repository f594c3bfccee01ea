import { JitCache, type CacheOptions, type CacheWarning, type EntryInfo } from '@mercer/core';
import { printable } from '@mercer/core/npy';
import { Command } from 'commander';
import { CliError, usageError } from '../cli-error.js';
import { parseBytes } from '../options/parse-option.js';
import { formatBytes, formatMs } from '../output/format.js';
import type { Output } from '../output/output.js';
import { cacheWarmCommand } from './cache-warm.js';
import { action, withCommonOptions, type CommonOptions } from './with-output.js';

interface CacheCommandOptions extends CommonOptions {
  readonly dir?: string;
}

interface PruneOptions extends CacheCommandOptions {
  readonly maxBytes: number;
}

interface ExportOptions extends CacheCommandOptions {
  readonly out: string;
}

interface ClearOptions extends CacheCommandOptions {
  readonly yes?: boolean;
}

/** `mercer cache warm|export|stats|list|verify|prune|clear`: the store of compiled kernels. */
export function cacheCommand(): Command {
  const command = new Command('cache');
  command.addCommand(cacheWarmCommand());
  command.addCommand(
    sub('export', 'write the kernels as bundles, which MERCER_KERNELS=<folder> uses elsewhere')
      .requiredOption('--out <folder>', 'where the files go, one for each kind of processor')
      .action(action(exportBundles)),
  );
  command.addCommand(
    sub('stats', 'where it is, how large it is, and how it works').action(action(stats)),
  );
  command.addCommand(
    sub('list', 'the kernels in it, most recently used first').action(action(list)),
  );
  command.addCommand(
    sub('verify', 'check every stored byte and delete what has rotted').action(action(verify)),
  );
  command.addCommand(
    sub('prune', 'delete the least recently used kernels until it fits')
      .requiredOption('--max-bytes <size>', 'the size to get below, such as 500M', parseBytes)
      .action(action(prune)),
  );
  command.addCommand(
    sub('clear', 'delete every kernel')
      .option('--yes', 'do it; without this only what would go is shown')
      .action(action(clear)),
  );
  return command;
}

function sub(name: string, description: string): Command {
  const command = new Command(name)
    .description(description)
    .option('--dir <folder>', 'the store in this folder instead of the usual one');
  return withCommonOptions(command);
}

/** Opens the store, runs `body`, closes it. Trouble with the store, silent elsewhere, is a note here. */
async function withCache(
  output: Output,
  options: CacheCommandOptions,
  body: (cache: JitCache) => Promise<void>,
): Promise<void> {
  const settings: CacheOptions = {
    ...(options.dir === undefined ? {} : { directory: options.dir }),
    onWarning: (warning: CacheWarning) => {
      output.note(`note: ${warning.message}`);
    },
  };
  const cache = JitCache.open(settings);
  try {
    await body(cache);
  } finally {
    await cache.close();
  }
}

async function exportBundles(output: Output, options: ExportOptions): Promise<void> {
  await withCache(output, options, async (cache) => {
    const written = await cache.exportBundles(options.out);
    output.result(written, () =>
      written.length === 0
        ? 'The store holds no kernel that could be written.'
        : written
            .map(
              ({ kernels, file, bytes }) =>
                `${kernels} kernels in ${printable(file)} (${formatBytes(bytes)})`,
            )
            .join('\n'),
    );
  });
}

async function stats(output: Output, options: CacheCommandOptions): Promise<void> {
  await withCache(output, options, async (cache) => {
    const { counters: _, ...found } = await cache.stats();
    output.result(found, () => {
      const lines: [string, string][] = [
        ['state', found.state + (found.reason === undefined ? '' : ` (${found.reason})`)],
        ['file', found.path ?? 'none'],
        ['bundles', found.bundles.join(', ') || 'none'],
        ['driver', found.driver ?? 'none'],
        ['kernels', String(found.entries)],
        ['in use', `${formatBytes(found.usedBytes)} of ${formatBytes(found.maxBytes)}`],
        ['on disk', formatBytes(found.fileBytes + found.logBytes)],
      ];
      return lines.map(([name, text]) => `${name.padEnd(9)} ${printable(text)}`).join('\n');
    });
  });
}

async function list(output: Output, options: CacheCommandOptions): Promise<void> {
  await withCache(output, options, async (cache) => {
    const entries = await cache.list();
    output.result(entries, () => {
      if (entries.length === 0) return 'The store holds no kernel.';
      return output.table(
        [
          { head: 'key' },
          { head: 'kernel' },
          { head: 'target' },
          { head: 'bytes', align: 'right' },
          { head: 'compiled in', align: 'right' },
          { head: 'last used' },
        ],
        entries.map(row),
      );
    });
  });
}

function row(entry: EntryInfo): string[] {
  return [
    entry.key.slice(0, 12),
    entry.names.join(' '),
    entry.target,
    formatBytes(entry.bytes),
    formatMs(entry.compileMs),
    entry.lastUsed.toISOString().slice(0, 16).replace('T', ' '),
  ];
}

async function verify(output: Output, options: CacheCommandOptions): Promise<void> {
  await withCache(output, options, async (cache) => {
    const report = await cache.verify();
    output.result(report, () =>
      report.corrupt === 0
        ? `All ${report.checked} kernels are as they were stored.`
        : `${report.corrupt} of ${report.checked} kernels had rotted and are gone; they are compiled again when needed.`,
    );
  });
}

async function prune(output: Output, options: PruneOptions): Promise<void> {
  await withCache(output, options, async (cache) => {
    const removed = await cache.prune({ maxBytes: options.maxBytes });
    const { entries, usedBytes } = await requireStore(cache);
    output.result(
      { removed, entries, usedBytes },
      () => `${removed} kernels deleted; ${entries} remain in ${formatBytes(usedBytes)}.`,
    );
  });
}

async function clear(output: Output, options: ClearOptions): Promise<void> {
  await withCache(output, options, async (cache) => {
    const before = await requireStore(cache);
    if (options.yes !== true) {
      throw usageError(
        `Cannot clear the store: that deletes ${before.entries} kernels (${formatBytes(before.usedBytes)}) and was not confirmed. Add --yes`,
      );
    }
    const removed = await cache.clear();
    output.result({ removed }, () => `${removed} kernels deleted.`);
  });
}

async function requireStore(cache: JitCache): Promise<Awaited<ReturnType<JitCache['stats']>>> {
  const found = await cache.stats();
  if (found.state === 'disk') return found;
  throw new CliError(
    'NO_STORE',
    `Cannot change the store: it is not writable (${found.state}${found.reason === undefined ? '' : `, ${found.reason}`}). Check its folder with mercer doctor.`,
  );
}
