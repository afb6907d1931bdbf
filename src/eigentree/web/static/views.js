// The four views of a sentence in one panel: tree, alternatives, chart and dependencies.

import { cardsOf } from "./alternatives.js";
import { arcLines, drawArcs } from "./arcs.js";
import { cellLines, cellsOf, drawChart, nextCell } from "./chart.js";
import { listed } from "./constraints.js";
import { byId, isRightToLeft, percent } from "./dom.js";
import { closeMenu } from "./menu.js";
import { confidencesOf } from "./sentence.js";
import { VIEWS } from "./state.js";
import { tooltips } from "./tooltip.js";
import { drawTree } from "./tree_layout.js";
import { TreeView } from "./tree_view.js";
import { isPhrase, nodeLines, nodesOf, confidenceOf } from "./tree_model.js";
import { LEGIBLE, Viewport } from "./viewport.js";
import { wait } from "./waiting.js";

const FALLBACKS = {
  threshold: "Found after relaxing the pruning.",
  memory: "The chart was too large, so pruning was stricter than usual.",
  coarse: "The model with latent states gave no usable values; a simpler one gave this tree.",
  tags: "Some of the given tags were ignored to obtain a tree.",
  flat: "There is no tree for this sentence, or it is too long; its words are shown with their tags.",
  split: "The sentence is too long to be parsed whole; its parts were parsed.",
};

export class Views {
  #page;
  #tree;
  #turn = 0; // incremented with each view, so that late responses are dropped
  #kept = null; // identifies the content of the tree view; folds and scrolling are kept for the same content
  /** The current drawing; null for none. */
  drawing = null;

