/** Seven points of three numbers, far enough from each other and from a grid. */
export const points = Array.from({ length: 7 }, (_, i) =>
  [0, 1, 2].map((k) => Math.sin(1 + 2.3 * i + 0.7 * k * (i + 1))),
);
export const targets = points.map((_, i) => Math.cos(1.7 * i));
