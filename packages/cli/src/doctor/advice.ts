import type { PackageManager } from './distribution.js';

/** What is missing, as the doctor found it. */
export interface Missing {
  /** No native binary of the CPU loaded, and WebAssembly took its place. */
  readonly native?: boolean;
  readonly compiler: boolean;
  readonly driver: boolean;
  readonly nvrtc: boolean;
  /** One of cuSOLVER, cuBLASLt and cuBLAS. */
  readonly cudaLibraries: boolean;
  readonly lapack: boolean;
  /** The npm package with a LAPACK for this machine, where one is published. */
  readonly lapackPackage?: string | undefined;
  /** An NVIDIA display controller is on the PCI bus. */
  readonly gpuOnBus: boolean;
}

/** One thing to do, with the command that does it. */
export interface Advice {
  readonly missing: 'native' | 'compiler' | 'driver' | 'nvrtc' | 'cudaLibraries' | 'lapack';
  readonly text: string;
  readonly command: string;
}

const COMPILER: Readonly<Record<PackageManager, string>> = {
  apt: 'sudo apt-get install g++',
  dnf: 'sudo dnf install gcc-c++',
  zypper: 'sudo zypper install gcc-c++',
  pacman: 'sudo pacman -S gcc',
  apk: 'sudo apk add g++',
  brew: 'xcode-select --install',
  unknown: 'install g++ or clang++ with the package manager of this system',
};

const DRIVER: Readonly<Record<PackageManager, string>> = {
  apt: 'sudo apt-get install nvidia-driver',
  dnf: 'sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda',
  zypper: 'sudo zypper install nvidia-compute-G06',
  pacman: 'sudo pacman -S nvidia-utils nvidia-open',
  apk: 'use a distribution with glibc: NVIDIA has no driver for musl',
  brew: 'use Linux: NVIDIA has no driver for macOS',
  unknown: 'install the NVIDIA driver for this system (https://www.nvidia.com/drivers)',
};

const NVRTC = fromToolkit('nvidia-cuda-nvrtc', 'the cuda-nvrtc package');
const CUDA_LIBRARIES = fromToolkit(
  'nvidia-cusolver nvidia-cublas nvidia-cusparse nvidia-nvjitlink',
  'the libcusolver, libcublas, libcusparse and libnvjitlink packages',
);

/** Parts of the CUDA toolkit: from Python's packages, or the system's. */
function fromToolkit(python: string, vendor: string): Readonly<Record<PackageManager, string>> {
  const pip = `python3 -m pip install ${python}`;
  return {
    apt: `${pip}   (or: sudo apt-get install nvidia-cuda-toolkit)`,
    dnf: `${pip}   (or ${vendor} of NVIDIA's repository)`,
    zypper: `${pip}   (or ${vendor} of NVIDIA's repository)`,
    pacman: `sudo pacman -S cuda   (or: ${pip})`,
    apk: DRIVER.apk,
    brew: DRIVER.brew,
    unknown: pip,
  };
}

const LAPACK: Readonly<Record<PackageManager, string>> = {
  apt: 'sudo apt-get install libopenblas0-pthread',
  dnf: 'sudo dnf install openblas-threads',
  zypper: 'sudo zypper install libopenblas_pthreads0',
  pacman: 'sudo pacman -S openblas',
  apk: 'sudo apk add openblas',
  brew: 'brew install openblas',
  unknown:
    'install OpenBLAS with the package manager of this system, or set MERCER_BLAS to a library',
};

/** What to install on this system, most useful first; nothing about NVIDIA where no GPU of theirs is seen. */
export function adviseInstall(missing: Missing, manager: PackageManager): Advice[] {
  const advice: Advice[] = [];
  if (missing.native === true) {
    advice.push({
      missing: 'native',
      text: 'The CPU runs WebAssembly, because no native binary loaded (--attempts says why).',
      command:
        'use Linux on x64 or arm64 with glibc 2.28 or newer, and install optional dependencies',
    });
  }
  if (missing.compiler) {
    advice.push({
      missing: 'compiler',
      text: 'Kernels on the CPU are interpreted without a C++ compiler; compiled ones are faster.',
      command: COMPILER[manager],
    });
  }
  if (missing.driver && missing.gpuOnBus) {
    advice.push({
      missing: 'driver',
      text: 'This machine has an NVIDIA GPU and no driver that loads.',
      command: DRIVER[manager],
    });
  }
  const gpu = missing.gpuOnBus || !missing.driver;
  if (missing.nvrtc && gpu) {
    advice.push({
      missing: 'nvrtc',
      text: 'The GPU needs NVRTC (CUDA 12 or 13) to compile its kernels.',
      command: NVRTC[manager],
    });
  }
  if (missing.cudaLibraries && gpu) {
    advice.push({
      missing: 'cudaLibraries',
      text: 'Linear algebra on the GPU needs cuSOLVER, cuBLASLt and cuBLAS (CUDA 12 or 13).',
      command: CUDA_LIBRARIES[manager],
    });
  }
  if (missing.lapack) {
    advice.push({
      missing: 'lapack',
      text: 'Eigenvalues, singular values and least squares are slow without a LAPACK.',
      command:
        missing.lapackPackage === undefined
          ? LAPACK[manager]
          : `npm install ${missing.lapackPackage}   (or: ${LAPACK[manager]})`,
    });
  }
  return advice;
}
