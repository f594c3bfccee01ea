import type { Tensor } from '@mercer/tensor';

/** Gradients by what they are taken by. */
export type GradientsByLabel = Readonly<Record<string, Tensor | undefined>>;
