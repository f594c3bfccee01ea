/** Derivative number `order` of `sin(x) / x`; 1 at 0 for order 0. */
export function sinXDivX(order: number, x: number): number {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? NaN : 0;
  if (Math.abs(x) < Math.max(1, order)) return series(order, x);
  // x f = sin x, differentiated n times: x f^(n) + n f^(n-1) = sin^(n)
  let value = Math.sin(x) / x;
  for (let n = 1; n <= order; n++) value = (sine(n, x) - n * value) / x;
  return value;
}

function sine(derivative: number, x: number): number {
  const value = derivative % 2 === 0 ? Math.sin(x) : Math.cos(x);
  return derivative % 4 < 2 ? value : -value;
}

/** The sum of (-1)^k x^2k / (2k + 1)!, differentiated term by term. */
function series(order: number, x: number): number {
  let sum = 0;
  for (let k = Math.ceil(order / 2); k < 40 + order; k++) {
    let term = k % 2 === 0 ? 1 : -1;
    // (2k)! / ((2k - n)! (2k + 1)!) = 1 / ((2k + 1) (2k - n)!)
    for (let m = 1; m <= 2 * k - order; m++) term *= x / m;
    sum += term / (2 * k + 1);
  }
  return sum;
}
