// One tooltip for the whole page, beside what the pointer or the focus is on.
//
// Its text is also in the accessible name of the element, so it is hidden from assistive technology.

import { byId, html } from "./dom.js";

const GAP = 10;

/**
 * Show tooltips for the elements within `root` that match `selector`.
 *
 * `linesOf` returns the lines for an element, the first as a title; none for no tooltip.
 */
export function tooltips(root, selector, linesOf) {
  const over = (event) => {
    const element = event.target.closest?.(selector);
    if (element && root.contains(element)) show(element, linesOf(element));
    else hide();
  };
  root.addEventListener("pointerover", over);
  root.addEventListener("focusin", (event) => {
    if (event.target.matches(":focus-visible")) over(event);
  });
  for (const end of ["pointerleave", "focusout", "pointerdown", "scroll"]) {
    root.addEventListener(end, hide);
  }
}

function show(element, lines) {
  const box = byId("tooltip");
  if (!lines?.length) return hide();
  const [title, ...rest] = lines;
  box.replaceChildren(
    html("strong", { dir: "auto" }, title),
    ...rest.map((line) => html("span", { dir: "auto" }, line)),
  );
  box.hidden = false;
  const at = element.getBoundingClientRect();
  const { width, height } = box.getBoundingClientRect();
  const left = Math.min(at.left + at.width / 2 - width / 2, window.innerWidth - width - GAP);
  const isRoom = at.top - height - GAP > 0;
  box.style.left = `${Math.max(GAP, left)}px`;
  box.style.top = `${isRoom ? at.top - height - GAP : at.bottom + GAP}px`;
}

export function hide() {
  byId("tooltip").hidden = true;
}
