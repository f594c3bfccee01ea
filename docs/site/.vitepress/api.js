// One choice of light or dark for the guides and typedoc's pages: both keep it in localStorage, under names of their own.
const GUIDES = 'vitepress-theme-appearance';
const API = 'tsd-theme';
const chosen = localStorage.getItem(GUIDES) ?? 'auto';
const theme = chosen === 'auto' ? 'os' : chosen;
localStorage.setItem(API, theme);
document.documentElement.dataset.theme = theme;
addEventListener('change', ({ target }) => {
  if (target instanceof HTMLSelectElement && target.id === 'tsd-theme')
    localStorage.setItem(GUIDES, target.value === 'os' ? 'auto' : target.value);
});
