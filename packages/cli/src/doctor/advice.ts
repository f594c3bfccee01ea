import type { PackageManager } from './distribution.js';

/** What is missing, as the doctor found it. */
export interface Missing {
  readonly compiler: boolean;
  readonly driver: boolean;
  readonly nvrtc: boolean;
  readonly lapack: boolean;
  /** An NVIDIA display controller is on the PCI bus. */
  readonly gpuOnBus: boolean;
}

/** One thing to do, with the command that does it. */
export interface Advice {
  readonly missing: 'compiler' | 'driver' | 'nvrtc' | 'lapack';
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

const NVRTC_ELSEWHERE = 'python3 -m pip install nvidia-cuda-nvrtc';
const NVRTC: Readonly<Record<PackageManager, string>> = {
  apt: `${NVRTC_ELSEWHERE}   (or: sudo apt-get install nvidia-cuda-toolkit)`,
  dnf: `${NVRTC_ELSEWHERE}   (or the cuda-nvrtc package of NVIDIA's repository)`,
  zypper: `${NVRTC_ELSEWHERE}   (or the cuda-nvrtc package of NVIDIA's repository)`,
  pacman: `sudo pacman -S cuda   (or: ${NVRTC_ELSEWHERE})`,
  apk: DRIVER.apk,
  brew: DRIVER.brew,
  unknown: NVRTC_ELSEWHERE,
};

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
  if (missing.compiler) {
    advice.push({
      missing: 'compiler',
      text: 'The CPU needs a C++ compiler to build its kernels.',
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
  if (missing.nvrtc && (missing.gpuOnBus || !missing.driver)) {
    advice.push({
      missing: 'nvrtc',
      text: 'The GPU needs NVRTC (CUDA 12 or 13) to compile its kernels.',
      command: NVRTC[manager],
    });
  }
  if (missing.lapack) {
    advice.push({
      missing: 'lapack',
      text: 'Linear algebra is slow and limited to 1024 rows without a BLAS and LAPACK.',
      command: LAPACK[manager],
    });
  }
  return advice;
}
