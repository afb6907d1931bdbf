// The start of the page: models, the address, keys, and the one place where trouble is told.

import * as api from "./api.js";
import { byId, html } from "./dom.js";
import { GrammarPage } from "./grammar.js";
import { ParsePage } from "./parse.js";
import { VIEWS, readState, writeState } from "./state.js";

const state = readState(location.hash);
let models = [];

const parsing = new ParsePage(state, save, trouble);
const grammar = new GrammarPage(state, trouble);

function save() {
  try {
    // Typing makes no history.
    history.replaceState(null, "", writeState(state) || location.pathname + location.search);
  } catch {
    // The text is longer than the browser lets an address be: all but the link works.
  }
  showLinks();
}

function trouble(error, again = null) {
  const box = byId("trouble");
  box.hidden = error === null;
  byId("work").classList.toggle("stale", error !== null);
  if (error === null) return;
  if (!(error instanceof api.Trouble)) console.error(error);
  byId("trouble-told").textContent =
    error instanceof api.Trouble ? error.message : `The page itself has failed: ${error.message}`;
  const retry = byId("retry");
  retry.hidden = again === null;
  retry.onclick = () => {
    trouble(null);
    again();
  };
}

const ofKind = (kind) => models.filter((each) => each.kind === kind);

function modelName() {
  const known = ofKind("constituents");
  return (known.find(({ name }) => name === state.model) ?? known[0])?.name ?? null;
}

async function begin() {
  try {
    models = await api.models();
  } catch (error) {
    trouble(error, begin);
    return;
  }
  showModels();
  restore();
}

function showModels() {
  const known = ofKind("constituents");
  const name = modelName();
  const chosen = known.find((each) => each.name === name);
  byId("model-name").textContent = known.length ? name : "no model of trees";
  byId("model-name").title = chosen?.method ? `method: ${chosen.method}` : "";
  byId("model-name").hidden = known.length > 1;
  byId("model").hidden = known.length < 2;
  byId("model").replaceChildren(...known.map((each) => html("option", {}, each.name)));
  byId("model").value = name;
  parsing.begin(name, ofKind("dependencies")[0]?.name ?? null);
}

function restore() {
  const isGrammar = state.page === "grammar";
  byId("parse-page").hidden = isGrammar;
  byId("grammar-page").hidden = !isGrammar;
  showLinks();
  document.title = isGrammar ? "Grammar · eigentree" : "eigentree";
  if (isGrammar) return grammar.show(modelName());
  return parsing.restore();
}

/** Links to the two pages keep what the other one needs. */
function showLinks() {
  for (const page of ["parse", "grammar"]) {
    const link = byId(`to-${page}`);
    link.setAttribute("href", writeState({ ...state, page }) || "#");
    if (page === state.page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

window.addEventListener("hashchange", () => {
  const before = state.model;
  Object.assign(state, readState(location.hash));
  if (state.model !== before) showModels();
  restore();
});

byId("model").addEventListener("change", (event) => {
  state.model = event.target.value;
  state.symbol = null;
  save();
  showModels();
  restore();
});

byId("theme").addEventListener("click", turnTheme);
byId("help").addEventListener("click", showHelp);
byId("close-help").addEventListener("click", () => byId("help-sheet").close());

function turnTheme() {
  showTheme(window.eigentreeTheme.next());
}

function showTheme(name) {
  const told = { auto: "as the system", light: "light", dark: "dark" }[name];
  byId("theme").setAttribute("aria-label", `Colours: ${told}`);
  byId("theme").title = `Colours: ${told}`;
}

function showHelp() {
  const sheet = byId("help-sheet");
  if (!sheet.open) sheet.showModal();
}

const KEYS = {
  "?": showHelp,
  "/": () => {
    if (state.page === "grammar") byId("symbol-search").focus();
    else byId("text").focus();
  },
  g: () => byId(state.page === "grammar" ? "to-parse" : "to-grammar").click(),
  t: turnTheme,
  n: () => parsing.step(1),
  p: () => parsing.step(-1),
  f: () => state.view === "tree" && byId("fold").click(),
  l: () => parsing.views.turnLayout(),
  "+": () => parsing.views.viewport.zoomIn(),
  "=": () => parsing.views.viewport.zoomIn(),
  "-": () => parsing.views.viewport.zoomOut(),
  0: () => parsing.views.viewport.fit(),
  ...Object.fromEntries(VIEWS.map((view, i) => [i + 1, () => parsing.views.look(view)])),
};

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select, #menu") || byId("help-sheet").open;
  if (event.key === "Escape" && event.target.closest("#text, #symbol-search")) event.target.blur();
  if (isTyping || event.altKey || event.ctrlKey || event.metaKey) return;
  const act = KEYS[event.key];
  const isOther = state.page === "grammar" && !["?", "/", "g", "t"].includes(event.key);
  if (!act || isOther) return;
  event.preventDefault();
  act();
});

showTheme(document.documentElement.dataset.theme);
begin();
