interface Warning {
  readonly type?: string;
  readonly code?: string;
}

const ignored = (): void => undefined;

/** Of `node:process`. Settings come from no environment; of what a machine lacks for more speed a page says nothing. */
export const process = {
  env: {} as Readonly<Record<string, string | undefined>>,
  execArgv: ['--no-warnings'] as readonly string[],
  arch: 'wasm32',
  platform: 'browser',
  pid: 0,
  versions: { node: '' },
  stderr: {
    write(text: string): void {
      console.error(text.trimEnd());
    },
  },
  emitWarning(message: string, { type = 'Warning', code }: Warning = {}): void {
    console.warn(`${type}${code === undefined ? '' : ` [${code}]`}: ${message}`);
  },
  once: ignored,
  on: ignored,
  off: ignored,
  removeListener: ignored,
  /** No limit but that of {@link process.memoryUsage}. */
  constrainedMemory: (): number => 0,
  memoryUsage: { rss: (): number => 0 },
} as const;
