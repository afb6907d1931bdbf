// The page for parsing: text in, sentences to choose from, and what is shown of the chosen one.

import * as api from "./api.js";
import { count, reach } from "./constraints.js";
import { ExportButtons } from "./export_buttons.js";
import { ConstraintsPanel } from "./constraints_panel.js";
import { byId, html, percent } from "./dom.js";
import * as formats from "./formats.js";
import { closeMenu } from "./menu.js";
import { Sentence, confidencesOf } from "./sentence.js";
import { Views } from "./views.js";
import { wait } from "./waiting.js";

const PAUSE = 250; // milliseconds between the last key and the request

export class ParsePage {
  /** Names of models; null while unknown, or for none. */
  model = null;
  dependencyModel = null;
  #sentences = []; // those shown
  #parsed = []; // those of the last parse, to which the constraints belong
  #pause = null;
  #running = null; // the request for the text
  #again = null; // the request for one sentence under constraints

  /** `save` writes the state to the address; `showError(error, retry)` shows an error, null hides it. */
  constructor(state, save, showError) {
    this.state = state;
    this.save = save;
    this.showError = showError;
    this.constraintsPanel = new ConstraintsPanel(this);
    this.views = new Views(this);
    new ExportButtons(this);
    this.#listen();
  }

  /** Set the models. */
  begin(model, dependencyModel) {
    this.model = model;
    this.dependencyModel = dependencyModel;
    this.constraintsPanel.forgetLabels();
  }

  /** Show the state, as after following a link. */
  restore() {
    byId("text").value = this.state.text;
    this.#grow();
    this.#leave();
    return this.#parse();
  }

  /** The current sentence; null for none. */
  get sentence() {
    return this.#sentences[this.state.sentence] ?? null;
  }

  /** Its constraints; undefined for none. */
  get rows() {
    return this.state.constraints.get(this.state.sentence);
  }

  get drawing() {
    return this.views.drawing;
  }

  // Text. --------------------------------------------------------------------------------

