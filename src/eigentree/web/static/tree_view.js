// The interactive tree: folding, keyboard navigation, selecting words, opening the menu.

import { isRightToLeft } from "./dom.js";
import { drawTree } from "./tree_layout.js";
import { isPhrase, nodesOf } from "./tree_model.js";

export class TreeView {
  #frame;
  #viewport;
  #onMenu;
  #root = null;
  #options = {};
  #drawing = null;
  #folded = new Set();
  #focused = null; // a node, perhaps of the tree before
  #picked = null; // {start, end} of words

  /**
   * `onMenu(span, box)` is called to open a menu: `span` has `start` and `end`, and `node` if it
   * is the span of one.
   */
  constructor(frame, viewport, onMenu) {
    this.#frame = frame;
    this.#viewport = viewport;
    this.#onMenu = onMenu;
    frame.addEventListener("keydown", (event) => this.#onKey(event));
    frame.addEventListener("click", (event) => this.#onClick(event));
    frame.addEventListener("pointerdown", (event) => this.#onPointerDown(event));
    frame.addEventListener("focusin", (event) => this.#onFocus(event));
  }

  /** Show a tree; `isSame` when it is of the same sentence as the one before. */
  show(root, options, { isSame = false } = {}) {
    this.#root = root;
    this.#options = options;
    if (!isSame) {
      this.#folded.clear();
      this.#focused = null;
    }
    this.#picked = null;
    this.#draw({ keep: isSame && this.#drawing !== null });
  }

  get drawing() {
    return this.#drawing;
  }

  get layout() {
    return this.#options.layout;
  }

  // For export, the view is its current drawing.
  get element() {
    return this.#drawing.element;
  }

  get width() {
    return this.#drawing.width;
  }

  get height() {
    return this.#drawing.height;
  }

  hide() {
    this.#drawing = null;
  }

  nodeOf(element) {
    const key = element.closest("[data-key]")?.dataset.key;
    return this.#drawing?.nodes.find((node) => node.key === key) ?? null;
  }

  unfoldAll() {
    this.#folded.clear();
    this.#draw({ keep: false });
  }

  /** Fold all phrases of several words below the root, or unfold all if any is folded. */
  foldAll() {
    if (this.#folded.size) return this.unfoldAll();
    for (const node of nodesOf(this.#root)) {
      if (node.depth > 0 && isPhrase(node) && node.end > node.start + 1) {
        this.#folded.add(node.key);
      }
    }
    this.#draw({ keep: false });
  }

  clearPicked() {
    this.#pick(null);
  }

  #draw({ keep, anchor = null }) {
    const hadFocus = this.#frame.contains(document.activeElement);
    const before = anchor && this.#drawing.placed.get(anchor);
    const words = nodesOf(this.#root).map((node) => node.word ?? "");
    this.#drawing = drawTree(this.#root, {
      ...this.#options,
      isFolded: (node) => this.#folded.has(node.key),
      isRightToLeft: isRightToLeft(words.join(" ")),
    });
    const after = anchor && this.#drawing.placed.get(anchor);
    this.#viewport.show(this.#drawing, {
      keep,
      anchor: anchor && { from: before, to: after },
    });
    const focused = this.#groupOf(this.#nearest(this.#focused ?? this.#root));
    this.#rove(focused);
    if (hadFocus) focused.focus({ preventScroll: true });
  }

  /** The drawn node with the key of a node, or else the smallest one over its words. */
  #nearest({ key, start, end }) {
    const { nodes } = this.#drawing;
    const isOver = (node) => node.start <= start && node.end >= end;
    return nodes.find((each) => each.key === key) ?? nodes.findLast(isOver) ?? this.#root;
  }

  #groupOf(node) {
    return this.#drawing.placed.get(node).group;
  }