  constructor(page) {
    this.#page = page;
    const frame = byId("frame");
    this.viewport = new Viewport(frame);
    this.#tree = new TreeView(frame, this.viewport, (span, box) => this.#ask(span, box));
    byId("views").addEventListener("click", (event) => {
      const tab = event.target.closest("[role=tab]");
      if (tab) this.look(tab.dataset.view);
    });
    byId("views").addEventListener("keydown", (event) => this.#onTabKey(event));
    byId("zoom-in").addEventListener("click", () => this.viewport.zoomIn());
    byId("zoom-out").addEventListener("click", () => this.viewport.zoomOut());
    byId("fit").addEventListener("click", () => this.viewport.fit());
    byId("fold").addEventListener("click", () => this.#tree.foldAll());
    byId("layout").addEventListener("click", () => this.turnLayout());
    frame.addEventListener("keydown", (event) => this.#onKey(event));
    frame.addEventListener("click", (event) => {
      const cell = event.target.closest(".cell");
      if (cell) this.#ask(this.#cellOf(cell), cell.getBoundingClientRect());
    });
    tooltips(frame, ".node, .cell, .arc", (element) => this.#linesOf(element));
  }

  look(view) {
    this.#page.state.view = view;
    this.#page.showError(null);
    this.#page.save();
    this.show();
  }

  turnLayout() {
    const { state } = this.#page;
    if (state.view !== "tree" || !this.#tree.drawing) return;
    state.layout = this.#tree.layout === "top" ? "outline" : "top";
    this.#page.save();
    this.#kept = null;
    this.show();
  }

  async show() {
    const { sentence, state } = this.#page;
    const { view } = state;
    const turn = (this.#turn += 1);
    closeMenu();
    this.#showTabs(view);
    this.#summarise("");
    byId("frame").hidden = view === "alternatives";
    byId("cards").hidden = view !== "alternatives";
    byId("panel").hidden = byId("export").hidden = !sentence?.root;
    if (!sentence) return;
    if (!sentence.root) {
      this.#blank();
      if (sentence.error) this.#page.showError(sentence.error);
      else this.#summarise("This sentence has no words.");
      return;
    }
    if (view === "tree") {
      this.#showTree(sentence);
      return;
    }
    this.#tree.hide();
    const [way, text] = {
      alternatives: [this.#alternatives, "Computing alternative trees…"],
      chart: [this.#chart, "Computing the chart…"],
      dependencies: [this.#dependencies, "Parsing dependencies…"],
    }[view];
    const waiting = wait(text);
    try {
      const put = await way.call(this, sentence);
      if (turn === this.#turn) put();
    } catch (error) {
      if (turn !== this.#turn || error.name === "AbortError") return;
      this.#blank();
      this.#page.showError(error, () => this.show());
    } finally {
      waiting.end();
    }
  }

  #showTabs(chosen) {
    for (const view of VIEWS) {
      const tab = byId(`view-${view}`);
      tab.setAttribute("aria-selected", String(view === chosen));
      tab.setAttribute("tabindex", view === chosen ? "0" : "-1");
    }
    byId("panel").setAttribute("aria-labelledby", `view-${chosen}`);
    byId("panel").dataset.view = chosen;
  }

  /** Move the focus to what is shown. */
  focus() {
    const panel = byId("panel");
    const focusable = [...panel.querySelectorAll("[tabindex='0']")];
    (focusable.find((each) => each.checkVisibility()) ?? panel).focus({ preventScroll: true });
  }

  #blank() {
    const hadFocus = byId("panel").contains(document.activeElement);
    this.drawing = null;
    this.#kept = null;
    this.#tree.hide();
    this.viewport.clear();
    byId("cards").replaceChildren();
    if (hadFocus) byId("panel").focus();
  }

  /** Show a summary of the result, which screen readers announce. */
  #summarise(text, fallback = null) {
    byId("facts").textContent = text;
    byId("note").textContent = FALLBACKS[fallback] ?? "";
  }

  /** Show a drawing; zoom and place are kept if it is of the same words as the one before. */
  #put(drawing, words) {
    const { activeElement } = document;
    const focused = byId("frame").contains(activeElement) ? activeElement.dataset : null;
    this.drawing = drawing;
    this.viewport.show(drawing, { keep: this.#keeps(words) });
    if (!focused) return;
    const first = drawing.element.querySelector("[tabindex='0']");
    moveFocus(first, drawing.element.querySelector(`[data-cell="${focused.cell}"]`) ?? first);
  }

  /** Whether the drawing before was of the same words in the same view; records this one. */
  #keeps(words, layout = null) {
    const { view, sentence } = this.#page.state;
    const kept = JSON.stringify([view, sentence, words, layout]);
    const isSame = this.#kept === kept;
    this.#kept = kept;
    return isSame;
  }

  // Views; the asynchronous ones resolve to a function that shows the view. -----------------

  #showTree({ record, root, words }) {
    const { state, rows } = this.#page;
    const options = {
      label: `Tree of: ${words.join(" ")}`,
      share: confidenceOf,
      nameOf: (node) => nameOf(node, words),
      classOf: forcedBy(rows),
    };
    const layout = state.layout ?? fittingLayout(root, options);
    this.#tree.show(root, { ...options, layout }, { isSame: this.#keeps(words, layout) });
    this.drawing = this.#tree;
    const { confidence, exact, isCalibrated } = confidencesOf(record);
    const facts = [counted(words.length)];
    if (exact !== null) facts.push(`whole tree ${percent(exact)}`);
    if (confidence !== null) facts.push(`mean of brackets ${percent(confidence)}`);
    if (confidence !== null) facts.push(isCalibrated ? "calibrated" : "not calibrated");
    this.#summarise(facts.join(" · "), record.fallback);
  }

  async #alternatives(sentence) {
    const record = await sentence.details(this.#page.bodyOf(sentence));
    return () => {
      const { elements, show } = cardsOf(record, (rows) => this.#page.constraintsPanel.addAll(rows));
      const hadFocus = byId("cards").contains(document.activeElement);
      this.drawing = null;
      this.#kept = null;
      byId("cards").replaceChildren(...elements);
      show();
      if (hadFocus) this.focus();
      const n = record.alternatives.length;
      this.#summarise(n === 1 ? "There are no other trees." : `${n} best trees, in the parser’s order`);
    };
  }

  async #chart(sentence) {
    const { marginals } = await sentence.details(this.#page.bodyOf(sentence));
    return () => {
      const { words, root } = sentence;
      const phrases = new Set(
        nodesOf(root)
          .filter(isPhrase)
          .map(({ start, end }) => `${start} ${end}`),
      );
      const cells = cellsOf(marginals);
      const drawing = drawChart(words, cells, {
        isInTree: ({ key }) => phrases.has(key),
        room: byId("frame").clientWidth,
        isRightToLeft: isRightToLeft(words.join(" ")),
        label: `Chart of span probabilities for: ${words.join(" ")}`,
      });
      this.#put(drawing, words);
      this.#summarise(`${cells.length} candidate spans; phrases of the tree are outlined`);
    };
  }

  async #dependencies(sentence) {
    const { dependencyModel } = this.#page;
    if (!dependencyModel) {
      return () => {
        this.#blank();
        this.#summarise("This service has no dependency model.");
      };
    }
    const record = await sentence.dependencies(dependencyModel);
    return () => {
      const { words, confidence } = record;
      const drawing = drawArcs(record, {
        isRightToLeft: isRightToLeft(words.join(" ")),
        label: `Dependencies of: ${words.join(" ")}`,
      });
      this.#put(drawing, words);
      const facts = [counted(words.length)];
      if (confidence != null) facts.push(`mean confidence of arcs ${percent(confidence)}`);
      this.#summarise(facts.join(" · "), record.fallback);
    };
  }

  // Within the frame. --------------------------------------------------------------------

  #ask(span, box) {
    this.#page.constraintsPanel.openMenu(span, box, () => {
      if (this.#page.state.view === "tree") this.#tree.clearPicked();
    });
  }

  #cellOf(element) {
    return this.drawing.cells.find(({ key }) => key === element.dataset.cell);
  }

  /** The lines of the tooltip at an element. */
  #linesOf(element) {
    if (element.matches(".cell")) return cellLines(this.#cellOf(element), this.drawing.words);
    if (element.matches(".arc")) return arcLines(this.drawing.record, Number(element.dataset.word));
    const node = this.#tree.nodeOf(element);
    const { words, marginals } = this.#page.sentence;
    return node && nodeLines(node, words, marginals);
  }

  #onTabKey(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const at = VIEWS.indexOf(this.#page.state.view) + by + VIEWS.length;
    this.look(VIEWS[at % VIEWS.length]);
    byId(`view-${this.#page.state.view}`).focus();
  }

  #onKey(event) {
    const cell = event.target.closest(".cell");
    const arc = event.target.closest(".arc");
    if (cell && (event.key === "Enter" || event.key === " ")) {
      this.#ask(this.#cellOf(cell), cell.getBoundingClientRect());
      event.preventDefault();
    } else if (cell && event.key.startsWith("Arrow")) {
      const { cells, groups, isRightToLeft: isMirrored } = this.drawing;
      const next = nextCell(cells, this.#cellOf(cell), event.key, isMirrored);
      if (next) moveFocus(cell, groups.get(next));
      event.preventDefault();
    } else if (arc) {
      const to = this.#nextArc(Number(arc.dataset.word), event.key);
      if (to === undefined) return;
      if (this.drawing.groups[to]) moveFocus(arc, this.drawing.groups[to]);
      event.preventDefault();
    }
  }

  #nextArc(i, key) {
    const { groups, record, isRightToLeft: isMirrored } = this.drawing;
    const by = isMirrored ? -1 : 1;
    return {
      ArrowRight: i + by,
      ArrowLeft: i - by,
      ArrowUp: record.heads[i] - 1,
      ArrowDown: record.heads.indexOf(i + 1),
      Home: 0,
      End: groups.length - 1,
    }[key];
  }
}

const counted = (n) => `${n} ${n === 1 ? "word" : "words"}`;

function fittingLayout(root, options) {
  const { width } = drawTree(root, { ...options, layout: "top", isLive: false });
  return LEGIBLE * width > byId("frame").clientWidth ? "outline" : "top";
}

/** The accessible name of a node. */
function nameOf(node, words) {
  const sure = confidenceOf(node);
  const name = `${node.label}: ${words.slice(node.start, node.end).join(" ")}`;
  return sure === null ? name : `${name}, confidence ${percent(sure)}`;
}

/** Classes of nodes: nodes required by constraints are marked. */
function forcedBy(rows) {
  const keys = new Set();
  for (const { kind, row } of listed(rows)) {
    if (kind === "tags") keys.add(`tag ${row[0]}`);
    else if (kind === "required") keys.add(row.join(" "));
  }
  return ({ word, start, end, label }) => {
    const names = word === null ? [`${start} ${end}`, `${start} ${end} ${label}`] : [`tag ${start}`];
    return names.some((name) => keys.has(name)) ? "forced" : "";
  };
}

function moveFocus(from, to) {
  from.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
}
