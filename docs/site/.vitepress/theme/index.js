import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import PairPlayground from './PairPlayground.vue';
import RunProgram from './RunProgram.vue';
import './style.css';

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'home-hero-info-after': () => h('code', { class: 'install' }, 'npm install @mercer/core'),
    }),
  /** @param {{ app: import('vue').App }} site */
  enhanceApp({ app }) {
    app.component('RunProgram', RunProgram);
    app.component('PairPlayground', PairPlayground);
  },
};
