/**
 * Adds methods to the instances of a class, also of a class of another package.
 *
 * @throws TypeError where they have a member of that name
 */
export function attachTo(prototype: object, methods: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(methods)) {
    if (name in prototype) {
      throw new TypeError(
        `there is a member '${name}' already. Give the method another name; where a package was loaded twice, install one version of it.`,
      );
    }
    Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
  }
}
