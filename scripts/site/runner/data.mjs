// Data sets that examples read from npm packages: fetched before the program runs, since it asks for them at once.
const WANTED = /vega-datasets\/data\/[\w-]+\.(?:json|csv)/g;

/** @type {Map<string, string>} */
const texts = new Map();

/** Fetches what a program names. @param {string} program */
export async function dataOf(program) {
  const names = new Set(program.match(WANTED));
  await Promise.all(
    [...names].map(async (name) => {
      const file = name.replace('vega-datasets/data/', '');
      const response = await fetch(new URL(`./data/${file}`, import.meta.url));
      if (!response.ok) throw new Error(`The page has no data ${file}.`);
      texts.set(name, await response.text());
    }),
  );
}

/** @param {string} name @returns {string} */
export function textOf(name) {
  const text = texts.get(name);
  if (text === undefined) throw new Error(`The page has no file ${name}.`);
  return text;
}