  /** Make one node, and its triangle, reachable by Tab. */
  #rove(group) {
    for (const each of this.#frame.querySelectorAll("[tabindex='0']")) {
      each.setAttribute("tabindex", "-1");
    }
    group.setAttribute("tabindex", "0");
    group.querySelector(".fold")?.setAttribute("tabindex", "0");
  }

  #onFocus(event) {
    const group = event.target.closest(".node");
    if (!group) return;
    this.#focused = this.nodeOf(group);
    this.#rove(group);
  }

  #toggle(node) {
    if (!isPhrase(node)) return;
    if (!this.#folded.delete(node.key)) this.#folded.add(node.key);
    this.#focused = node;
    this.#draw({ keep: true, anchor: node });
  }

  #ask(node) {
    const box = this.#groupOf(node).querySelector(".pill").getBoundingClientRect();
    this.#onMenu({ start: node.start, end: node.end, node }, box);
  }

  #onClick(event) {
    const node = this.nodeOf(event.target);
    if (!node) return;
    if (event.target.closest(".fold")) this.#toggle(node);
    // Words are handled on pointerup.
    else if (!event.target.closest(".word")) this.#ask(node);
  }

  // Selecting words. -----------------------------------------------------------------------

  #pick(span) {
    this.#picked = span;
    for (const [node, { word }] of this.#drawing?.placed ?? []) {
      const isIn = span && node.start >= span.start && node.end <= span.end;
      word?.classList.toggle("picked", Boolean(isIn));
    }
  }

  #askPicked() {
    const { start, end } = this.#picked;
    const boxes = [...this.#frame.querySelectorAll(".picked")].map((each) =>
      each.getBoundingClientRect(),
    );
    const left = Math.min(...boxes.map((box) => box.left));
    const right = Math.max(...boxes.map((box) => box.right));
    const top = Math.min(...boxes.map((box) => box.top));
    const bottom = Math.max(...boxes.map((box) => box.bottom));
    this.#onMenu({ start, end }, { left, top, bottom, width: right - left });
  }

  #onPointerDown(event) {
    const word = event.target.closest(".word");
    if (!word || event.button !== 0) return;
    const first = this.nodeOf(word);
    let last = first;
    event.preventDefault(); // the browser would select text
    // Touch pointers are otherwise captured by the first element.
    if (event.target.hasPointerCapture?.(event.pointerId)) {
      event.target.releasePointerCapture(event.pointerId);
    }
    const spanOf = () => ({
      start: Math.min(first.start, last.start),
      end: Math.max(first.end, last.end),
    });
    this.#pick(spanOf());
    const move = (moved) => {
      const over = document.elementFromPoint(moved.clientX, moved.clientY);
      const at = over?.closest(".word, .words");
      if (at && this.#frame.contains(at)) {
        last = this.nodeOf(at);
        this.#pick(spanOf());
      }
    };
    const stop = () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", up);
      window.removeEventListener("pointercancel", cancel);
    };
    const up = () => {
      stop();
      this.#focused = first;
      this.#groupOf(first).focus({ preventScroll: true });
      if (last === first) {
        this.#pick(null);
        this.#ask(first);
      } else {
        this.#askPicked();
      }
    };
    const cancel = () => {
      stop();
      this.#pick(null);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
    window.addEventListener("pointercancel", cancel);
  }

  // Keys. --------------------------------------------------------------------------------

  #onKey(event) {
    const node = this.nodeOf(event.target);
    if (!node || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.closest(".fold")) {
      if (event.key !== "Enter" && event.key !== " ") return;
      this.#toggle(node);
    } else if (!this.#handleKey(event, node)) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #handleKey(event, node) {
    const { key } = event;
    const isMirrored = this.#drawing.isRightToLeft;
    if (event.shiftKey && (key === "ArrowLeft" || key === "ArrowRight")) {
      const { start, end } = this.#picked ?? node;
      const by = (key === "ArrowRight") !== isMirrored ? 1 : -1;
      const last = Math.min(this.#root.end, Math.max(start + 1, end + by));
      this.#pick({ start, end: last });
      return true;
    }
    if (key === "Enter") {
      if (this.#picked) this.#askPicked();
      else this.#ask(node);
      return true;
    }
    if (key === " ") {
      this.#toggle(node);
      return true;
    }
    if (key === "Escape" && this.#picked) {
      this.#pick(null);
      return true;
    }
    const isOutline = this.#options.layout === "outline";
    const next = isOutline ? this.#nextInOutline(node, key) : this.#nextFromTop(node, key);
    if (!next) return key.startsWith("Arrow");
    this.#pick(null);
    this.#drawing.placed.get(next).group.focus();
    return true;
  }

  #nextFromTop(node, key) {
    const { nodes, placed } = this.#drawing;
    const level = nodes.filter((each) => each.depth === node.depth);
    level.sort((one, other) => placed.get(one).x - placed.get(other).x);
    const at = level.indexOf(node);
    if (key === "ArrowLeft") return level[at - 1];
    if (key === "ArrowRight") return level[at + 1];
    if (key === "ArrowUp") return node.parent;
    if (key === "ArrowDown") return node.children.find((child) => placed.has(child));
    return this.#end(key);
  }

  #nextInOutline(node, key) {
    const { nodes, placed, isRightToLeft: isMirrored } = this.#drawing;
    const at = nodes.indexOf(node);
    const inwards = isMirrored ? "ArrowLeft" : "ArrowRight";
    const outwards = isMirrored ? "ArrowRight" : "ArrowLeft";
    if (key === "ArrowUp") return nodes[at - 1];
    if (key === "ArrowDown") return nodes[at + 1];
    if (key === inwards) {
      if (this.#folded.has(node.key)) this.#toggle(node);
      else return node.children.find((child) => placed.has(child));
    }
    if (key === outwards) return node.parent;
    return this.#end(key);
  }

  #end(key) {
    if (key === "Home") return this.#root;
    return key === "End" ? this.#drawing.nodes.at(-1) : null;
  }
}
