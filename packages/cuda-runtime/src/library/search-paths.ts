import { existsSync, readdirSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Candidate } from '../native/addon.js';

/** Where a library of the toolkit may lie. One row per library. */
export interface ToolkitLibrary {
  readonly name: string;
  /** Environment variable that names the exact file. */
  readonly variable: string;
  /** Soname for a toolkit major. */
  soname(major: number): string;
  /** Folder names below `nvidia/` in Python's site-packages. */
  pythonFolders(major: number): readonly string[];
}

export const nvrtcLibrary: ToolkitLibrary = {
  name: 'NVRTC',
  variable: 'MERCER_CUDA_NVRTC_PATH',
  soname: (major) => `libnvrtc.so.${major}`,
  pythonFolders: (major) => (major === 13 ? ['cu13'] : ['cuda_nvrtc']),
};

/** cuSOLVER, whose own major is one less than its toolkit's. */
export const cusolverLibrary: ToolkitLibrary = {
  name: 'cuSOLVER',
  variable: 'MERCER_CUDA_CUSOLVER_PATH',
  soname: (major) => `libcusolver.so.${major - 1}`,
  pythonFolders: (major) => (major === 13 ? ['cu13'] : ['cusolver']),
};

export const cublasLtLibrary: ToolkitLibrary = {
  name: 'cuBLASLt',
  variable: 'MERCER_CUDA_CUBLASLT_PATH',
  soname: (major) => `libcublasLt.so.${major}`,
  pythonFolders: (major) => (major === 13 ? ['cu13'] : ['cublas']),
};

export const cublasLibrary: ToolkitLibrary = {
  name: 'cuBLAS',
  variable: 'MERCER_CUDA_CUBLAS_PATH',
  soname: (major) => `libcublas.so.${major}`,
  pythonFolders: (major) => (major === 13 ? ['cu13'] : ['cublas']),
};

/** NCCL, which is a package of its own beside every toolkit. */
export const ncclLibrary: ToolkitLibrary = {
  name: 'NCCL',
  variable: 'MERCER_CUDA_NCCL_PATH',
  soname: () => 'libnccl.so.2',
  pythonFolders: () => ['nccl'],
};

/** Toolkit majors that can be used, in the order of preference for a driver of `driverMajor`. */
export function supportedMajors(driverMajor: number | undefined): readonly number[] {
  // What a newer toolkit emits is not promised to load on an older driver, so that one comes last.
  return driverMajor === 12 ? [12, 13] : [13, 12];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The driver: only from the system or an exact path; link stubs are refused when opened. */
export function driverCandidates(env: Environment): readonly Candidate[] {
  const exact = explicitFile(env, 'MERCER_CUDA_DRIVER_PATH');
  if (exact) return [exact];
  const files = ['/usr/lib/wsl/lib/libcuda.so.1'].filter((file) => existsSync(file));
  return [
    { path: 'libcuda.so.1', onlyIfLoaded: true },
    ...files.map((path) => ({ path })),
    { path: 'libcuda.so.1' },
  ];
}

/** A library of the toolkit, in the order of docs: explicit, loaded, CUDA_HOME, Python, system, /usr. */
export function toolkitCandidates(
  library: ToolkitLibrary,
  env: Environment,
  majors: readonly number[],
): readonly Candidate[] {
  const exact = explicitFile(env, library.variable);
  if (exact) return [exact];
  const candidates: Candidate[] = majors.map((major) => ({
    path: library.soname(major),
    onlyIfLoaded: true,
  }));
  const addFolders = (folders: readonly string[]): void => {
    for (const major of majors) {
      for (const folder of folders) candidates.push({ path: join(folder, library.soname(major)) });
    }
  };
  for (const variable of ['MERCER_CUDA_HOME', 'CUDA_PATH', 'CUDA_HOME']) {
    const home = env[variable];
    if (home !== undefined && isAbsolute(home)) addFolders(homeFolders(home, library, majors));
  }
  for (const major of majors) {
    for (const folder of pythonFolders(env, library.pythonFolders(major))) {
      candidates.push({ path: join(folder, library.soname(major)) });
    }
  }
  if (env['CONDA_PREFIX'] !== undefined && isAbsolute(env['CONDA_PREFIX'])) {
    addFolders(libFolders(env['CONDA_PREFIX']));
  }
  for (const major of majors) candidates.push({ path: library.soname(major) });
  addFolders([...localToolkits(), ...distributionFolders()].filter((folder) => existsSync(folder)));
  return unique(candidates);
}

function explicitFile(env: Environment, variable: string): Candidate | undefined {
  const path = env[variable];
  return path === undefined || path === '' ? undefined : { path };
}

function libFolders(home: string): string[] {
  const targets = join(home, 'targets');
  const below = existsSync(targets)
    ? readdirSync(targets).map((name) => join(targets, name, 'lib'))
    : [];
  return [join(home, 'lib64'), join(home, 'lib'), ...below].filter((folder) => existsSync(folder));
}

/** A toolkit's own folders, or those of a folder filled by `pip install --target`. */
function homeFolders(home: string, library: ToolkitLibrary, majors: readonly number[]): string[] {
  const python = majors.flatMap((major) =>
    library.pythonFolders(major).map((name) => join(home, 'nvidia', name, 'lib')),
  );
  const found = [...libFolders(home), ...python.filter((folder) => existsSync(folder))];
  return found.length > 0 ? found : [join(home, 'lib64')];
}

function pythonFolders(env: Environment, names: readonly string[]): string[] {
  const folders: string[] = [];
  for (const prefix of [env['VIRTUAL_ENV'], env['CONDA_PREFIX']]) {
    if (prefix === undefined || !isAbsolute(prefix)) continue;
    const lib = join(prefix, 'lib');
    if (!existsSync(lib)) continue;
    for (const python of readdirSync(lib).filter((name) => /^python3/.test(name))) {
      for (const name of names)
        folders.push(join(lib, python, 'site-packages', 'nvidia', name, 'lib'));
    }
  }
  return folders.filter((folder) => existsSync(folder));
}

/** /usr/local/cuda first, then the versioned folders, newest first. */
function localToolkits(): string[] {
  if (!existsSync('/usr/local')) return [];
  const versions = readdirSync('/usr/local')
    .filter((name) => /^cuda-1[23](\.\d+)?$/.test(name))
    .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  return ['cuda', ...versions].flatMap((name) => libFolders(join('/usr/local', name)));
}

function distributionFolders(): string[] {
  const triple = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  return [`/usr/lib/${triple}`, '/usr/lib64'];
}

function unique(candidates: readonly Candidate[]): Candidate[] {
  const seen = new Set<string>();
  return candidates.filter(({ path, onlyIfLoaded }) => {
    const key = `${onlyIfLoaded ?? false} ${path}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
