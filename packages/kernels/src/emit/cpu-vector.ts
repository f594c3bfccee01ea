import type { CpuLimits } from '../device-limits.js';
import type { PairwiseDType } from '../dtype.js';

/** Instruction-set level of a host kernel. */
export type CpuLevel = CpuLimits['level'];

/** The vector registers of a level. */
export interface VectorUnit {
  readonly bytes: 16 | 32 | 64;
  readonly registers: 16 | 32;
}

const UNITS: { readonly [L in CpuLevel]: VectorUnit } = {
  'x86-64-v2': { bytes: 16, registers: 16 },
  'x86-64-v3': { bytes: 32, registers: 16 },
  'x86-64-v4': { bytes: 64, registers: 32 },
  arm64: { bytes: 16, registers: 32 },
  wasm128: { bytes: 16, registers: 16 },
};

/** The widest vector registers that a level promises. */
export function vectorUnit(level: CpuLevel): VectorUnit {
  return UNITS[level];
}

/** Whether a product and a sum are one instruction, rounded once. */
export function fusesProducts(level: CpuLevel): boolean {
  return level !== 'x86-64-v2' && level !== 'wasm128';
}

/** How many values one vector holds. */
export function lanesOf(level: CpuLevel, dtype: PairwiseDType): number {
  return UNITS[level].bytes / (dtype === 'float32' ? 4 : 8);
}

/** One instruction on vector registers as a C++ function `V name(V x, V y)` or `V name(V x)`; `V` is `vector`. */
export function instruction(
  name: string,
  operation: string,
  level: CpuLevel,
  dtype: PairwiseDType,
  operands: 1 | 2 = 1,
  vector = 'V',
): string {
  const parameters = operands === 1 ? `${vector} x` : `${vector} x, ${vector} y`;
  const head = `INLINE ${vector} ${name}(${parameters}) {\n  ${vector} r`;
  if (level === 'wasm128') {
    const type = dtype === 'float32' ? 'f32x4' : 'f64x2';
    const call =
      operands === 1
        ? `__builtin_elementwise_${operation}(x)`
        : `__builtin_wasm_p${operation}_${type}(y, x)`;
    return `INLINE ${vector} ${name}(${parameters}) { return (${vector})${call}; }`;
  }
  if (level === 'arm64') {
    const lane = dtype === 'float32' ? '4s' : '2d';
    const sources = operands === 1 ? `%1.${lane}` : `%1.${lane}, %2.${lane}`;
    const inputs = operands === 1 ? '"w"(x)' : '"w"(x), "w"(y)';
    return `${head};\n  asm("${operation} %0.${lane}, ${sources}" : "=w"(r) : ${inputs});\n  return r;\n}`;
  }
  const suffix = dtype === 'float32' ? 'ps' : 'pd';
  if (level === 'x86-64-v2') {
    const code = `${operation}${suffix} %1, %0`;
    return operands === 1
      ? `${head};\n  asm("${code}" : "=x"(r) : "x"(x));\n  return r;\n}`
      : `${head} = x;\n  asm("${code}" : "+x"(r) : "x"(y));\n  return r;\n}`;
  }
  const register = level === 'x86-64-v4' ? 'v' : 'x';
  const inputs = operands === 1 ? `"${register}"(x)` : `"${register}"(x), "${register}"(y)`;
  const sources = operands === 1 ? '%1' : '%2, %1';
  return `${head};\n  asm("v${operation}${suffix} ${sources}, %0" : "=${register}"(r) : ${inputs});\n  return r;\n}`;
}

/** `any(I)`: whether any lane of a comparison's result, 0 or -1, is set. */
export function anyLane(level: CpuLevel, dtype: PairwiseDType): string {
  const single = dtype === 'float32';
  if (level === 'wasm128')
    return 'typedef signed char AnyBytes __attribute__((vector_size(16)));\nINLINE bool any(I x) { return __builtin_wasm_any_true_v128((AnyBytes)x); }';
  const test = {
    'x86-64-v4': `asm("vptestm${single ? 'd' : 'q'} %1, %1, %0" : "=k"(bits) : "v"(x));`,
    'x86-64-v3': `asm("vmovmskp${single ? 's' : 'd'} %1, %0" : "=r"(bits) : "x"(x));`,
    'x86-64-v2': `asm("movmskp${single ? 's' : 'd'} %1, %0" : "=r"(bits) : "x"(x));`,
    arm64: 'bits = 0;\n  for (int lane = 0; lane < LANES; lane++) bits |= x[lane] != 0;',
  }[level];
  return `INLINE bool any(I x) {
  ${level === 'x86-64-v4' ? 'unsigned short' : 'unsigned'} bits;
  ${test}
  return bits != 0;
}`;
}

/**
 * Stores that bypass the caches: `stream_store(T* to, V x)` to an address aligned to the vector, and
 * `stream_end()` before other threads may read. Ordinary stores on arm64 and in WebAssembly.
 */
export function streamingText(level: CpuLevel, dtype: PairwiseDType): string {
  if (level === 'arm64' || level === 'wasm128') {
    return `INLINE void stream_store(T* to, V x) { *(V*)to = x; }
INLINE void stream_end() {}`;
  }
  const suffix = dtype === 'float32' ? 'ps' : 'pd';
  const [code, register] =
    level === 'x86-64-v2' ? ['movnt', 'x'] : ['vmovnt', level === 'x86-64-v4' ? 'v' : 'x'];
  return `INLINE void stream_store(T* to, V x) {
  asm volatile("${code}${suffix} %1, %0" : "=m"(*(V*)to) : "${register}"(x));
}
INLINE void stream_end() { asm volatile("sfence" ::: "memory"); }`;
}

/**
 * The types that every host kernel starts with. `T` is the data type, `V` a vector of it, `I` and `U`
 * vectors of signed and unsigned integers of the same width (`I` is also what a comparison gives).
 * No intrinsics header: including one costs more compile time than the rest of the kernel, so what
 * vector types do not offer is written as an instruction.
 */
export function vectorPrelude(level: CpuLevel, dtype: PairwiseDType): string {
  const { bytes } = vectorUnit(level);
  const isFloat = dtype === 'float32';
  const lanes = lanesOf(level, dtype);
  const integer = isFloat ? 'int' : 'long long';
  const vector = (base: string, name: string, align: number = bytes): string =>
    `typedef ${base} ${name} __attribute__((vector_size(${bytes}), aligned(${align}), may_alias));`;
  return `#include <stdint.h>
#include <stddef.h>
#if defined(__clang__)
#pragma clang fp contract(fast)
#endif
#define INLINE static inline __attribute__((always_inline, unused))
typedef ${isFloat ? 'float' : 'double'} T;
${vector('T', 'V')}
${vector('T', 'VU', isFloat ? 4 : 8)}
${vector(integer, 'I')}
${vector(`unsigned ${integer}`, 'U')}
constexpr int64_t LANES = ${lanes};

#define UNUSED __attribute__((unused))
INLINE V splat(T x) { return (V){${Array<string>(lanes).fill('x').join(', ')}}; }`;
}
