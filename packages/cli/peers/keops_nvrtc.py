"""Replaces the library through which KeOps calls NVRTC, where that library crashes: it and torch can meet with two C++ runtimes.

Asked for with MERCER_KEOPS_NVRTC=cuda-python; needs the package cuda-bindings (cuda-python).
"""

import importlib
import struct


class NvrtcCompiler:
    """Stands for KeOps' library nvrtc_jit, whose one function compiles a text and writes the cubin behind its size, a size_t."""

    def __init__(self, torch):
        self.torch = torch

    def Compile(self, target_file, code, use_half, use_fast_math, device_id, _include_path):
        from cuda.bindings import nvrtc

        if use_half.value:
            raise RuntimeError("half precision needs cuda_fp16.h, which is not passed here")
        major, minor = self.torch.cuda.get_device_capability(device_id.value)
        options = [f"-arch=sm_{major}{minor}".encode()]
        if use_fast_math.value:
            options.append(b"-use_fast_math")
        status, program = nvrtc.nvrtcCreateProgram(code.value, b"keops.cu", 0, [], [])
        expect_success(status)
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if int(status) != 0:
            return int(status)
        status, size = nvrtc.nvrtcGetCUBINSize(program)
        expect_success(status)
        cubin = b" " * size
        (status,) = nvrtc.nvrtcGetCUBIN(program, cubin)
        expect_success(status)
        nvrtc.nvrtcDestroyProgram(program)
        with open(target_file.value, "wb") as file:
            file.write(struct.pack("@N", size) + cubin)
        return 0


def expect_success(status):
    if int(status) != 0:
        raise RuntimeError(f"NVRTC failed: {status}")


def install(torch):
    """Before the first formula is compiled; KeOps opens its library anew for each."""
    module = importlib.import_module("keopscore.binders.nvrtc.Gpu_link_compile")
    if module.Gpu_link_compile.low_level_code_prefix != "cubin_":
        raise RuntimeError("KeOps wants PTX, from CUDA before 11.1, and this compiles cubins")
    module.CDLL = lambda *_args, **_options: NvrtcCompiler(torch)
