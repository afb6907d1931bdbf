// The page for parsing: text in, sentences to choose from, and what is shown of the chosen one.

import * as api from "./api.js";
import { count, reach } from "./constraints.js";
import { Copies } from "./copies.js";
import { Demands } from "./demands.js";
import { byId, html, percent } from "./dom.js";
import * as formats from "./formats.js";
import { closeMenu } from "./menu.js";
import { Sentence, sureOf } from "./sentence.js";
import { Views } from "./views.js";

const PAUSE = 250; // milliseconds after the last key
const SOON = 300; // milliseconds in which an answer needs no sign that it is waited for

export class ParsePage {
  /** Names of models; null while unknown, or where there is none. */
  model = null;
  dependencyModel = null;
  #sentences = [];
  #pause = null;
  #running = null; // what is asked for the text
  #again = null; // what is asked for one sentence under constraints
  #waiting = new Set();

  /** `save` writes the state to the address; `trouble(error, again)` tells it, null that it is over. */
  constructor(state, save, trouble) {
    this.state = state;
    this.save = save;
    this.trouble = trouble;
    this.demands = new Demands(this);
    this.views = new Views(this);
    new Copies(this);
    this.#listen();
  }

  /** The models of the service are known. */
  begin(model, dependencyModel) {
    this.model = model;
    this.dependencyModel = dependencyModel;
    this.demands.forgetLabels();
  }

  /** Show what the state says, as after a link was followed. */
  restore() {
    byId("text").value = this.state.text;
    this.#grow();
    this.#leave();
    return this.#parse();
  }

  /** The sentence that is shown, null for none. */
  get sentence() {
    return this.#sentences[this.state.sentence] ?? null;
  }

  /** Its constraints, undefined for none. */
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
      list.querySelector("[aria-selected=true]").focus();
    });
    byId("soft").addEventListener("change", (event) => {
      this.state.soft = event.target.checked;
      this.save();
      this.#parseAgain();
    });
  }

  /** Put a text into the field, as if it had been typed. */
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

  /** Give up all that is asked for or will be. */
  #leave() {
    clearTimeout(this.#pause);
    this.#running?.abort();
    this.#again?.abort();
    for (const sentence of this.#sentences) sentence.leave();
  }

  #grow() {
    const text = byId("text");
    text.style.height = "auto";
    const borders = text.offsetHeight - text.clientHeight; // which scrollHeight leaves out
    text.style.height = `${text.scrollHeight + borders}px`;
    byId("clear").hidden = text.value === "";
  }

  async #parse() {
    const { state } = this;
    const { text } = state;
    this.save(); // not at each key, which browsers would put a stop to
    if (!text.trim()) {
      state.constraints.clear();
      state.sentence = 0;
      this.trouble(null);
      this.#take([]);
      return;
    }
    const running = (this.#running = new AbortController());
    const free = this.busy();
    try {
      const { results } = await api.parse({ ...this.#common(), text }, running.signal);
      const characters = Array.from(text);
      const found = results.map((each) => new Sentence(each, formats.surface(each, characters)));
      this.#keepConstraints(found);
      await this.#constrain(found, running.signal);
      state.sentence = Math.min(state.sentence, Math.max(0, found.length - 1));
      this.trouble(null);
      this.#take(found);
    } catch (error) {
      if (!running.signal.aborted) this.trouble(error, () => this.#parse());
    } finally {
      free();
    }
  }

  #common() {
    return this.model ? { model: this.model } : {};
  }

  /** The request for one sentence under its constraints. */
  bodyOf(sentence) {
    const asked = { words: sentence.words };
    if (this.rows) asked.constraints = this.rows;
    return { ...this.#common(), sentences: [asked], soft: this.state.soft };
  }

  /** Show that something is waited for, unless it comes at once; gives what ends it. */
  busy() {
    const waits = {};
    const work = byId("work");
    this.#waiting.add(waits);
    setTimeout(() => {
      if (this.#waiting.has(waits)) work.setAttribute("aria-busy", "true");
    }, SOON);
    return () => {
      this.#waiting.delete(waits);
      if (!this.#waiting.size) work.removeAttribute("aria-busy");
    };
  }

  // Constraints. -------------------------------------------------------------------------

  /** Constraints stay with the sentences that have kept their words, wherever these are now. */
  #keepConstraints(found) {
    const { constraints } = this.state;
    const old = [...constraints];
    constraints.clear();
    for (const [i, rows] of old) {
      const before = this.#sentences[i];
      // From a link nothing is known of the words but how many there must be.
      const isSame = (each, at) =>
        !constraints.has(at) &&
        (before ? sameWords(each, before) : at === i && reach(rows) <= each.words.length);
      const at = found[i] && isSame(found[i], i) ? i : found.findIndex(isSame);
      if (at >= 0) constraints.set(at, rows);
    }
  }

  /** Parse those again that have constraints. */
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

  /** Demand something else of the sentence that is shown. */
  demand(rows) {
    const { constraints, sentence } = this.state;
    if (count(rows)) constraints.set(sentence, rows);
    else constraints.delete(sentence);
    this.save();
    this.demands.show();
    return this.#parseAgain();
  }

  async #parseAgain() {
    const i = this.state.sentence;
    const { sentence } = this;
    if (!sentence) return;
    this.#again?.abort();
    const again = (this.#again = new AbortController());
    const free = this.busy();
    try {
      const { results } = await api.parse(this.bodyOf(sentence), again.signal);
      const found = [...this.#sentences];
      found[i] = sentence.again(results[0]);
      this.trouble(null);
      this.#take(found);
    } catch (error) {
      if (!again.signal.aborted) this.trouble(error, () => this.#parseAgain());
    } finally {
      free();
    }
  }

  // Sentences. ---------------------------------------------------------------------------

  #take(sentences) {
    this.#sentences = sentences;
    this.save();
    this.#show();
  }

  choose(number) {
    if (!this.#sentences[number] || number === this.state.sentence) return;
    this.state.sentence = number;
    this.trouble(null);
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
    byId("sentences").replaceChildren(...this.#sentences.map((each, i) => this.#option(each, i)));
    byId("sentences")
      .querySelector("[aria-selected=true]")
      ?.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.demands.show();
    this.views.show();
  }

  #option({ record, error, surface }, i) {
    const isChosen = i === this.state.sentence;
    const mark = error ? "!" : percent(sureOf(record).confidence);
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
