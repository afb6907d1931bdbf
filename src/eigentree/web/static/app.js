// Entry point of the page: models, address, keys, and the display of errors.

import * as api from "./api.js";
import { byId, html } from "./dom.js";
import { GrammarPage } from "./grammar.js";
import { ParsePage } from "./parse.js";
import { VIEWS, readState, writeState } from "./state.js";
import { wait } from "./waiting.js";

const state = readState(location.hash);
let models = [];

const parsing = new ParsePage(state, save, showError);
const grammar = new GrammarPage(state, showError);

function save() {
  try {
    // Typing adds no history entries.
    history.replaceState(null, "", writeState(state) || location.pathname + location.search);
  } catch {
    // The text is too long for an address; everything but the link works.
  }
  showLinks();
}

function showError(error, again = null) {
  const box = byId("error");
  box.hidden = error === null;
  byId("work").classList.toggle("stale", error !== null);
  if (error === null) return;
  if (!(error instanceof api.ServiceError)) console.error(error);
  byId("error-message").textContent =
    error instanceof api.ServiceError ? error.message : `Internal error of the page: ${error.message}`;
  const retry = byId("retry");
  const isRefused = error.status >= 400 && error.status < 500; // it would be refused again
  retry.hidden = again === null || isRefused;
  retry.onclick = () => {
    showError(null);
    document.querySelector("main").focus(); // the button is hidden
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
    showError(error, begin);
    return;
  }
  showModels();
  watchStart();
  restore();
}

/** Show that the service is starting, until it can parse. */
async function watchStart() {
  const starting = wait("The service is starting…");
  try {
    await api.untilReady(({ preparing, compiling }) => {
      starting.change(
        compiling
          ? `The service is starting: compiling kernel ${compiling.number} of ${compiling.total}, once per installation.`
          : preparing
            ? `The service is starting: preparing ${preparing.model} (${preparing.number} of ${preparing.total}).`
            : "The service is starting…",
      );
    });
  } catch (error) {
    showError(error, begin);
  } finally {
    starting.end();
  }
}

function showModels() {
  const known = ofKind("constituents");
  const name = modelName();
  const chosen = known.find((each) => each.name === name);
  byId("model-name").textContent = known.length ? name : "no constituency model";
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

/** Links to the two pages keep the state of both. */
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
  const theme = { auto: "system", light: "light", dark: "dark" }[name];
  byId("theme").setAttribute("aria-label", `Colours: ${theme}`);
  byId("theme").title = `Colours: ${theme}`;
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
