import { cpus, totalmem } from 'node:os';

/** The machine that a result comes from. */
export interface MachineDescription {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly platform: string;
  readonly node: string;
}

export function describeMachine(): MachineDescription {
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? process.arch,
    cores: all.length,
    memoryBytes: totalmem(),
    platform: `${process.platform} ${process.arch}`,
    node: process.versions.node,
  };
}

/** The command line as it was typed, quoted where a shell needs it. */
export function commandLine(argv: readonly string[] = process.argv): string {
  return ['mercer', ...argv.slice(2)].map(quote).join(' ');
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
