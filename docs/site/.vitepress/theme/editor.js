// The editor of programs, which is loaded when somebody edits one.
import { javascript } from '@codemirror/lang-javascript';
import { basicSetup, EditorView } from 'codemirror';

const look = EditorView.theme({
  '&': { fontSize: '14px', background: 'var(--vp-code-block-bg)', color: 'var(--vp-c-text-1)' },
  '.cm-scroller': { fontFamily: 'var(--vp-font-family-mono)', lineHeight: '1.6' },
  '.cm-gutters': {
    background: 'var(--vp-code-block-bg)',
    color: 'var(--vp-c-text-3)',
    border: 'none',
  },
  '.cm-activeLine, .cm-activeLineGutter': { background: 'var(--vp-c-default-soft)' },
  '.cm-cursor': { borderLeftColor: 'var(--vp-c-text-1)' },
});

/** @param {HTMLElement} parent @param {string} doc */
export function makeEditor(parent, doc) {
  const label = EditorView.contentAttributes.of({ 'aria-label': 'Program' });
  const extensions = [basicSetup, javascript({ typescript: true }), look, label];
  return new EditorView({ doc, parent, extensions });
}
