import { ChainResult } from '../arithmetic/chain-result.js';
import type { ChainNode, ChainOperand } from '../arithmetic/chain.js';
import { chainText } from '../arithmetic/chain-text.js';
import { LaterRead } from '../arithmetic/later-read.js';
import type { StorageBlock } from '../storage-block.js';
import { isTensor, isUsable, layoutNumber, type Tensor } from '../tensor.js';

/**
 * Values without their elements: a text that is the same for values with which all functions that read no elements launch the same. It says which tensors share
 * memory, and which results are part of others.
 */
export class ValueForms {
  /** In the order in which the text names them. */
  readonly tensors: Tensor[] = [];
  /** Whether there was nothing but tensors, results of known operations on tensors that are there, numbers, texts, and lists and records of these. */
  isComplete = true;
  readonly #names = new Map<Tensor, string>();
  readonly #storages = new Map<StorageBlock, number>();
  readonly #seen = new Map<ChainNode, number>();

  textOf(value: unknown): string {
    switch (typeof value) {
      case 'number':
        return numberText(value);
      case 'string':
        return stringText(value);
      case 'boolean':
      case 'undefined':
        return String(value);
      case 'object':
        return value === null ? 'null' : this.#ofObject(value);
      default:
        return this.#unknown();
    }
  }

  #ofObject(value: object): string {
    if (isTensor(value)) return this.#ofTensor(value);
    if (value instanceof ChainResult) return this.#ofChain(value);
    let text = '';
    if (Array.isArray(value)) {
      for (const one of value as unknown[]) text += `${this.textOf(one)},`;
      return `[${text}]`;
    }
    if (Object.getPrototypeOf(value) !== Object.prototype) return this.#unknown();
    for (const [name, one] of Object.entries(value))
      text += `${stringText(name)}:${this.textOf(one)},`;
    return `{${text}}`;
  }

  #ofTensor(tensor: Tensor): string {
    let name = this.#names.get(tensor);
    if (name !== undefined) return name;
    if (!isUsable(tensor)) return this.#unknown();
    const { storage, offset } = tensor;
    let memory = this.#storages.get(storage);
    if (memory === undefined) this.#storages.set(storage, (memory = this.#storages.size));
    name = `t${this.tensors.push(tensor)}`;
    this.#names.set(tensor, name);
    return `${name}=${memory} ${layoutNumber(tensor)} ${offset}`;
  }

  #ofChain(result: ChainResult): string {
    const { tensor, chain, started, disposed } = result;
    if (tensor !== undefined) return `there ${this.#ofTensor(tensor)}`;
    const isRead = (one: LaterRead): boolean => one.isCurrentAt();
    if (started || disposed || chain.before.length > 0 || !chain.reads.every(isRead))
      return this.#unknown();
    const read = (one: ChainOperand): string =>
      one instanceof LaterRead ? this.#ofTensor(one.tensor) : this.#unknown();
    return `${chain.computesIn} ${chainText(result, this.#seen, numberText, read)}`;
  }

  #unknown(): string {
    this.isComplete = false;
    return '?';
  }
}

/** With its length, so that no text looks like others beside each other. */
const stringText = (one: string): string => `'${one.length} ${one}'`;

const numberText = (one: number): string => (Object.is(one, -0) ? '-0' : String(one));
