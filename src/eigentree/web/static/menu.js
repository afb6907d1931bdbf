// The menu at a span: a few actions, and fields for labels.

import { byId, html } from "./dom.js";
import { hide as hideTooltip } from "./tooltip.js";

let close = () => {};

/**
 * Open the menu.
 *
 * `at` is the box on the screen that it belongs to. `actions` are `{text, run}`; `forms` are
 * `{text, options, run}`, each with a field for one of the options, a promise, or anything else. When
 * it closes, the focus returns to where it was, `closed` is called, and then a choice is carried out.
 */
export function openMenu({ title, at, actions, forms = [], closed = () => {} }) {
  close();
  hideTooltip();
  const menu = byId("menu");
  const opener = document.activeElement;
  const choose = (run, value) => {
    leave();
    run(value);
  };
  menu.setAttribute("aria-label", title);
  menu.replaceChildren(
    html("p", { class: "menu-title", dir: "auto" }, title),
    ...actions.map(({ text, run }) =>
      html("button", { type: "button", class: "menu-item", onclick: () => choose(run) }, text),
    ),
    ...forms.map((form, i) => fieldOf(form, i, choose)),
  );
  menu.hidden = false;
  place(menu, at);
  menu.querySelector("button, input")?.focus({ preventScroll: true });

  const isOutside = (event) => {
    if (!menu.contains(event.target)) leave();
  };
  const onKey = (event) => {
    if (event.key === "Escape") leave();
    else if (event.key === "ArrowDown") step(menu, 1);
    else if (event.key === "ArrowUp") step(menu, -1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const leave = () => {
    close();
    opener.focus({ preventScroll: true });
    closed();
  };
  close = () => {
    menu.hidden = true;
    document.removeEventListener("pointerdown", isOutside, true);
    menu.removeEventListener("keydown", onKey);
    close = () => {};
  };
  document.addEventListener("pointerdown", isOutside, true);
  menu.addEventListener("keydown", onKey);
}

export const closeMenu = () => close();

function fieldOf({ text, options, run }, number, choose) {
  const list = html("datalist", { id: `menu-options-${number}` });
  options.then((known) => list.append(...known.map((value) => html("option", { value }))));
  const field = html("input", {
    type: "text",
    list: list.id,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    required: true,
    // Labels contain no white space or round brackets.
    pattern: "[^\\s\\(\\)]+",
    title: "a label without spaces and round brackets",
    size: 8,
  });
  const submit = (event) => {
    event.preventDefault();
    choose(run, field.value.trim());
  };
  return html(
    "form",
    { class: "menu-form", onsubmit: submit },
    html("label", {}, html("span", {}, text), field),
    list,
    html("button", { type: "submit", "aria-label": `${text}: apply` }, "↵"),
  );
}

function step(menu, by) {
  const all = [...menu.querySelectorAll(".menu-item, input")];
  const now = all.indexOf(document.activeElement);
  all[(now + by + all.length) % all.length].focus();
}

function place(menu, at) {
  const { width, height } = menu.getBoundingClientRect();
  const edge = 8;
  const left = Math.min(at.left + at.width / 2 - width / 2, window.innerWidth - width - edge);
  const below = at.bottom + edge;
  const isRoom = below + height < window.innerHeight || at.top < height + edge;
  menu.style.left = `${Math.max(edge, left) + window.scrollX}px`;
  menu.style.top = `${(isRoom ? below : at.top - height - edge) + window.scrollY}px`;
}
