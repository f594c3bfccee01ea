import { readFileSync } from 'node:fs';

/** Families of systems that share a package manager. */
export type PackageManager = 'apt' | 'dnf' | 'zypper' | 'pacman' | 'apk' | 'brew' | 'unknown';

/** The system as advice needs it. */
export interface Distribution {
  readonly name: string;
  readonly manager: PackageManager;
}

const MANAGERS: readonly (readonly [PackageManager, readonly string[]])[] = [
  ['apt', ['debian', 'ubuntu']],
  ['dnf', ['fedora', 'rhel', 'centos', 'rocky', 'almalinux', 'amzn']],
  ['zypper', ['suse', 'opensuse', 'sles']],
  ['pacman', ['arch', 'manjaro']],
  ['apk', ['alpine']],
];

/** Reads the fields of an os-release text and finds the package manager by ID, then by ID_LIKE. */
export function parseOsRelease(text: string): Distribution {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const match = /^([A-Z_]+)=(?:"([^"]*)"|'([^']*)'|(.*))$/.exec(line.trim());
    if (match !== null) fields.set(match[1] ?? '', match[2] ?? match[3] ?? match[4] ?? '');
  }
  const ids = [fields.get('ID') ?? '', ...(fields.get('ID_LIKE') ?? '').split(' ')];
  const found = ids
    .map((id) => MANAGERS.find(([, names]) => names.some((name) => id.startsWith(name))))
    .find((entry) => entry !== undefined);
  return {
    name: fields.get('PRETTY_NAME') ?? fields.get('NAME') ?? 'Linux',
    manager: found?.[0] ?? 'unknown',
  };
}

/** The distribution of this machine. */
export function distribution(platform: NodeJS.Platform = process.platform): Distribution {
  if (platform === 'darwin') return { name: 'macOS', manager: 'brew' };
  for (const path of ['/etc/os-release', '/usr/lib/os-release']) {
    try {
      return parseOsRelease(readFileSync(path, 'utf8'));
    } catch {
      // The next place is tried; a system without either is 'unknown'.
    }
  }
  return { name: platform, manager: 'unknown' };
}
