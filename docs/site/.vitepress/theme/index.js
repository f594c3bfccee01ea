import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import './style.css';

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'home-hero-info-after': () => h('code', { class: 'install' }, 'npm install @mercer/core'),
    }),
};
