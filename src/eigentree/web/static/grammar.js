// The grammar viewer: nonterminals, and for one of them its states with their words or rules.

import * as api from "./api.js";
import { byId, html, percent, svg } from "./dom.js";
import { writeState } from "./state.js";
import { wait } from "./waiting.js";

const KINDS = { interminal: "phrase", preterminal: "tag", intermediate: "part of a phrase" };
const MOST_BARS = 64;
// On narrow screens the choices of this many states are open; those of the others open on request.
const OPEN_STATES = 2;
const NARROW = matchMedia("(max-width: 40rem)");

const number = new Intl.NumberFormat("en-GB");

export class GrammarPage {
  #state;
  #showError;
  #model = null;
  #symbols = [];
  #running = null;

  /** `state` is the page's; `showError` is called with an error, or null. */
  constructor(state, showError) {
    this.#state = state;
    this.#showError = showError;
    byId("symbol-search").addEventListener("input", () => this.#list());
    byId("symbol-kind").addEventListener("change", () => this.#list());
    byId("symbol-list").addEventListener("keydown", (event) => stepLinks(event));
    byId("symbol-search").addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") byId("symbol-list").querySelector("a")?.focus();
    });
  }

  /** Show a model's grammar, and the nonterminal that the state names. */
  async show(model) {
    this.#running?.abort();
    this.#running = new AbortController();
    const { signal } = this.#running;
    this.#showError(null);
    const waiting = wait("Loading the grammar…");
    try {
      if (this.#model !== model) {
        this.#symbols = await api.symbols(model, signal);
        this.#model = model;
        this.#list();
      }
      const label = this.#state.symbol ?? this.#symbols[0]?.label;
      this.#mark(label);
      if (label) this.#detail(await api.symbol(model, label, signal));
    } catch (error) {
      if (signal.aborted) return;
      byId("symbol").replaceChildren();
      this.#showError(error);
    } finally {
      waiting.end();
    }
  }

