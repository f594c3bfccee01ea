import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A checkout with the two folders of KeOps, in which a few lines of numpy stand for it: dense matrices in place of symbolic ones. Its
 * log-sum-exp is wrong on purpose, and its solver stops at ten times the residual that is asked for.
 */
export async function fakeKeops(folder: string): Promise<string> {
  const root = join(folder, 'keops');
  await mkdir(join(root, 'keopscore'), { recursive: true });
  await mkdir(join(root, 'pykeops', 'pykeops', 'numpy'), { recursive: true });
  await writeFile(
    join(root, 'pykeops', 'pykeops', '__init__.py'),
    "__version__ = 'fake'\nprint('chatter', end='')\n",
  );
  await writeFile(join(root, 'pykeops', 'pykeops', 'numpy', '__init__.py'), FAKE);
  await writeFile(join(root, 'pykeops', 'pykeops', 'numpy', 'operations.py'), FAKE_OPERATIONS);
  return root;
}

const FAKE_OPERATIONS = `
import numpy

def ConjugateGradientSolver(binding, linop, b, eps):
    a, r = numpy.zeros_like(b), b.copy()
    p = r.copy()
    while (r * r).sum() >= b.size * (10 * eps) ** 2:
        product = linop(p)
        step = (r * r).sum() / (p * product).sum()
        a, after = a + step * p, r - step * product
        p, r = after + (after * after).sum() / (r * r).sum() * p, after
    return a

class KernelSolve:
    def __init__(self, formula, aliases, unknown, axis):
        assert (formula, unknown, axis) == ("Exp(-g * SqDist(x, y)) * b", "b", 1)
    def __call__(self, x, y, b, g, alpha, eps):
        matrix = numpy.exp(-g * ((x[:, None] - y[None]) ** 2).sum(-1)) + alpha * numpy.eye(len(x), dtype=x.dtype)
        return ConjugateGradientSolver("numpy", lambda p: matrix @ p, b, eps=eps)
`;

const FAKE = `
import numpy
from .operations import KernelSolve

class LazyTensor:
    def __init__(self, values): self.values = values
    def __sub__(self, other): return LazyTensor(self.values - other.values)
    def __pow__(self, p): return LazyTensor(self.values ** p)
    def __neg__(self): return LazyTensor(-self.values)
    def sum(self, axis): return LazyTensor(self.values.sum(axis))
    def sqrt(self): return LazyTensor(numpy.sqrt(self.values))
    def exp(self): return LazyTensor(numpy.exp(self.values))
    def __matmul__(self, b): return self.values @ b
    def logsumexp(self, axis): return 1 + numpy.log(numpy.exp(self.values).sum(axis))
    def argKmin(self, k, axis): return numpy.argsort(self.values, axis)[:, :k]
    def argmin(self, axis): return self.values.argmin(axis)[:, None]

def Genred(formula, aliases, reduction_op, axis):
    assert (formula, reduction_op, axis) == ("Grad(Exp(-SqDist(x, y)) * b, x, e)", "Sum", 1)
    def call(x, y, b, e):
        d = x[:, None, :] - y[None]
        return (-2 * d * numpy.exp(-(d * d).sum(-1))[..., None] * b[None]).sum(1) * e
    return call
`;

/** Compiles twice through keops_nvrtc.py with stand-ins for torch and NVRTC, the second time with an error. */
export const NVRTC_TRIAL = `
import ctypes, json, sys, types

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
seen = {}

class Nvrtc:
    status = 0
    def nvrtcCreateProgram(self, text, name, count, headers, names):
        seen["text"] = text.decode()
        return 0, "program"
    def nvrtcCompileProgram(self, program, count, options):
        seen["options"] = [option.decode() for option in options[:count]]
        return (self.status,)
    def nvrtcGetCUBINSize(self, program): return 0, 5
    def nvrtcGetCUBIN(self, program, cubin):
        ctypes.memmove(cubin, b"cubin", 5)
        return (0,)
    def nvrtcDestroyProgram(self, program): return (0,)

bindings = types.ModuleType("cuda.bindings")
bindings.nvrtc = Nvrtc()
sys.modules.update({"cuda": types.ModuleType("cuda"), "cuda.bindings": bindings})
torch = types.SimpleNamespace(cuda=types.SimpleNamespace(get_device_capability=lambda device: (9, 0)))
module = types.ModuleType("keopscore.binders.nvrtc.Gpu_link_compile")
module.Gpu_link_compile = types.SimpleNamespace(low_level_code_prefix="cubin_")
sys.modules[module.__name__] = module

import keops_nvrtc

keops_nvrtc.install(torch)

def compile_text():
    number, text = ctypes.c_int, ctypes.create_string_buffer
    target = text(sys.argv[2].encode())
    return module.CDLL("library", mode=1).Compile(target, text(b"some text"), number(0), number(1), number(0), text(b""))

status = compile_text()
bindings.nvrtc.status = 6
print(json.dumps(dict(status=status, failed=compile_text(), **seen)))
`;
