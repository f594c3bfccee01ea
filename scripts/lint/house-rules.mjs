// Lint rules of this repository's own.
import path from 'node:path';

const KEBAB_CASE = /^\.?[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9-]+)*$/;

/** One concept a file, named in kebab-case for its main export. */
const kebabCaseFile = {
  meta: {
    type: /** @type {const} */ ('suggestion'),
    docs: { description: 'file names are kebab-case' },
    messages: {
      name: "Rename {{name}} to kebab-case: lower-case words joined by '-', then the endings.",
    },
    schema: [],
  },
  create(/** @type {import('eslint').Rule.RuleContext} */ context) {
    return {
      Program(/** @type {any} */ node) {
        const name = path.basename(context.filename);
        if (!KEBAB_CASE.test(name)) context.report({ node, messageId: 'name', data: { name } });
      },
    };
  },
};

export const houseRules = { rules: { 'kebab-case-file': kebabCaseFile } };
