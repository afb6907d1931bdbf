// The k-best trees of a sentence side by side, with differences from the first marked.

import { html, isRightToLeft, percent } from "./dom.js";
import { quoted } from "./constraints.js";
import { drawTree } from "./tree_layout.js";
import { isPhrase, missingFrom, nodesOf, readTree, spanKey } from "./tree_model.js";
import { Viewport } from "./viewport.js";

/**
 * Cards for the alternatives of a record.
 *
 * `prefer(constraints)` is called with rows that require what an alternative has, and forbid what only
 * the first tree has. Returns the elements, and `show`, to be called once they are in the page.
 */
export function cardsOf(record, prefer) {
  const trees = record.alternatives.map(({ tree }) => readTree(tree));
  const shares = new Map(
    (record.marginals ?? []).map((each) => [spanKey(each.label, each.start, each.end), each.marginal]),
  );
  const shareOf = (node) => {
    const found = isPhrase(node) ? shares.get(spanKey(node.label, node.start, node.end)) : undefined;
    return found === undefined ? null : Math.min(1, Math.max(0, found));
  };
  const made = trees.map((tree, i) => cardOf(record, trees, i, shareOf, prefer));
  return { elements: made.map(({ card }) => card), show: () => made.forEach(({ show }) => show()) };
}

function cardOf(record, trees, number, shareOf, prefer) {
  const tree = trees[number];
  const first = trees[0];
  const alternative = record.alternatives[number];
  const isFirst = number === 0;
  // In the first tree, what at least one of the others lacks.
  const others = isFirst ? trees.slice(1).flatMap((other) => missingFrom(tree, other)) : missingFrom(tree, first);
  const differing = new Set(others.map((node) => node.key));
  const frame = html("div", { class: "frame small", tabindex: 0, role: "group" });
  const viewport = new Viewport(frame);
  const missing = isFirst ? [] : missingFrom(first, tree);
  const own = nodesOf(tree).filter((node) => differing.has(node.key));
  const title = isFirst ? "Best tree" : `Tree ${number + 1}`;
  const card = html(
    "article",
    { class: "card", "aria-label": `${title}, ${worth(alternative, record)}` },
    html(
      "header",
      { class: "card-head" },
      html("h3", {}, title),
      html("span", { class: "soft" }, worth(alternative, record)),
    ),
    frame,
    isFirst
      ? html("p", { class: "card-note" }, "Dashed: not in all trees.")
      : html(
          "dl",
          { class: "differences" },
          ...listOf("this tree", own, record.words),
          ...listOf("instead of", missing, record.words),
        ),
    isFirst
      ? null
      : html(
          "button",
          { type: "button", class: "quiet", onclick: () => prefer(constraintsFor(tree, own, missing)) },
          "Force this tree",
        ),
  );
  const show = () => {
    const drawing = drawTree(tree, {
      isLive: false,
      share: shareOf,
      classOf: (node) => (differing.has(node.key) ? "differs" : ""),
      nameOf: () => "",
      label: `${title}: ${alternative.tree}`,
      isRightToLeft: isRightToLeft(record.words.join(" ")),
    });
    viewport.show(drawing);
    viewport.fit();
  };
  return { card, show };
}

const listOf = (name, nodes, words) =>
  nodes.length ? [html("dt", {}, name), ...nodes.map((node) => html("dd", {}, named(node, words)))] : [];

const named = (node, words) => {
  const label = html("b", {}, node.label);
  return html("span", { dir: "auto" }, label, ` ${quoted(words, node.start, node.end)}`);
};

function worth(alternative, record) {
  const { probability, confidence, log_value: value } = alternative;
  if (probability !== null && probability !== undefined) return `probability ${percent(probability)}`;
  const best = record.alternatives[0].log_value;
  const parts = [];
  if (confidence !== null) parts.push(`confidence ${percent(confidence)}`);
  if (value !== null && best !== null && value !== best) {
    parts.push(`value ${(value - best > 0 ? "+" : "−")}${Math.abs(value - best).toFixed(1)} nats`);
  }
  return parts.join(" · ");
}

/** Constraints that require the nodes only this tree has, and forbid those it lacks. */
function constraintsFor(tree, own, missing) {
  const rowOf = ({ start, end, label }) => [start, end, label];
  // Of two phrases of a chain with one label it may lack one.
  const there = new Set(nodesOf(tree).filter(isPhrase).map((node) => rowOf(node).join(" ")));
  return {
    required: own.filter(isPhrase).map(rowOf),
    forbidden: missing
      .filter(isPhrase)
      .map(rowOf)
      .filter((row) => !there.has(row.join(" "))),
    tags: own.filter((node) => !isPhrase(node)).map(({ start, label }) => [start, label]),
  };
}
