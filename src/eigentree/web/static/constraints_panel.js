// The constraints on the current sentence: removable chips, and the menu at a span.

import * as api from "./api.js";
import * as constraints from "./constraints.js";
import { byId, html } from "./dom.js";
import { openMenu } from "./menu.js";
import { isPhrase, nodesOf } from "./tree_model.js";

export class ConstraintsPanel {
  #page;
  #labels = null; // a promise of the labels of the model

  /** `page` has the `sentence`, its constraints in `rows`, and `setConstraints` to change them. */
  constructor(page) {
    this.#page = page;
    byId("clear-chips").addEventListener("click", () => page.setConstraints(null));
  }

  /** Discard the labels, which depend on the model. */
  forgetLabels() {
    this.#labels = null;
  }

  show() {
    const { rows, sentence, state } = this.#page;
    const { given_up: givenUp = [], conflict = null } = sentence?.record ?? {};
    const words = sentence?.words ?? [];
    const all = constraints.listed(rows);
    const buttons = () => [...byId("chips").querySelectorAll("button")];
    const hadFocus = byId("constraints-panel").contains(document.activeElement);
    const focused = buttons().indexOf(document.activeElement);
    byId("chips").replaceChildren(...all.map((each) => this.#chip(each, words, givenUp)));
    byId("constraints-panel").hidden = !all.length;
    byId("clear-chips").hidden = all.length < 2;
    if (hadFocus && !all.length) this.#page.views.focus();
    else if (focused >= 0) buttons()[Math.min(focused, all.length - 1)].focus();
    byId("conflict").hidden = !conflict || !all.length;
    byId("soft").checked = state.soft;
    if (conflict) {
      const kept = state.soft ? "As many as possible are kept." : "None are kept.";
      const why = constraints.conflictInWords(conflict, words);
      byId("conflict-message").textContent = `No tree satisfies all constraints: ${why}. ${kept}`;
    }
  }

  #chip(each, words, givenUp) {
    const text = constraints.describe(each, words);
    const isLost = givenUp.some((other) => constraints.isOf(each, other));
    const remove = () => this.#remove(each);
    return html(
      "li",
      { class: `chip ${each.kind}${isLost ? " given-up" : ""}` },
      html("span", { dir: "auto", title: isLost ? "dropped" : null }, text),
      html("button", { type: "button", "aria-label": `Remove: ${text}`, onclick: remove }, "×"),
    );
  }

  #add(kind, row) {
    return this.#page.setConstraints(constraints.withConstraint(this.#page.rows, kind, row));
  }

  #remove({ kind, row }) {
    return this.#page.setConstraints(constraints.without(this.#page.rows, kind, row));
  }

  /** Add several constraints at once. */
  addAll(more) {
    const join = (rows, { kind, row }) => constraints.withConstraint(rows, kind, row);
    return this.#page.setConstraints(constraints.listed(more).reduce(join, this.#page.rows));
  }

  /** Open the menu for a span, of `node` if given. `closed` as in menu.js. */
  openMenu({ start, end, node = null }, at, closed) {
    const { words } = this.#page.sentence;
    const isWord = node !== null && !isPhrase(node);
    const action = (text, kind, row) => ({ text, run: () => this.#add(kind, row) });
    const actions = constraints
      .listed(this.#page.rows)
      .filter((each) => constraints.isAt(each, start, end, isWord))
      .map((each) => ({
        text: `Remove “${constraints.describe(each, words)}”`,
        run: () => this.#remove(each),
      }));
    const forbid = action("Forbid any phrase here", "forbidden", [start, end]);
    if (isWord) {
      actions.push(action(`Keep the tag ${node.label}`, "tags", [start, node.label]));
    } else if (node) {
      const row = [start, end, node.label];
      actions.push(action(`Force ${node.label} here`, "required", row));
      actions.push(action(`Forbid ${node.label} here`, "forbidden", row), forbid);
    } else {
      actions.push(action("Force a phrase here", "required", [start, end]), forbid);
    }
    this.#labels ??= this.#known();
    const tag = {
      text: "Another tag",
      options: this.#labels.then(({ tags }) => tags),
      run: (label) => this.#add("tags", [start, label]),
    };
    const phrase = {
      text: node && !isWord ? "Force another label" : "Force a phrase labelled",
      options: this.#labels.then(({ phrases }) => phrases),
      run: (label) => this.#add("required", [start, end, label]),
    };
    const text = constraints.quoted(words, start, end);
    const title = node ? `${node.label} ${text}` : text;
    openMenu({ title, at, actions, forms: isWord ? [tag, phrase] : [phrase], closed });
  }

  /** Labels of phrases and tags of the model; those of the current tree if the model has no list. */
  async #known() {
    const phrases = new Set();
    const tags = new Set();
    try {
      for (const { kind, chain } of await api.symbols(this.#page.model)) {
        const isTag = kind === "preterminal";
        if (isTag) tags.add(chain.at(-1));
        for (const label of isTag ? chain.slice(0, -1) : chain) phrases.add(label);
      }
    } catch {
      for (const node of nodesOf(this.#page.sentence.root)) {
        (isPhrase(node) ? phrases : tags).add(node.label);
      }
    }
    return { phrases: [...phrases].sort(), tags: [...tags].sort() };
  }
}
