// The page for parsing: text in, sentences to choose from, and the views of the one that is chosen.

import * as api from "./api.js";
import { cardsOf } from "./alternatives.js";
import { drawArcs } from "./arcs.js";
import { cellsOf, drawChart, nextCell } from "./chart.js";
import * as wanted from "./constraints.js";
import { byId, html, isRightToLeft, percent } from "./dom.js";
import * as formats from "./formats.js";
import { closeMenu, openMenu } from "./menu.js";
import { asFile, copy, download } from "./picture.js";
import { VIEWS } from "./state.js";
import { tooltips } from "./tooltip.js";
import { drawTree } from "./tree.js";
import { TreeView } from "./tree_view.js";
import { isPhrase, judge, nodesOf, readTree, spanKey, sureness } from "./trees.js";
import { Viewport } from "./viewport.js";

const PAUSE = 250; // milliseconds after the last key
const BEST = 6;
const LEAST_MARGINAL = 0.002;
// A tree so many times wider than its frame is shown as an outline unless somebody says otherwise.
const TOO_WIDE = 2.4;

const FALLBACKS = {
  threshold: "Found only when unlikely phrases were looked at as well.",
  coarse: "The latent grammar gave no usable values; this is the plain grammar’s tree.",
  tags: "Some tags were set aside so that there is a tree.",
  flat: "The grammar has no tree for this sentence: only its tags are shown.",
  split: "The sentence is too long to be parsed in one piece; its parts were.",
  "back-off": "The automata gave no usable values; counted ones took their place.",
  chain: "No tree was found: every word hangs on the one before it.",
};

export class ParsePage {
  #state;
  #save;
  #trouble;
  #model = null;
  #dependencyModel = null;
  #labels = null;
  #sentences = []; // {record, error, details, dependencies, root}
  #characters = []; // of the text that they are from
  #pause = null;
  #running = null; // what is asked for the text
  #again = null; // what is asked for one sentence under constraints
  #turn = 0; // grows with each view that is shown, so that late answers are dropped
  #shown = null; // the drawing that can be kept as a file
  #last = null; // the sentence that the tree view has

