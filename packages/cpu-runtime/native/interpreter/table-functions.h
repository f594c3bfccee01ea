// Functions whose fixed numbers are any: the text of compiled kernels with a table in the place of its literals.

INLINE Wide polynomial(const double* c, int count, Wide x) {
  Wide sum = wide(c[count - 1]);
  for (int n = count - 2; n >= 0; n--) sum = sum * x + c[n];
  return sum;
}

INLINE Wide chebyshev(const double* c, int count, Wide twice) {
  Wide b1 = wide(0.0), b2 = wide(0.0);
  for (int n = count - 1; n > 0; n--) {
    const Wide b0 = (twice * b1 - b2) + c[n];
    b2 = b1;
    b1 = b0;
  }
  return (0.5 * twice * b1 - b2) + c[0];
}

MATH_BIG Wide math_round_wide(Wide x, const double* table) {
  const Wide size = size_of(x) * table[0], middle = nearest(size);
  const Wide below = middle > size ? middle - 1.0 : middle;
  const Wide rounded = with_sign((size - below >= 0.5 ? below + 1.0 : below) / table[0], x);
  return size < 4503599627370496.0 ? rounded : x;
}

// packages/kernels/src/interpret/operations.ts writes it.
struct BesselKTable {
  static constexpr int kSinh = 9, kTerms = 12, kChebyshev = 34;
  double mu, whole, q0, gamma1, gamma2, reflection, up, down, nu, atZero, power, padding;
  double sinh[kSinh + 1];
  double value[3][kTerms], next[3][kTerms];
  double far[kChebyshev], far1[kChebyshev];
};

struct BesselK {
  const BesselKTable& t;

  Wide combined(const double (&by)[3][BesselKTable::kTerms], Wide f, Wide q, Wide y) const {
    const int n = BesselKTable::kTerms;
    return f * polynomial(by[0], n, y) + (polynomial(by[1], n, y) + q * polynomial(by[2], n, y));
  }

  // z^nu K_nu(z), good for z <= 1, and sqrt(z) e^z K_nu(z), good for z >= 1; l is the logarithm of z.
  void scaled(Wide z, Wide l, Wide& near, Wide& far) const {
    const Wide w = 1.0 / z, y = z * z * 0.25, logarithm = 0.6931471805599453 - l;
    Wide f = t.gamma1 + logarithm, q = wide(t.q0);
    if (t.mu != 0) {
      const Wide power = exp_wide(t.mu * l, wide(0.0)), power2 = power * power;
      const Wide sigma = t.mu * logarithm, sigma2 = sigma * sigma;
      const Wide up = wide(t.up), down = t.down * power2;
      const Wide series = power * polynomial(t.sinh, BesselKTable::kSinh, sigma2);
      const Wide slope = sigma2 < 0.25 ? series : 0.5 * (up - down) / sigma;
      f = t.reflection * (t.gamma1 * 0.5 * (up + down) + t.gamma2 * logarithm * slope);
      q = t.q0 * power2;
    }
    const Wide twice = 4.0 * w - 2.0;
    near = combined(t.value, f, q, y);
    far = chebyshev(t.far, BesselKTable::kChebyshev, twice);
    if (t.whole == 0) return;
    Wide near1 = 2.0 * combined(t.next, f, q, y), far1 = chebyshev(t.far1, BesselKTable::kChebyshev, twice);
    for (int k = 1; k < (int)t.whole; k++) {
      const double order = 2.0 * (t.mu + k);
      const Wide near2 = order * near1 + z * z * near, far2 = order * w * far1 + far;
      near = near1, near1 = near2;
      far = far1, far1 = far2;
    }
    near = near1;
    far = far1;
  }

  // x z^-nu, which leaves the range last.
  Wide lowered(Wide x, Wide z, Wide l) const {
    if (t.mu != 0) x = x * exp_wide(-t.mu * l, wide(0.0));
    const Wide w = 1.0 / z;
    for (int k = 0; k < (int)t.whole; k++) x = x * w;
    return x;
  }
};

MATH_BIG Wide math_besselK_wide(Wide z, const double* table) {
  const BesselK k{*(const BesselKTable*)table};
  const Wide l = log_wide(z);
  Wide near, far;
  k.scaled(z, l, near, far);
  const Wide small = k.lowered(near, z, l), large = far * exp_wide(-z, wide(0.0)) / wide_sqrt(z);
  const Wide value = z <= 1.0 ? small : z < 1e5 ? large : wide(0.0);
  return z > 0.0 ? value : z == 0.0 ? wide(WIDE_INFINITY) : wide(WIDE_NAN);
}

MATH_BIG Wide math_radialBesselK_wide(Wide x, const double* table) {
  const BesselK k{*(const BesselKTable*)table};
  const Wide z = wide_sqrt(x), l = log_wide(z);
  Wide near, far;
  k.scaled(z, l, near, far);
  const Wide small = k.t.nu < 0 ? k.lowered(k.lowered(near, z, l), z, l) : near;
  const Wide large = far * exp_wide(-z, wide(0.0)) * exp_wide(k.t.power * l, wide(0.0));
  const Wide value = z <= 1.0 ? small : z < 1e5 ? large : wide(0.0);
  return x > 0.0 ? value : x == 0.0 ? wide(k.t.atZero) : wide(WIDE_NAN);
}
