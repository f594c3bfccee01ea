import esbuild from 'esbuild';
import { describe, expect, it } from 'vitest';
import { withPureCalls } from './pure-calls.mjs';

const CODE = `
const made = (name) => { globalThis.made.push(name); return name; };
const used = made('used');
const unused = new Map([[made('unused'), { inner: made('inner') }]]);
const later = () => made('later');
let chained = [made('a'), made('b')].map(String);
made('effect');
export { used, unused, later, chained };
`;

/** What a program that names `used` alone holds. */
async function bundled(/** @type {string} */ code) {
  const { outputFiles } = await esbuild.build({
    stdin: { contents: "import { used } from 'library';\nconsole.log(used);" },
    plugins: [
      {
        name: 'library',
        setup(build) {
          build.onResolve({ filter: /^library$/ }, (found) => ({
            path: found.path,
            namespace: 'library',
          }));
          build.onLoad({ filter: /.*/, namespace: 'library' }, () => ({ contents: code }));
        },
      },
    ],
    bundle: true,
    write: false,
    format: 'esm',
  });
  return outputFiles[0]?.text ?? '';
}

describe('withPureCalls', () => {
  it('lets a bundler leave out constants that nobody names, and nothing else', async () => {
    expect(await bundled(CODE)).toContain('made("unused")');
    const program = await bundled(withPureCalls(CODE));
    expect(program).toContain('made("used")');
    expect(program).toContain('made("effect")');
    expect(program).not.toMatch(/unused|inner|later|chained|"a"/);
  });

  it('changes no line and no value', () => {
    const marked = withPureCalls(CODE);
    expect(marked.replaceAll('/* @__PURE__ */ ', '')).toBe(CODE);
    expect(marked).toContain("() => made('later')");
    expect(marked).toContain("\nmade('effect')");
  });
});
