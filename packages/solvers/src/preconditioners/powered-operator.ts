import type { Tensor } from '@mercer/tensor';
import { LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType, OperatorParts } from '../operators/operator-types.js';

/** What an operator whose eigenvectors are known has beside its products. */
export interface PowerRules<D extends OperatorDType> {
  /** A power of it, which owns its tensors. */
  readonly power: (exponent: number, parameters: readonly Tensor[]) => Promise<PoweredOperator<D>>;
  /** The logarithm of its determinant, by its tensors as they are stored. */
  readonly logdet: (parameters: readonly Tensor[]) => Promise<number>;
}

/** A symmetric positive definite operator with powers and a determinant: what `logdet` needs of a preconditioner. */
export class PoweredOperator<D extends OperatorDType> extends LinearOperator<D> {
  readonly #parts: OperatorParts<D>;
  readonly #powers: PowerRules<D>;

  /** @internal */
  constructor(parts: OperatorParts<D>, powers: PowerRules<D>) {
    super(parts);
    this.#parts = parts;
    this.#powers = powers;
  }

  /** @internal */
  power(exponent: number): Promise<PoweredOperator<D>> {
    return this.#powers.power(exponent, this.parameters);
  }

  /** @internal */
  logdet(): Promise<number> {
    return this.#powers.logdet(this.parameters);
  }

  /** @internal */
  override withParameters(parameters: readonly Tensor[]): PoweredOperator<D> {
    return new PoweredOperator({ ...this.#parts, parameters, owned: [] }, this.#powers);
  }
}