  /** `save` writes the state to the address; `trouble(error, again)` tells it, null that it is over. */
  constructor(state, save, trouble) {
    this.#state = state;
    this.#save = save;
    this.#trouble = trouble;
    this.viewport = new Viewport(byId("frame"));
    this.tree = new TreeView(byId("frame"), this.viewport, (span, box) => this.#ask(span, box));
    this.#listen();
  }

  /** The models of the service are known. */
  begin(model, dependencyModel) {
    this.#model = model;
    this.#dependencyModel = dependencyModel;
    this.#labels = null;
  }

  /** Show what the state says, as after a link was followed. */
  restore() {
    byId("text").value = this.#state.text;
    this.#grow();
    return this.#parse();
  }

  // Text. --------------------------------------------------------------------------------

  #listen() {
    const text = byId("text");
    text.addEventListener("input", () => this.#typed(PAUSE));
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#typed(0);
    });
    byId("clear").addEventListener("click", () => this.write(""));
    byId("examples").addEventListener("click", (event) => {
      const example = event.target.closest("button");
      if (example) this.write(example.textContent);
    });
    byId("sentences").addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.choose(Number(option.dataset.sentence));
    });
    byId("sentences").addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      this.choose(this.#state.sentence + by);
      byId("sentences").querySelector("[aria-selected=true]").focus();
    });
    byId("views").addEventListener("click", (event) => {
      const tab = event.target.closest("[role=tab]");
      if (tab) this.look(tab.dataset.view);
    });
    byId("views").addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const at = VIEWS.indexOf(this.#state.view) + by + VIEWS.length;
      this.look(VIEWS[at % VIEWS.length]);
      byId(`view-${this.#state.view}`).focus();
    });
    byId("zoom-in").addEventListener("click", () => this.viewport.zoomIn());
    byId("zoom-out").addEventListener("click", () => this.viewport.zoomOut());
    byId("fit").addEventListener("click", () => this.viewport.fit());
    byId("fold").addEventListener("click", () => this.tree.foldAll());
    byId("layout").addEventListener("click", () => this.turnLayout());
    byId("soft").addEventListener("change", (event) => {
      this.#state.soft = event.target.checked;
      this.#save();
      this.#parseAgain();
    });
    byId("copies").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) this.#copy(button);
    });
    byId("frame").addEventListener("keydown", (event) => this.#onFrameKey(event));
    byId("frame").addEventListener("click", (event) => this.#onFrameClick(event));
    tooltips(byId("frame"), ".node, .cell, .arc", (element) => this.#linesOf(element));
    tooltips(byId("cards"), ".node", () => null);
  }

  /** Put a text into the field, as if it had been typed. */
  write(text) {
    byId("text").value = text;
    byId("text").focus();
    this.#typed(0);
  }

  #typed(pause) {
    this.#grow();
    closeMenu();
    this.#state.text = byId("text").value;
    this.#save();
    clearTimeout(this.#pause);
    this.#running?.abort();
    this.#pause = setTimeout(() => this.#parse(), pause);
  }

  #grow() {
    const text = byId("text");
    text.style.height = "auto";
    text.style.height = `${text.scrollHeight}px`;
    byId("clear").hidden = text.value === "";
  }

  async #parse() {
    clearTimeout(this.#pause);
    this.#running?.abort();
    this.#again?.abort();
    const { text } = this.#state;
    if (!text.trim()) {
      this.#sentences = [];
      this.#state.constraints.clear();
      this.#state.sentence = 0;
      this.#trouble(null);
      this.#show();
      return;
    }
    const running = (this.#running = new AbortController());
    const free = this.#busy();
    try {
      const { results } = await api.parse({ ...this.#common(), text }, running.signal);
      const found = results.map((record) => ({ record, error: record.error ?? null }));
      this.#keepConstraints(found);
      await this.#applyConstraints(found, running.signal);
      this.#sentences = found;
      this.#characters = Array.from(text);
      this.#state.sentence = Math.min(this.#state.sentence, Math.max(0, found.length - 1));
      this.#trouble(null);
      this.#save();
      this.#show();
    } catch (error) {
      if (!running.signal.aborted) this.#trouble(error, () => this.#parse());
    } finally {
      free();
    }
  }

  #common() {
    return this.#model ? { model: this.#model } : {};
  }

  /** Show that something is waited for, unless it comes at once; gives what ends it. */
  #busy() {
    const work = byId("work");
    const timer = setTimeout(() => work.setAttribute("aria-busy", "true"), 300);
    this.busy = timer;
    return () => {
      clearTimeout(timer);
      if (this.busy === timer) work.removeAttribute("aria-busy");
    };
  }

  // Constraints. -------------------------------------------------------------------------

  /** Constraints stay with the sentences that have kept their words, wherever these are now. */
  #keepConstraints(found) {
    const { constraints } = this.#state;
    // From a link nothing is known of the words but how many there are.
    if (!this.#sentences.length) {
      for (const [i, rows] of constraints) {
        const n = found[i]?.record.words?.length ?? 0;
        const ends = [...rows.required, ...rows.forbidden].map(([, end]) => end);
        if (Math.max(0, ...ends, ...rows.tags.map(([at]) => at + 1)) > n) constraints.delete(i);
      }
      return;
    }
    const wordsOf = ({ record }) => JSON.stringify(record.words ?? null);
    const kept = new Map();
    for (const [i, rows] of constraints) {
      const words = this.#sentences[i] && wordsOf(this.#sentences[i]);
      const same = (each, at) => words === wordsOf(each) && !kept.has(at);
      const at = found[i] && same(found[i], i) ? i : found.findIndex(same);
      if (at >= 0) kept.set(at, rows);
    }
    constraints.clear();
    for (const [i, rows] of kept) constraints.set(i, rows);
  }

  async #applyConstraints(found, signal) {
    const numbers = [...this.#state.constraints.keys()].filter((i) => found[i]?.record.words);
    if (!numbers.length) return;
    const sentences = numbers.map((i) => ({
      words: found[i].record.words,
      constraints: this.#state.constraints.get(i),
    }));
    const body = { ...this.#common(), sentences, soft: this.#state.soft };
    const { results } = await api.parse(body, signal);
    numbers.forEach((i, at) => (found[i] = this.#replaced(found[i], results[at])));
  }

  /** A sentence after it has been parsed again: its places in the text stay. */
  #replaced(sentence, record) {
    const { words, offsets } = sentence.record;
    return { record: { words, ...record, offsets }, error: record.error ?? null };
  }

  /** Demand something else of the sentence that is shown. */
  #demand(rows) {
    const { constraints, sentence } = this.#state;
    if (wanted.count(rows)) constraints.set(sentence, rows);
    else constraints.delete(sentence);
    this.#save();
    this.#showChips();
    return this.#parseAgain();
  }

  async #parseAgain() {
    const i = this.#state.sentence;
    const sentence = this.#sentences[i];
    if (!sentence) return;
    this.#again?.abort();
    const again = (this.#again = new AbortController());
    const free = this.#busy();
    const asked = { words: sentence.record.words };
    const rows = this.#state.constraints.get(i);
    if (rows) asked.constraints = rows;
    const body = { ...this.#common(), sentences: [asked], soft: this.#state.soft };
    try {
      const { results } = await api.parse(body, again.signal);
      this.#sentences[i] = this.#replaced(sentence, results[0]);
      this.#trouble(null);
      this.#show();
    } catch (error) {
      if (!again.signal.aborted) this.#trouble(error, () => this.#parseAgain());
    } finally {
      free();
    }
  }

  #rows() {
    return this.#state.constraints.get(this.#state.sentence);
  }

  #showChips() {
    const rows = this.#rows();
    const words = this.#sentence?.record.words ?? [];
    const { given_up: givenUp = [], conflict = null } = this.#sentence?.record ?? {};
    const isGivenUp = ({ kind, row }) =>
      givenUp.some(
        (each) =>
          each.start === row[0] &&
          (kind === "tags"
            ? each.kind === "tag"
            : each.kind === kind && each.end === row[1] && (each.label ?? null) === (row[2] ?? null)),
      );
    const chips = wanted.listed(rows).map((each) => {
      const text = wanted.told(each, words);
      const remove = () => this.#demand(wanted.without(rows, each.kind, each.row));
      const isLost = isGivenUp(each);
      return html(
        "li",
        { class: `chip ${each.kind}${isLost ? " given-up" : ""}` },
        html("span", { dir: "auto", title: isLost ? "not kept" : null }, text),
        html("button", { type: "button", "aria-label": `Remove: ${text}`, onclick: remove }, "×"),
      );
    });
    byId("chips").replaceChildren(...chips);
    byId("demands").hidden = !chips.length;
    byId("clear-chips").onclick = () => this.#demand(null);
    byId("clear-chips").hidden = chips.length < 2;
    byId("conflict").hidden = !conflict || !chips.length;
    byId("soft").checked = this.#state.soft;
    if (conflict) {
      const kept = this.#state.soft ? "As many as can be are kept." : "None is kept.";
      byId("conflict-told").textContent =
        `No tree has all of this: ${wanted.conflictInWords(conflict, words)}. ${kept}`;
    }
  }

  /** Open the menu for a span, of a node or of picked words. */
  #ask({ start, end, node = null }, box) {
    const { words } = this.#sentence.record;
    const rows = this.#rows();
    const add = (kind, row) => () => this.#demand(wanted.withConstraint(rows, kind, row));
    const labels = this.#knownLabels();
    const phrases = labels.then((known) => known.phrases);
    const tags = labels.then((known) => known.tags);
    const told = wanted.quoted(words, start, end);
    const isWord = node !== null && !isPhrase(node);
    const actions = [];
    const forms = [];
    for (const each of wanted.listed(rows)) {
      const isHere =
        each.kind === "tags" ? isWord && each.row[0] === start : each.row[0] === start && each.row[1] === end;
      if (isHere) {
        const remove = () => this.#demand(wanted.without(rows, each.kind, each.row));
        actions.push({ text: `Remove “${wanted.told(each, words)}”`, run: remove });
      }
    }
    if (isWord) {
      actions.push({ text: `Keep the tag ${node.label}`, run: add("tags", [start, node.label]) });
      forms.push({
        text: "Another tag",
        options: tags,
        run: (label) => add("tags", [start, label])(),
      });
    } else if (node) {
      const { label } = node;
      actions.push(
        { text: `Force ${label} here`, run: add("required", [start, end, label]) },
        { text: `Forbid ${label} here`, run: add("forbidden", [start, end, label]) },
        { text: "Forbid any phrase here", run: add("forbidden", [start, end]) },
      );
    } else {
      actions.push(
        { text: "Force a phrase here", run: add("required", [start, end]) },
        { text: "Forbid any phrase here", run: add("forbidden", [start, end]) },
      );
    }
    forms.push({
      text: isWord || !node ? "Force a phrase labelled" : "Force another label",
      options: phrases,
      run: (label) => add("required", [start, end, label])(),
    });
    openMenu({
      title: node ? `${node.label} ${told}` : told,
      at: box,
      actions,
      forms,
      closed: () => {
        this.tree.clearPicked();
        if (this.#state.view === "tree") this.tree.focus();
      },
    });
  }

  /** Labels of phrases and tags that the model knows; those in sight where it doesn't tell. */
  async #knownLabels() {
    if (this.#labels) return this.#labels;
    const phrases = new Set();
    const tags = new Set();
    try {
      if (!this.#model) throw new Error("no model is named");
      for (const { kind, chain } of await api.symbols(this.#model)) {
        if (kind === "preterminal") tags.add(chain.at(-1));
        for (const label of kind === "preterminal" ? chain.slice(0, -1) : chain) phrases.add(label);
      }
      this.#labels = { phrases: [...phrases].sort(), tags: [...tags].sort() };
      return this.#labels;
    } catch {
      for (const node of this.#sentences.flatMap(({ root }) => (root ? nodesOf(root) : []))) {
        (isPhrase(node) ? phrases : tags).add(node.label);
      }
      return { phrases: [...phrases].sort(), tags: [...tags].sort() };
    }
  }

  // Sentences and views. -----------------------------------------------------------------

  get #sentence() {
    return this.#sentences[this.#state.sentence] ?? null;
  }

  choose(number) {
    if (!this.#sentences[number] || number === this.#state.sentence) return;
    this.#state.sentence = number;
    this.#trouble(null);
    this.#save();
    this.#show();
  }

  step(by) {
    this.choose(this.#state.sentence + by);
  }

  look(view) {
    this.#state.view = view;
    this.#save();
    this.#showTabs();
    this.#showView();
  }

  turnLayout() {
    if (this.#state.view !== "tree" || !this.#sentence?.root) return;
    const now = this.tree.drawing.element.classList.contains("outline") ? "outline" : "top";
    this.#state.layout = now === "top" ? "outline" : "top";
    this.#save();
    this.#last = null;
    this.#showView();
  }

  #show() {
    const isEmpty = !this.#sentences.length;
    byId("work").hidden = isEmpty;
    byId("welcome").hidden = !isEmpty || this.#state.text.trim() !== "";
    this.#showList();
    this.#showTabs();
    this.#showChips();
    this.#showView();
  }

  #showList() {
    const several = this.#sentences.length > 1;
    byId("work").classList.toggle("several", several);
    byId("list").hidden = !several;
    const options = this.#sentences.map(({ record, error }, i) => {
      const isChosen = i === this.#state.sentence;
      const words = record.words ? formats.surface(record, this.#characters) : "";
      const mark = error ? "!" : percent(sureOf(record).confidence);
      const rows = this.#state.constraints.get(i);
      return html(
        "li",
        {
          role: "option",
          "aria-selected": String(isChosen),
          tabindex: isChosen ? 0 : -1,
          "data-sentence": i,
        },
        html("span", { class: "number soft" }, String(i + 1)),
        html("span", { class: "sentence", dir: "auto" }, error ? error.message : words),
        html("span", { class: "number soft" }, rows ? `◆ ${mark}` : mark),
      );
    });
    byId("sentences").replaceChildren(...options);
    byId("sentences")
      .querySelector("[aria-selected=true]")
      ?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  #showTabs() {
    for (const view of VIEWS) {
      const tab = byId(`view-${view}`);
      const isChosen = view === this.#state.view;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.setAttribute("tabindex", isChosen ? "0" : "-1");
    }
    byId("panel").setAttribute("aria-labelledby", `view-${this.#state.view}`);
  }

  async #showView() {
    const turn = (this.#turn += 1);
    const sentence = this.#sentence;
    closeMenu();
    this.#tell("");
    byId("note").textContent = "";
    const { view } = this.#state;
    byId("panel").dataset.view = view;
    if (!sentence) return;
    if (sentence.error) {
      this.#blank();
      this.#trouble(api.troubleOf(sentence.error), () => this.#parse());
      return;
    }
    if (!sentence.root) {
      if (!sentence.record.tree) {
        this.#blank();
        this.#tell("There are no words in this sentence.");
        return;
      }
      sentence.root = judge(readTree(sentence.record.tree), sentence.record.brackets);
    }
    byId("frame").hidden = view === "alternatives";
    byId("cards").hidden = view !== "alternatives";
    if (view === "tree") {
      this.#showTree(sentence);
      return;
    }
    this.tree.hide();
    this.#last = null;
    const free = this.#busy();
    try {
      const isLate = () => turn !== this.#turn;
      if (view === "dependencies") await this.#showDependencies(sentence, isLate);
      else if (view === "chart") await this.#showChart(sentence, isLate);
      else await this.#showAlternatives(sentence, isLate);
    } catch (error) {
      if (turn === this.#turn) {
        this.#blank();
        this.#trouble(error, () => this.#showView());
      }
    } finally {
      free();
    }
  }

  #blank() {
    this.#shown = null;
    this.#last = null;
    this.tree.hide();
    this.viewport.clear();
    byId("cards").replaceChildren();
  }

  /** What is said of the result, also to those who can't see it. */
  #tell(text) {
    byId("facts").textContent = text;
  }

  #showTree(sentence) {
    const { record, root } = sentence;
    const rows = this.#rows();
    const keys = new Set(
      wanted.listed(rows).map(({ kind, row }) => (kind === "tags" ? `tag ${row[0]}` : `${kind} ${row}`)),
    );
    const isForced = (node) =>
      isPhrase(node)
        ? keys.has(`required ${node.start},${node.end}`) ||
          keys.has(`required ${node.start},${node.end},${node.label}`)
        : keys.has(`tag ${node.start}`);
    const options = {
      label: `Tree of: ${record.words.join(" ")}`,
      share: sureness,
      nameOf: (node) => this.#nameOf(node),
      classOf: (node) => (isForced(node) ? "forced" : ""),
      layout: this.#state.layout ?? "top",
    };
    // The same words: what is folded, and where one looks, stays.
    const name = JSON.stringify([this.#state.sentence, record.words, this.#state.layout]);
    const isSame = this.#last === name;
    this.tree.show(root, { ...options, layout: this.#layout(root, options) }, { isSame });
    this.#last = name;
    this.#shown = () => this.tree.drawing;
    const { confidence, exact, isCalibrated } = sureOf(record);
    const facts = [`${record.words.length} ${record.words.length === 1 ? "word" : "words"}`];
    if (confidence !== null) facts.push(`confidence ${percent(confidence)}`);
    if (exact !== null) facts.push(`all of it right: ${percent(exact)}`);
    if (confidence !== null) facts.push(isCalibrated ? "calibrated" : "not calibrated");
    this.#tell(facts.join(" · "));
    byId("note").textContent = FALLBACKS[record.fallback] ?? "";
  }

  #layout(root, options) {
    if (this.#state.layout) return this.#state.layout;
    const { width } = drawTree(root, { ...options, layout: "top", isLive: false });
    return width > TOO_WIDE * byId("frame").clientWidth ? "outline" : "top";
  }

  #nameOf(node) {
    const words = this.#sentence.record.words.slice(node.start, node.end).join(" ");
    const sure = sureness(node);
    return `${node.label}: ${words}${sure === null ? "" : `, confidence ${percent(sure)}`}`;
  }

  /** The best trees and the marginals of a sentence, asked for once. */
  #details(sentence) {
    if (!sentence.details) {
      const asked = { words: sentence.record.words };
      const rows = this.#rows();
      if (rows) asked.constraints = rows;
      const body = {
        ...this.#common(),
        sentences: [asked],
        best: BEST,
        marginals: LEAST_MARGINAL,
        soft: this.#state.soft,
      };
      sentence.details = only(api.parse(body));
      sentence.details.then(
        (record) => (sentence.known = record),
        () => (sentence.details = null),
      );
    }
    return sentence.details;
  }

  async #showAlternatives(sentence, isLate) {
    const record = await this.#details(sentence);
    if (isLate()) return;
    const { elements, show } = cardsOf(record, (rows) => this.#demand(this.#joined(rows)));
    byId("cards").replaceChildren(...elements);
    show();
    this.#shown = null;
    const n = record.alternatives.length;
    this.#tell(n === 1 ? "There is no other tree." : `The best ${n} trees, by what the parser looks for`);
  }

  #joined(rows) {
    let all = this.#rows();
    for (const { kind, row } of wanted.listed(rows)) all = wanted.withConstraint(all, kind, row);
    return all;
  }

  async #showChart(sentence, isLate) {
    const record = await this.#details(sentence);
    if (isLate()) return;
    const { words } = record;
    const phrases = new Set(
      nodesOf(sentence.root)
        .filter(isPhrase)
        .map(({ start, end }) => `${start} ${end}`),
    );
    const cells = cellsOf(record.marginals);
    const drawing = drawChart(words, cells, {
      isInTree: ({ key }) => phrases.has(key),
      nameOf: (cell) => `${wanted.quoted(words, cell.start, cell.end)}: ${likely(cell).join(", ")}`,
      isRightToLeft: isRightToLeft(words.join(" ")),
      label: `Chart: how likely each span is a phrase. ${words.join(" ")}`,
    });
    drawing.groups.get(cells[0])?.setAttribute("tabindex", "0");
    this.viewport.show(drawing);
    this.#shown = () => drawing;
    this.#chart = drawing;
    this.#tell(`${cells.length} spans in play, outlined where they are phrases of the tree`);
  }

  #chart = null;

  async #showDependencies(sentence, isLate) {
    if (!this.#dependencyModel) {
      this.viewport.clear();
      this.#shown = null;
      this.#tell("This service has no model of dependencies.");
      return;
    }
    const record = await this.#dependencies(sentence);
    if (isLate()) return;
    const { words, tags, heads, relations, confidences, confidence } = record;
    const headOf = (i) => (heads[i] === 0 ? "the root" : words[heads[i] - 1]);
    const drawing = drawArcs(record, {
      nameOf: (i) =>
        `${words[i]}, ${tags[i]}: ${relations?.[i] ?? "modifier"} of ${headOf(i)}` +
        (confidences?.[i] == null ? "" : `, confidence ${percent(confidences[i])}`),
      isRightToLeft: isRightToLeft(words.join(" ")),
      label: `Dependencies of: ${words.join(" ")}`,
    });
    this.viewport.show(drawing);
    this.#shown = () => drawing;
    this.#arcs = { ...drawing, record };
    const facts = [`${words.length} words`];
    if (confidence !== null && confidence !== undefined) facts.push(`confidence ${percent(confidence)}`);
    this.#tell(facts.join(" · "));
    byId("note").textContent = FALLBACKS[record.fallback] ?? "";
  }

  #arcs = null;

  #dependencies(sentence) {
    if (!sentence.dependencies) {
      // The model of dependencies has its own way to split a sentence into words.
      const text = formats.surface(sentence.record, this.#characters);
      const body = { model: this.#dependencyModel, sentences: [text] };
      sentence.dependencies = only(api.dependencies(body));
      sentence.dependencies.catch(() => (sentence.dependencies = null));
    }
    return sentence.dependencies;
  }

  // Within the frame. --------------------------------------------------------------------

  #linesOf(element) {
    const { words } = this.#sentence?.record ?? {};
    if (!words) return null;
    if (element.matches(".cell")) {
      const cell = this.#chart.cells.find(({ key }) => key === element.dataset.cell);
      return [wanted.quoted(words, cell.start, cell.end), ...likely(cell)];
    }
    if (element.matches(".arc")) {
      const [title, ...rest] = element.getAttribute("aria-label").split(/(?<=.): |, (?=confidence )/);
      return [title, ...rest];
    }
    const node = this.tree.nodeOf(element);
    if (!node) return null;
    const lines = [`${node.label} ${wanted.quoted(words, node.start, node.end)}`];
    if (node.calibrated != null) lines.push(`right in ${percent(node.calibrated)} of such cases`);
    if (node.confidence != null) {
      lines.push(`${node.calibrated != null ? "uncalibrated" : "confidence"} ${percent(node.confidence)}`);
    }
    for (const each of this.#sentence.known?.marginals ?? []) {
      const isOther = each.label !== node.label && isPhrase(node);
      const isHere = spanKey("", each.start, each.end) === spanKey("", node.start, node.end);
      if (isOther && isHere) lines.push(`${each.label} ${percent(Math.max(0, each.marginal))}`);
    }
    return lines;
  }

  #onFrameKey(event) {
    const { view } = this.#state;
    if (view === "chart" && event.target.closest(".cell")) this.#onChartKey(event);
    if (view === "dependencies" && event.target.closest(".arc")) this.#onArcKey(event);
  }

  #onChartKey(event) {
    const { cells, groups, isRightToLeft: isMirrored } = this.#chart;
    const cell = cells.find(({ key }) => key === event.target.closest(".cell").dataset.cell);
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.#ask(cell, groups.get(cell).getBoundingClientRect());
      return;
    }
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const next = nextCell(cells, cell, event.key, isMirrored);
    if (next) moveFocus(groups.get(cell), groups.get(next));
  }

  #onArcKey(event) {
    const { groups, record, isRightToLeft: isMirrored } = this.#arcs;
    const i = Number(event.target.closest(".arc").dataset.word);
    const by = isMirrored ? -1 : 1;
    const to = {
      ArrowRight: i + by,
      ArrowLeft: i - by,
      ArrowUp: record.heads[i] - 1,
      ArrowDown: record.heads.indexOf(i + 1),
      Home: 0,
      End: groups.length - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (groups[to]) moveFocus(groups[i], groups[to]);
  }

  #onFrameClick(event) {
    const element = event.target.closest(".cell");
    if (!element) return;
    const cell = this.#chart.cells.find(({ key }) => key === element.dataset.cell);
    this.#ask(cell, element.getBoundingClientRect());
  }

  // Copies. ------------------------------------------------------------------------------

  async #copy(button) {
    const { copy: format } = button.dataset;
    const sentence = this.#sentence;
    if (!sentence?.root && format !== "link") return;
    try {
      if (format === "svg") {
        const drawing = this.#shown?.();
        if (!drawing) return flash(button, "No picture here");
        download(`${this.#state.view}.svg`, asFile(drawing), "image/svg+xml");
        return flash(button, "Saved");
      }
      await copy(await this.#textOf(format, sentence));
      return flash(button, "Copied");
    } catch (error) {
      return this.#trouble(error, () => this.#copy(button));
    }
  }

  async #textOf(format, sentence) {
    if (format === "link") return location.href;
    if (format === "conllu") {
      const dependencies = this.#dependencyModel ? await this.#dependencies(sentence) : null;
      return formats.conllu(sentence.record, this.#characters, dependencies);
    }
    if (format === "brackets" || format === "json") return formats[format](sentence.record);
    return formats[format](sentence.root);
  }
}

const sureOf = (record) => ({
  confidence: record.calibrated?.confidence ?? record.confidence ?? null,
  exact: record.calibrated?.exact ?? record.exact ?? null,
  isCalibrated: Boolean(record.calibrated),
});

/** The record of a request for one sentence, or its trouble. */
async function only(answer) {
  const record = (await answer).results[0];
  if (record.error) throw api.troubleOf(record.error);
  return record;
}

const likely = (cell) => {
  const told = cell.labels.slice(0, 6).map(({ label, marginal }) => {
    const isShare = marginal >= 0 && marginal <= 1;
    return `${label} ${isShare ? percent(marginal) : marginal.toPrecision(2)}`;
  });
  return cell.labels.length > 6 ? [...told, `and ${cell.labels.length - 6} more`] : told;
};

function moveFocus(from, to) {
  from.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
}

/** Let a button say for a moment what it has done. */
function flash(button, text) {
  byId("done").textContent = `${button.textContent}: ${text}`;
  button.dataset.done = text;
  setTimeout(() => delete button.dataset.done, 1600);
}
