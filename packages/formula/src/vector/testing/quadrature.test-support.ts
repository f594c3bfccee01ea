/** The integral of a smooth function by Simpson's rule; exact enough for oracles of 1e-10. */
export function integral(f: (t: number) => number, from: number, to: number, steps = 4000): number {
  const h = (to - from) / steps;
  let sum = f(from) + f(to);
  for (let k = 1; k < steps; k++) sum += (k % 2 === 1 ? 4 : 2) * f(from + k * h);
  return (sum * h) / 3;
}

/** Bessel's integral for J of integer order. */
export const besselJIntegral = (n: number, x: number): number =>
  integral((t) => Math.cos(n * t - x * Math.sin(t)), 0, Math.PI) / Math.PI;

/** The integral of exp(-x cosh t) cosh(nu t) for K of real order. */
export const besselKIntegral = (nu: number, x: number): number =>
  integral((t) => Math.exp(-x * Math.cosh(t)) * Math.cosh(nu * t), 0, 8);

/** Malmstén's integral for log Gamma. */
export const lgammaIntegral = (x: number): number =>
  integral(
    (t) =>
      t === 0
        ? ((x - 1) * (x - 2)) / 2
        : (x - 1 - (1 - Math.exp((1 - x) * t)) / (1 - Math.exp(-t))) / (t * Math.exp(t)),
    0,
    60,
    40_000,
  );

/** The integral for derivatives of digamma, order 1 and higher. */
export const polygammaIntegral = (n: number, x: number): number =>
  (n % 2 === 0 ? -1 : 1) *
  integral(
    (t) => (t === 0 ? (n === 1 ? 1 : 0) : (t ** n * Math.exp(-x * t)) / (1 - Math.exp(-t))),
    0,
    80,
    40_000,
  );