  #list() {
    const query = byId("symbol-search").value.trim().toLowerCase();
    const kind = byId("symbol-kind").value;
    const found = this.#symbols.filter(
      (each) => (!kind || each.kind === kind) && each.label.toLowerCase().includes(query),
    );
    byId("symbol-list").replaceChildren(...found.map((each) => this.#row(each)));
    const all = this.#symbols.length;
    byId("symbol-count").textContent =
      found.length === all ? `${all} nonterminals` : `${found.length} of ${all} nonterminals`;
    this.#mark(this.#state.symbol ?? this.#symbols[0]?.label);
  }

  #row(each) {
    const states = `${each.n_states} ${each.n_states === 1 ? "state" : "states"}`;
    const count = each.count === null ? "" : number.format(each.count);
    return html(
      "li",
      {},
      html(
        "a",
        { href: this.#link(each.label), "data-symbol": each.label },
        html("span", { class: "symbol-name" }, each.label),
        html("span", { class: "soft" }, states),
        html("span", { class: "soft number" }, count),
      ),
    );
  }

  #link(label) {
    return writeState({ ...this.#state, page: "grammar", symbol: label });
  }

  #mark(label) {
    for (const link of byId("symbol-list").querySelectorAll("a")) {
      if (link.dataset.symbol === label) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  #detail(record) {
    const facts = [
      KINDS[record.kind],
      `${record.n_states} ${record.n_states === 1 ? "state" : "states"}`,
      `${number.format(record.n_choices)} ${record.kind === "preterminal" ? "words" : "rules"}`,
    ];
    if (record.count !== null) facts.push(`${number.format(record.count)} times in training`);
    const hadFocus = byId("symbol").contains(document.activeElement);
    const title = html("h2", { class: "symbol-title", tabindex: -1 }, record.label);
    byId("symbol").replaceChildren(
      title,
      html("p", { class: "soft" }, facts.join(" · ")),
      ...spectrum(record),
      html("h3", {}, "States"),
      html("p", { class: "note" }, explained(record)),
      html(
        "div",
        { class: "states" },
        ...record.states.map((state, i) => this.#stateCard(state, record, !NARROW.matches || i < OPEN_STATES)),
      ),
    );
    if (hadFocus) title.focus();
  }

  #stateCard(state, record, isOpen) {
    const largest = Math.max(...state.choices.map(({ value }) => Math.abs(value)), 0);
    const has = state.share !== null;
    // The service numbers states from 0; what people read counts from 1.
    return html(
      "details",
      { class: "state", open: isOpen },
      html(
        "summary",
        {},
        html("h4", {}, `State ${state.state + 1}`),
        html("span", { class: "soft most", dir: "auto" }, textOf(state.choices[0])),
        has ? html("span", { class: "number soft" }, percent(state.share)) : null,
      ),
      has ? html("div", { class: "share", "--share": state.share }) : null,
      html(
        "ol",
        { class: "choices" },
        ...state.choices.map((choice) =>
          html(
            "li",
            {},
            html("span", { class: "choice", dir: "auto" }, ...this.#choice(choice)),
            html("span", {
              class: choice.value < 0 ? "value negative" : "value",
              "--share": Math.abs(choice.value) / largest,
            }),
            html("span", { class: "number soft" }, figure(choice.value, record.signed)),
          ),
        ),
      ),
    );
  }

  #choice(choice) {
    if (choice.word === undefined) {
      return [choice.left, choice.right].flatMap((label, i) => [
        i ? " " : "",
        html("a", { href: this.#link(label) }, label),
      ]);
    }
    const text = textOf(choice);
    return [text === choice.word ? text : html("i", { class: "soft" }, text)];
  }
}

/** A rule, a word or a class of words as text. */
function textOf(choice) {
  if (choice === undefined) return "";
  if (choice.word === undefined) return `${choice.left} ${choice.right}`;
  // Names of word classes contain a space; words do not.
  const found = /^< ?(.*)>$/.exec(choice.word);
  if (!found || !choice.word.includes(" ")) return choice.word;
  const what = found[1].trim();
  return what ? `rare words: ${what}` : "other rare words";
}

const figure = (value, isSigned) =>
  isSigned ? value.toPrecision(2).replace("-", "−") : percent(value);

/** How states and singular values are related, in at most one line. */
function related({ method, n_states: n, singular_values: values }) {
  if (method !== "clustering") return n < values.length ? ["Directions in outline have no state."] : [];
  const states = n === 1 ? "The state is a cluster" : `The ${n} states are clusters`;
  const directions = values.length === 1 ? "this direction" : `these ${values.length} directions`;
  return [`${states} of nodes, found in the space of ${directions}.`];
}

function explained({ signed, kind }) {
  const what = kind === "preterminal" ? "words" : "rules";
  return signed
    ? `This model is signed: a state is a singular direction. ` +
        `The ${what} with the largest values along it are shown; negative values point the other way.`
    : `The share of each state among the uses of the nonterminal, and its most probable ${what}.`;
}

/** Singular values as bars; those without a state are outlines. */
function spectrum(record) {
  const { singular_values: values, n_states: n } = record;
  const shown = values.slice(0, MOST_BARS);
  if (!shown.length) return [];
  const [step, bar, height, left] = [18, 12, 96, 34];
  const width = left + shown.length * step;
  const listed = shown.map((value) => value.toFixed(2)).join(", ");
  const bars = shown.map((value, i) => {
    const size = Math.max(1, (height * value) / shown[0]);
    const title = `${i + 1}: ${value.toFixed(3)}${i < n ? "" : ", without a state"}`;
    return svg(
      "rect",
      {
        class: i < n ? "bar" : "bar cut",
        x: left + i * step + (step - bar) / 2,
        y: 8 + height - size,
        width: bar,
        height: size,
        rx: 1.5,
      },
      svg("title", {}, title),
    );
  });
  const plot = svg(
    "svg",
    {
      class: "spectrum",
      viewBox: `0 0 ${width} ${height + 28}`,
      width,
      height: height + 28,
      role: "img",
      "aria-label": `Singular values: ${listed}`,
    },
    svg("path", { class: "axis", d: `M${left} ${8.5 + height}H${width}` }),
    ...bars,
    svg("text", { x: left - 6, y: 14 }, shown[0].toFixed(1)),
    svg("text", { x: left - 6, y: 12 + height }, "0"),
    ...shown
      .map((_, i) => i + 1)
      .filter((i) => i === 1 || i % 4 === 0)
      .map((i) =>
        svg("text", { class: "tick", x: left + (i - 0.5) * step, y: height + 24 }, String(i)),
      ),
  );
  return [
    html("h3", {}, "Singular values"),
    html("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Singular values" }, plot),
    ...related(record).map((text) => html("p", { class: "note" }, text)),
  ];
}

function stepLinks(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by) return;
  const links = [...event.currentTarget.querySelectorAll("a")];
  const next = links[links.indexOf(document.activeElement) + by];
  event.preventDefault();
  if (next) next.focus();
  else if (by < 0) byId("symbol-search").focus();
}
