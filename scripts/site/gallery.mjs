// The programs under examples/ with what they printed and drew, and the pages that show them.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { root } from '../lib/workspace.mjs';

/** Where what the programs printed and drew is kept. */
export const gallery = path.join(root, 'docs/site/gallery');

/** @returns {{ name: string, file: string }[]} the numbered programs, in their order */
export function programs() {
  return readdirSync(path.join(root, 'examples'))
    .filter((entry) => /^\d+-.*\.mjs$/.test(entry))
    .sort()
    .map((entry) => ({ name: entry.replace(/\.mjs$/, ''), file: `examples/${entry}` }));
}

/** Titles are at most this long; a longer first sentence stays in the text. */
const LONGEST_TITLE = 60;

/**
 * @param {string} name of a program @param {string} code
 * @returns {{ title: string, about: string }} what its first comment says: a short first sentence is the title, else the name is
 */
export function introduction(name, code) {
  const lines = code.split('\n');
  const text = lines
    .slice(
      0,
      lines.findIndex((line) => !line.startsWith('//')),
    )
    .map((line) => line.replace(/^\/\/ */, ''))
    .join(' ')
    .replace(/^\d+\. /, '');
  const [, sentence = '', rest = ''] = /^(.+?)[.:;] (.*)$/.exec(text) ?? [];
  const isTitle = sentence !== '' && sentence.length <= LONGEST_TITLE;
  const title = isTitle ? sentence : name.replace(/^\d+-/, '').replaceAll('-', ' ');
  const about = isTitle ? rest : text;
  // After a full stop a name in code may stand first.
  const isNewSentence = isTitle && text[sentence.length] === '.';
  return { title: capital(title), about: isNewSentence ? about : capital(about) };
}

const capital = (/** @type {string} */ text) => text.charAt(0).toUpperCase() + text.slice(1);

/** @param {string} output @returns {string} its first lines as HTML in one line, with spaces that Vue keeps */
const firstLines = (output) =>
  escaped(output.split('\n').slice(0, 8).join('\n'))
    .replaceAll('\n', '<br>')
    .replaceAll(' ', '&#160;');

/** @param {string} name of a program @returns {{ output: string, pictures: string[] }} */
function recorded(name) {
  const file = path.join(gallery, `${name}.txt`);
  if (!existsSync(file))
    throw new Error(`${name} is not recorded: node scripts/site/record-examples.mjs ${name}`);
  return {
    output: readFileSync(file, 'utf8').trimEnd(),
    pictures: readdirSync(gallery)
      .filter((entry) => entry.startsWith(`${name}.`) && /\.(svg|webp)$/.test(entry))
      .sort(),
  };
}

/** Text as HTML that neither Markdown nor Vue reads further. */
const escaped = (/** @type {string} */ text) =>
  text
    .replaceAll(/[&<>"{}*_|\[\]]/g, (sign) => `&#${sign.charCodeAt(0)};`)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>');

/** Programs that need what no page has. */
const NOT_IN_PAGES = /** @type {readonly [RegExp, string][]} */ ([
  [/node:(?:fs\/promises|os|path)/, 'it reads and writes files'],
  [/unsafeKernel\(/, 'its kernel in C++ needs a compiler'],
]);

/** @param {string} code @returns {string | undefined} why a program does not run in pages */
export const notInPages = (code) => NOT_IN_PAGES.find(([needs]) => needs.test(code))?.[1];

/** @param {string} code @param {string} fence @returns {string[]} */
function runnable(code, fence) {
  const why = notInPages(code);
  return why === undefined
    ? ['<RunProgram>', fence, '</RunProgram>']
    : [fence, `It does not run in this page: ${why}.`];
}

/** @returns {{ page: string, text: string }[]} a page for every program, and one with all of them */
export function galleryPages() {
  const all = programs().map(({ name, file }) => {
    const code = readFileSync(path.join(root, file), 'utf8');
    return { name, code, ...introduction(name, code), ...recorded(name) };
  });
  const pages = all.map(({ name, code, title, about, output, pictures }) => ({
    page: `examples/${name}.md`,
    text: [
      `# ${title}`,
      `<p>${escaped(about)}</p>`,
      ...pictures.map(
        (picture) => `<img class="picture" src="/gallery/${picture}" alt="${escaped(title)}">`,
      ),
      '## Program',
      `In a checkout, after \`npm run build\`: \`node examples/${name}.mjs\``,
      ...runnable(code, '```js\n' + code.trimEnd() + '\n```'),
      '## Output',
      '```text\n' + output + '\n```',
    ].join('\n\n'),
  }));
  const cards = all.map(({ name, title, about, output, pictures }) => {
    const picture = pictures[0]
      ? `<img loading="lazy" src="/gallery/${pictures[0]}" alt="">`
      : `<span class="output">${firstLines(output)}</span>`;
    return `<a class="card" href="/examples/${name}.html"><span class="image">${picture}</span><strong>${Number.parseInt(name, 10)}. ${escaped(title)}</strong><span class="about">${escaped(about)}</span></a>`;
  });
  const index = {
    page: 'examples/index.md',
    text: [
      '---\naside: false\npageClass: wide\n---',
      '# Examples',
      'A short course, in the order of the numbers. Each program is complete and runs in seconds on a CPU.',
      `<div class="gallery">\n${cards.join('\n')}\n</div>`,
    ].join('\n\n'),
  };
  return [index, ...pages];
}
