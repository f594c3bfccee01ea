/**
 * Instructions that kernels use as inline assembly: outputs by reference, then inputs, vectors and
 * matrix fragments flattened. Approximate instructions give the exact result cut towards zero, which
 * is as wrong as the hardware's; the fragments are those of the PTX manual.
 */
export const SHIM_PTX = String.raw`
static inline float emu_cut(double x) {
  const float near = (float)x;
  return fabs((double)near) > fabs(x) ? __int_as_float(__float_as_int(near) - 1) : near;
}
static inline float emu_flush(float x) { return fabsf(x) < 1.17549435e-38f ? copysignf(0.0f, x) : x; }
static inline double emu_flush(double x) { return fabs(x) < 2.2250738585072014e-308 ? copysign(0.0, x) : x; }
static inline double emu_high(double x) { return isfinite(x) ? emu_bits<double>(__double_as_longlong(x) & ~0xffffffffll) : x; }
#define EMU_APPROXIMATE(name, f) \
  static inline void ptx_##name##_approx_ftz_f32(float& r, float a) { const double x = emu_flush(a); r = emu_flush(emu_cut(f)); } \
  static inline void ptx_##name##_approx_f32(float& r, float a) { const double x = a; r = emu_cut(f); }
EMU_APPROXIMATE(lg2, log2(x))
EMU_APPROXIMATE(ex2, exp2(x))
EMU_APPROXIMATE(sqrt, sqrt(x))
EMU_APPROXIMATE(rsqrt, 1.0 / sqrt(x))
EMU_APPROXIMATE(rcp, 1.0 / x)
EMU_APPROXIMATE(sin, sin(x))
EMU_APPROXIMATE(cos, cos(x))
static inline void ptx_div_approx_ftz_f32(float& r, float a, float b) {
  const double x = emu_flush(a), y = emu_flush(b);
  r = fabs(y) > 8.507059173023462e37 && isfinite(y) ? (isfinite(x) ? 0.0f : __int_as_float(0x7fffffff)) : emu_flush(emu_cut(x / y));
}
static inline void ptx_rcp_approx_ftz_f64(double& r, double a) { r = emu_high(emu_flush(1.0 / emu_flush(emu_high(a)))); }
static inline void ptx_rsqrt_approx_ftz_f64(double& r, double a) { r = emu_high(emu_flush(1.0 / sqrt(emu_flush(emu_high(a))))); }
static inline float emu_nan() { return __int_as_float(0x7fffffff); }
static inline void ptx_max_NaN_f32(float& r, float a, float b) { r = a != a || b != b ? emu_nan() : fmaxf(a, b); }
static inline void ptx_min_NaN_f32(float& r, float a, float b) { r = a != a || b != b ? emu_nan() : fminf(a, b); }
static inline void ptx_fma_rn_sat_f32(float& r, float a, float b, float c) { r = __saturatef(fmaf(a, b, c)); }
static inline void ptx_mov_u32(unsigned& r, unsigned a) { r = a; }
template <class T> static inline const void* emu_pointer(T* p) { return p; }
static inline const void* emu_pointer(unsigned long long p) { return (const void*)p; }
static inline const void* emu_pointer(unsigned long p) { return (const void*)p; }
static inline const void* emu_pointer(long long p) { return (const void*)p; }
template <class P> static inline void ptx_cp_async_ca_shared_global(unsigned to, P from, int size, int valid) { emu_copy_async(to, emu_pointer(from), size, valid); }
template <class P> static inline void ptx_cp_async_ca_shared_global(unsigned to, P from, int size) { emu_copy_async(to, emu_pointer(from), size, size); }
template <class P> static inline void ptx_cp_async_cg_shared_global(unsigned to, P from, int size, int valid) {
  if (size != 16) emu_trap(0, "cp.async.cg copies 16 bytes, no other number");
  emu_copy_async(to, emu_pointer(from), size, valid);
}
template <class P> static inline void ptx_cp_async_cg_shared_global(unsigned to, P from, int size) { ptx_cp_async_cg_shared_global(to, from, size, size); }
static inline void ptx_cp_async_commit_group() { emu_commit(); }
static inline void ptx_cp_async_wait_group(int pending) { emu_wait(pending); }
static inline void ptx_cp_async_wait_all() { emu_commit(); emu_wait(0); }
// to 10 bits of fraction, ties away from zero
static inline void ptx_cvt_rna_tf32_f32(unsigned& r, float a) {
  const unsigned bits = __float_as_uint(a);
  r = a != a ? 0x7fffffffu : (bits & 0x7fffffffu) == 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu;
}
struct EmuFragments { unsigned a[4], b[2]; };
static inline double emu_tf32(unsigned bits) { return __uint_as_float(bits & ~0x1fffu); }
// 16 x 8 += 16 x 8 by 8 x 8: lane = 4 group + place; a0 (group, place), a1 (group + 8, place), a2 (group, place + 4),
// a3 (group + 8, place + 4); b0 (place, group), b1 (place + 4, group); c0, c1 (group, 2 place + 0, 1), c2, c3 (group + 8, same)
static inline void ptx_mma_sync_aligned_m16n8k8_row_col_f32_tf32_tf32_f32(float& d0, float& d1, float& d2, float& d3,
    unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1, float c0, float c1, float c2, float c3) {
  const EmuLanes<EmuFragments> all = emu_lanes(EMU_MMA, 0xffffffffu, EmuFragments{{a0, a1, a2, a3}, {b0, b1}});
  const unsigned lane = emu_lane(), group = lane / 4, place = lane % 4;
  const float c[4] = {c0, c1, c2, c3};
  float d[4];
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned column = 2 * place + i % 2;
    double sum = c[i];
    for (unsigned k = 0; k < 8; ++k)
      sum += emu_tf32(all.of[4 * group + k % 4].a[2 * (k / 4) + i / 2]) * emu_tf32(all.of[4 * column + k % 4].b[k / 4]);
    d[i] = emu_cut(sum);
  }
  d0 = d[0]; d1 = d[1]; d2 = d[2]; d3 = d[3];
}
struct EmuPair { double a, b; };
// 8 x 8 += 8 x 4 by 4 x 8: a (group, place), b (place, group), c0, c1 (group, 2 place + 0, 1)
static inline void ptx_mma_sync_aligned_m8n8k4_row_col_f64_f64_f64_f64(double& d0, double& d1, double a, double b, double c0, double c1) {
  const EmuLanes<EmuPair> all = emu_lanes(EMU_MMA, 0xffffffffu, EmuPair{a, b});
  const unsigned lane = emu_lane(), group = lane / 4, place = lane % 4;
  double d[2] = {c0, c1};
  for (unsigned i = 0; i < 2; ++i)
    for (unsigned k = 0; k < 4; ++k) d[i] = fma(all.of[4 * group + k].a, all.of[4 * (2 * place + i) + k].b, d[i]);
  d0 = d[0]; d1 = d[1];
}
`;

/** The names of the functions above. */
export const DECLARED_PTX: ReadonlySet<string> = new Set([
  ...[...SHIM_PTX.matchAll(/\b(ptx_\w+)\(/g)].map((match) => match[1] as string),
  ...[...SHIM_PTX.matchAll(/EMU_APPROXIMATE\((\w+), [a-z\d]/g)].flatMap(([, name]) => [
    `ptx_${name as string}_approx_ftz_f32`,
    `ptx_${name as string}_approx_f32`,
  ]),
]);
