// The line that shows what the page waits for, and for how long.

import { byId } from "./dom.js";

const SOON = 300; // milliseconds before a wait is shown
const LONG = 2000; // milliseconds before its seconds are shown

const shown = [];
let ticking = null;

/** Show a wait after a moment, until its `end` is called; `change` changes its text. */
export function wait(text) {
  const begun = Date.now();
  const own = { text, begun };
  const starting = setTimeout(() => {
    shown.push(own);
    show();
  }, SOON);
  return {
    change(changed) {
      own.text = changed;
      show();
    },
    end() {
      clearTimeout(starting);
      const at = shown.indexOf(own);
      if (at >= 0) shown.splice(at, 1);
      show();
    },
  };
}

/** Show the oldest of the current waits: the others wait for it. */
function show() {
  clearTimeout(ticking);
  const [oldest] = shown;
  byId("waiting").classList.toggle("on", Boolean(oldest));
  byId("waiting-for").textContent = oldest?.text ?? "";
  byId("waiting-seconds").textContent = "";
  if (!oldest) {
    byId("work").removeAttribute("aria-busy");
    return;
  }
  byId("work").setAttribute("aria-busy", "true");
  const elapsed = Date.now() - oldest.begun;
  if (elapsed >= LONG) byId("waiting-seconds").textContent = `${Math.round(elapsed / 1000)} s`;
  ticking = setTimeout(show, 1000 - (elapsed % 1000));
}
