/**
 * Gives an object itself, so that a class that extends it can give private members to objects that exist. To ask for these asks nothing of the
 * object, which may be a proxy.
 */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- what extends it has the members
export class Itself {
  constructor(one: object) {
    return one;
  }
}
