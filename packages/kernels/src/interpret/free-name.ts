/** A variable's name that none of `taken` is: parameters are named by users. */
export function freeName(wanted: string, taken: readonly string[]): string {
  let name = wanted;
  for (let i = 0; taken.includes(name); i++) name = `${wanted}_${i}`;
  return name;
}
