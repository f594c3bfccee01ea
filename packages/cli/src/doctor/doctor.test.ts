import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { adviseInstall } from './advice.js';
import { parseOsRelease } from './distribution.js';
import { folderWarning } from './folder-safety.js';
import { nvidiaGpuOnBus } from './pci.js';

describe('parseOsRelease', () => {
  it.each([
    ['ID=ubuntu\nID_LIKE=debian\nPRETTY_NAME="Ubuntu 24.04"', 'apt', 'Ubuntu 24.04'],
    ['ID=\'rocky\'\nID_LIKE="rhel centos fedora"\nNAME=Rocky', 'dnf', 'Rocky'],
    ['ID="opensuse-leap"\nID_LIKE="suse opensuse"', 'zypper', 'Linux'],
    ['ID=endeavouros\nID_LIKE=arch', 'pacman', 'Linux'],
    ['ID=alpine', 'apk', 'Linux'],
    ['ID=nixos', 'unknown', 'Linux'],
    ['', 'unknown', 'Linux'],
  ])('%j is a system with %s', (text, manager, name) => {
    expect(parseOsRelease(text)).toEqual({ manager, name });
  });
});

describe('adviseInstall', () => {
  const nothing = {
    compiler: false,
    driver: false,
    nvrtc: false,
    cudaLibraries: false,
    lapack: false,
    gpuOnBus: false,
  };

  it('is silent when nothing is missing, and about NVIDIA where there is no GPU', () => {
    expect(adviseInstall(nothing, 'apt')).toEqual([]);
    const noCuda = { ...nothing, driver: true, nvrtc: true, cudaLibraries: true };
    expect(adviseInstall(noCuda, 'apt')).toEqual([]);
  });

  it('names the package of the system', () => {
    const missing = {
      compiler: true,
      driver: true,
      nvrtc: true,
      cudaLibraries: true,
      lapack: true,
      gpuOnBus: true,
    };
    const of = (manager: Parameters<typeof adviseInstall>[1]): string[] =>
      adviseInstall(missing, manager).map(({ command }) => command);
    expect(of('apt')).toEqual([
      'sudo apt-get install g++',
      'sudo apt-get install nvidia-driver',
      expect.stringContaining('pip install nvidia-cuda-nvrtc'),
      expect.stringContaining('pip install nvidia-cusolver nvidia-cublas'),
      'sudo apt-get install libopenblas0-pthread',
    ]);
    expect(of('dnf')[0]).toBe('sudo dnf install gcc-c++');
    expect(of('apk')[1]).toMatch(/glibc/);
    for (const manager of ['zypper', 'pacman', 'brew', 'unknown'] as const)
      expect(of(manager).length).toBe(5);
  });

  it('names the npm package with a LAPACK before that of the system, where there is one', () => {
    const missing = { ...nothing, lapack: true, lapackPackage: '@mercer/openblas-linux-x64-gnu' };
    expect(adviseInstall(missing, 'apt').map(({ command }) => command)).toEqual([
      'npm install @mercer/openblas-linux-x64-gnu   (or: sudo apt-get install libopenblas0-pthread)',
    ]);
  });

  it('asks for the libraries of linear algebra where a driver works', () => {
    const advice = adviseInstall({ ...nothing, cudaLibraries: true }, 'unknown');
    expect(advice.map(({ missing }) => missing)).toEqual(['cudaLibraries']);
    expect(advice[0]?.text).toMatch(/cuSOLVER, cuBLASLt and cuBLAS/);
  });
});

describe('folderWarning', () => {
  it('warns of folders that every user may write, unless the sticky bit protects them', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mercer-lib-'));
    const library = join(folder, 'libcuda.so.1');
    await chmod(folder, 0o755);
    expect(folderWarning(library)).toBeUndefined();
    await chmod(folder, 0o777);
    expect(folderWarning(library)).toMatch(/writable by every user/);
    await chmod(folder, 0o1777);
    expect(folderWarning(library)).toBeUndefined();
    expect(folderWarning('/nonexistent/libcuda.so.1')).toBeUndefined();
    await rm(folder, { recursive: true });
  });
});

describe('nvidiaGpuOnBus', () => {
  it('looks for a display controller of the vendor', async () => {
    const root = await mkdtemp(join(tmpdir(), 'mercer-pci-'));
    const add = async (name: string, vendor: string, kind: string): Promise<void> => {
      await mkdir(join(root, name));
      await writeFile(join(root, name, 'vendor'), `${vendor}\n`);
      await writeFile(join(root, name, 'class'), `${kind}\n`);
    };
    await add('0000:00:01.0', '0x8086', '0x030000');
    await add('0000:00:02.0', '0x10de', '0x040300'); // the sound device of a card
    await mkdir(join(root, 'empty'));
    expect(nvidiaGpuOnBus(root)).toBe(false);
    await add('0000:00:03.0', '0x10de', '0x030200');
    expect(nvidiaGpuOnBus(root)).toBe(true);
    expect(nvidiaGpuOnBus(join(root, 'nonexistent'))).toBe(false);
    await rm(root, { recursive: true });
  });
});
