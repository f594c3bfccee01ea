import tseslint from 'typescript-eslint';
import { houseRules } from './scripts/lint/house-rules.mjs';

const typeScript = ['packages/*/src/**/*.ts', 'examples/**/*.ts'];

export default tseslint.config(
  {
    ignores: [
      '**/dist/**',
      '**/build/**',
      '**/node_modules/**',
      '.gpu/**',
      '.nvrtc/**',
      '.turbo/**',
      'release/**',
    ],
  },
  {
    files: ['**/*.{ts,mts,js,mjs}'],
    plugins: { house: houseRules },
    rules: {
      'house/kebab-case-file': 'error',
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ObjectExpression > SpreadElement > ObjectExpression',
          message: 'Write the properties themselves.',
        },
      ],
    },
  },
  { files: ['**/*.{ts,mts}'], languageOptions: { parser: tseslint.parser } },
  {
    files: typeScript,
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      // Numbers in messages are what errors are for.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // () => stream.dispose() reads better than a block.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // noUncheckedIndexedAccess makes every a[i] possibly undefined; in index arithmetic whose bounds are proven, `!` is
      // the lesser evil to a branch that cannot be taken.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', destructuredArrayIgnorePattern: '^_' },
      ],
    },
  },
  {
    // Browsers replace Node's modules, which are imported by name, and have no such globals (docs/adr/0071).
    files: ['packages/*/src/**/*.ts'],
    ignores: [
      'packages/{cli,cuda-runtime}/src/**',
      'packages/*/src/**/*.test.ts',
      'packages/*/src/**/*.test-*.ts',
      'packages/*/src/testing/**',
    ],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['process', 'Buffer', 'setImmediate', 'clearImmediate', 'global'].map((name) => ({
          name,
          message:
            'Import it by name from its module of Node (node:process, node:buffer, node:timers), which browsers replace.',
        })),
      ],
    },
  },
  {
    // Awaiting what may be a plain value, and async functions without await, are how a test states a contract.
    files: ['packages/*/src/**/*.test.ts', 'packages/*/src/**/*.test-*.ts'],
    rules: {
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
);
