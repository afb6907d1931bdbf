// Light or dark, before anything is drawn. Not a module, since those run after the first picture.

"use strict";

(() => {
  const kept = "eigentree theme";
  const names = ["auto", "light", "dark"];
  const read = () => {
    try {
      return localStorage.getItem(kept);
    } catch {
      return null; // storage is disabled
    }
  };
  const set = (name) => {
    const known = names.includes(name) ? name : "auto";
    document.documentElement.dataset.theme = known;
    return known;
  };
  set(read());
  window.eigentreeTheme = {
    next() {
      const now = document.documentElement.dataset.theme;
      const name = set(names[(names.indexOf(now) + 1) % names.length]);
      try {
        localStorage.setItem(kept, name);
      } catch {
        // The choice lasts until the page is closed.
      }
      return name;
    },
  };
})();
