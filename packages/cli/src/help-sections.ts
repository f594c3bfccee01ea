import type { Command } from 'commander';

/** What the help of the program says behind its commands, as a manual page does: sections of names and what they mean. */
export const HELP_SECTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Exit status': {
    '0': 'all went well',
    '1': 'the work failed, a column of `solve` did not converge, a training diverged, the profiled program failed, or `bench compare` found a row that fell',
    '2': 'wrong usage: a command, an option or its value',
    '130, 143':
      '`train` was stopped by Ctrl-C or by SIGTERM, and has saved what it was asked to save',
  },
  Environment: {
    MERCER_DEVICE: 'the device where --device names none: cpu, cuda:0',
    MERCER_CPU:
      'who computes on the CPU: compiled waits for the compiler, interpreted needs none, wasm is WebAssembly',
    MERCER_CPU_THREADS: 'threads on the CPU; its cores if unset',
    MERCER_CPU_LEVEL: 'a lower level of vector instructions: x86-64-v2, x86-64-v3',
    MERCER_BLAS: 'a library with BLAS and LAPACK',
    MERCER_PRODUCTS: 'off: no distances through products on tensor cores',
    MERCER_CACHE: 'the store of compiled kernels: rw, ro or off',
    MERCER_CACHE_DIR: 'the folder of this store',
    MERCER_KERNELS: 'folders with exported kernels, or off',
    MERCER_KEEP_MEMORY: '0: streams of a GPU keep no memory',
    MERCER_CUDA_LAUNCH_GRAPHS: 'how many kernels of a GPU are launched as graphs; 0 for profilers',
    MERCER_CUDA_HOME: 'the folder of a CUDA toolkit; CUDA_HOME and CUDA_PATH come after it',
    MERCER_CUDA_DRIVER_PATH:
      'exactly this file for the driver; likewise MERCER_CUDA_NVRTC_PATH, _CUSOLVER_PATH, _CUBLASLT_PATH, _CUBLAS_PATH and _NCCL_PATH',
    CXX: 'the C++ compiler',
    MERCER_PROFILE: 'a file for the times of kernels',
    MERCER_DEBUG: 'jit or tensor, or both with a comma: lines on standard error',
    MERCER_PYTHON: 'the Python of the peers of `bench`',
    NO_COLOR: 'no colours; FORCE_COLOR gives them to pipes too',
  },
  Files: {
    '~/.cache/mercer': 'the store of compiled kernels; in XDG_CACHE_HOME where that is set',
    'report.html': 'what `demo digits` writes where --out names nothing else',
  },
};

/** The sections as text, as wide as the rest of the command's help. */
export function sectionsText(command: Command): string {
  const help = command.createHelp();
  const helpWidth = command.configureOutput().getOutHelpWidth?.();
  help.prepareContext(helpWidth === undefined ? {} : { helpWidth });
  return Object.entries(HELP_SECTIONS)
    .map(([title, items]) => {
      const names = Object.keys(items);
      const column = Math.max(...names.map((name) => name.length));
      const lines = Object.entries(items).map(([name, text]) =>
        help.formatItem(name, column, text, help),
      );
      return `\n${title}:\n${lines.join('\n')}`;
    })
    .join('\n');
}