  #listen() {
    const text = byId("text");
    text.addEventListener("input", () => this.#typed(PAUSE));
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#typed(0);
    });
    byId("clear").addEventListener("click", () => this.#write(""));
    byId("examples").addEventListener("click", (event) => {
      const example = event.target.closest("button");
      if (example) this.#write(example.textContent);
    });
    const list = byId("sentences");
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.choose(Number(option.dataset.sentence));
    });
    list.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      this.step(by);
    });
    byId("soft").addEventListener("change", (event) => {
      this.state.soft = event.target.checked;
      this.save();
      this.#parseAgain();
    });
  }

  /** Set the text as if it had been typed. */
  #write(text) {
    byId("text").value = text;
    byId("text").focus();
    this.#typed(0);
  }

  #typed(pause) {
    this.#grow();
    closeMenu();
    this.state.text = byId("text").value;
    this.#leave();
    this.#pause = setTimeout(() => this.#parse(), pause);
  }

  /** Abort running and scheduled requests. */
  #leave() {
    clearTimeout(this.#pause);
    this.#running?.abort();
    this.#again?.abort();
    for (const sentence of this.#sentences) sentence.leave();
  }

  #grow() {
    const text = byId("text");
    text.style.height = "auto";
    const borders = text.offsetHeight - text.clientHeight; // not included in scrollHeight
    text.style.height = `${text.scrollHeight + borders}px`;
    byId("clear").hidden = text.value === "";
  }

  async #parse() {
    const { state } = this;
    const { text } = state;
    this.save(); // not at each key: browsers limit the rate
    if (!text.trim()) {
      state.constraints.clear();
      state.sentence = 0;
      this.showError(null);
      this.#take([]);
      return;
    }
    const running = (this.#running = new AbortController());
    const waiting = wait("Parsing…");
    try {
      const { results } = await api.parse({ ...this.#common(), text }, running.signal);
      const characters = Array.from(text);
      const found = results.map((each) => new Sentence(each, formats.surface(each, characters)));
      this.#keepConstraints(found);
      await this.#constrain(found, running.signal);
      state.sentence = Math.min(state.sentence, Math.max(0, found.length - 1));
      this.showError(null);
      this.#take(found);
    } catch (error) {
      if (running.signal.aborted) return;
      this.#sentences = []; // they belong to another text
      this.#show();
      this.showError(error, () => this.#parse());
    } finally {
      waiting.end();
    }
  }

  #common() {
    return this.model ? { model: this.model } : {};
  }

  /** The request for one sentence under its constraints. */
  bodyOf(sentence) {
    const request = { words: sentence.words };
    if (this.rows) request.constraints = this.rows;
    return { ...this.#common(), sentences: [request], soft: this.state.soft };
  }

  // Constraints. -------------------------------------------------------------------------

  /** Keep constraints with sentences whose words are unchanged, wherever these are now. */
  #keepConstraints(found) {
    const { constraints } = this.state;
    const old = [...constraints];
    constraints.clear();
    for (const [i, rows] of old) {
      const before = this.#parsed[i];
      // After following a link, only the minimum number of words is known.
      const isSame = (each, at) =>
        !constraints.has(at) &&
        (before ? sameWords(each, before) : at === i && reach(rows) <= each.words.length);
      const at = found[i] && isSame(found[i], i) ? i : found.findIndex(isSame);
      if (at >= 0) constraints.set(at, rows);
    }
  }

  /** Parse the sentences with constraints again. */
  async #constrain(found, signal) {
    const { constraints, soft } = this.state;
    const numbers = [...constraints.keys()];
    if (!numbers.length) return;
    const sentences = numbers.map((i) => ({
      words: found[i].words,
      constraints: constraints.get(i),
    }));
    const { results } = await api.parse({ ...this.#common(), sentences, soft }, signal);
    numbers.forEach((i, at) => (found[i] = found[i].again(results[at])));
  }

  /** Change the constraints on the current sentence. */
  setConstraints(rows) {
    const { constraints, sentence } = this.state;
    if (count(rows)) constraints.set(sentence, rows);
    else constraints.delete(sentence);
    this.save();
    this.constraintsPanel.show();
    return this.#parseAgain();
  }

  async #parseAgain() {
    const i = this.state.sentence;
    const { sentence } = this;
    if (!sentence) return;
    this.#again?.abort();
    const again = (this.#again = new AbortController());
    const waiting = wait("Parsing…");
    try {
      const { results } = await api.parse(this.bodyOf(sentence), again.signal);
      const found = [...this.#sentences];
      found[i] = sentence.again(results[0]);
      this.showError(null);
      this.#take(found);
    } catch (error) {
      if (!again.signal.aborted) this.showError(error, () => this.#parseAgain());
    } finally {
      waiting.end();
    }
  }

  // Sentences. ---------------------------------------------------------------------------

  #take(sentences) {
    this.#sentences = sentences;
    this.#parsed = sentences;
    this.save();
    this.#show();
  }

  choose(number) {
    if (!this.#sentences[number] || number === this.state.sentence) return;
    this.state.sentence = number;
    this.showError(null);
    this.save();
    this.#show();
  }

  step(by) {
    this.choose(this.state.sentence + by);
  }

  #show() {
    const n = this.#sentences.length;
    byId("work").hidden = n === 0;
    byId("work").classList.toggle("several", n > 1);
    byId("list").hidden = n < 2;
    byId("welcome").hidden = this.state.text.trim() !== "";
    const list = byId("sentences");
    const hadFocus = list.contains(document.activeElement);
    list.replaceChildren(...this.#sentences.map((each, i) => this.#option(each, i)));
    const chosen = list.querySelector("[aria-selected=true]");
    chosen?.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (hadFocus) chosen?.focus();
    this.constraintsPanel.show();
    this.views.show();
  }

  #option({ record, error, surface }, i) {
    const isChosen = i === this.state.sentence;
    const { exact } = confidencesOf(record);
    const mark = error ? "!" : exact === null ? "" : percent(exact);
    return html(
      "li",
      {
        role: "option",
        "aria-selected": String(isChosen),
        tabindex: isChosen ? 0 : -1,
        "data-sentence": i,
      },
      html("span", { class: "number soft" }, String(i + 1)),
      html("span", { class: "sentence", dir: "auto" }, error ? error.message : surface),
      html("span", { class: "number soft" }, this.state.constraints.has(i) ? `◆ ${mark}` : mark),
    );
  }
}

const sameWords = (one, other) => JSON.stringify(one.words) === JSON.stringify(other.words);
