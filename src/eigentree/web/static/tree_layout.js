// A tree as SVG: placed from the root down, or as an outline with a line for each node.
//
// The first layout is that of the package's own pictures (drawing/tree_text.py): no two nodes of one
// depth overlap, and parents are over the middle of their children. A folded phrase is a roof over
// its words. Text from right to left mirrors either layout.

import { NAMELESS, svg, textWidth, visible } from "./dom.js";
import { isPhrase, nodesOf } from "./tree_model.js";

const LABEL = 13.5;
const WORD = 17;
const MARGIN = 18;
const GAP = 14; // between neighbours
const LEVEL = 58; // from one depth to the next
const PAD = 7; // at either side of a label
const ROW = 29; // of an outline
const INDENT = 24;

/**
 * Draw a tree.
 *
 * `layout` is `top` or `outline`; `isFolded` gives whether a phrase shows only its words; `share`
 * gives the value of the colour behind a label, null for none; `nameOf` the accessible name of a
 * node; `classOf` its additional classes. Without `isLive` nothing can be focused.
 *
 * Returns `element`, `width`, `height`, `isRightToLeft`, `nodes` in the order in which they are shown,
 * and `placed`, a map from each to its element `group`, its word's element `word`, and the place
 * `x`, `y` of its label.
 */
export function drawTree(root, options) {
  const { layout = "top", isFolded = () => false, isRightToLeft = false, isLive = true } = options;
  const nodes = nodesOf(root, (node) => !isFolded(node));
  const boxes = new Map(nodes.map((node) => [node, boxOf(node, isFolded(node))]));
  const place = layout === "outline" ? outline : fromTop;
  const { width, height, edges, leaders } = place(nodes, boxes, { isRightToLeft, isLive });
  const placed = new Map();
  const groups = nodes.map((node) => {
    const box = boxes.get(node);
    const made = groupOf(node, box, { ...options, isFolded, layout });
    placed.set(node, { ...made, x: box.x, y: box.y });
    return made.group;
  });
  const element = svg(
    "svg",
    {
      class: `drawing tree ${layout}`,
      viewBox: `0 0 ${round(width)} ${round(height)}`,
      role: isLive ? "tree" : "img",
      "aria-label": options.label ?? "",
    },
    svg("path", { class: "leader", d: leaders }),
    svg("path", { class: "edge", d: edges }),
    ...groups,
  );
  return { element, width, height, isRightToLeft, isLong: layout === "outline", nodes, placed };
}

/** The text of a node, and its size. */
function boxOf(node, isFolded) {
  const label = visible(node.label) || NAMELESS;
  const labelWidth = textWidth(label, LABEL, { weight: 600 }) + 2 * PAD;
  let text = null;
  if (isFolded) text = shortened(node);
  else if (node.word !== null) text = visible(node.word);
  const wordWidth = text === null ? 0 : textWidth(text, WORD, { family: "--serif" }) + 6;
  return { label, labelWidth, text, wordWidth, own: Math.max(labelWidth, wordWidth), isFolded };
}

/** The words of a phrase, without those in the middle. */
function shortened(node) {
  const words = nodesOf(node)
    .filter((each) => each.word !== null)
    .map((each) => cut(visible(each.word)));
  return words.length > 3 ? `${words[0]} … ${words.at(-1)}` : words.join(" ");
}

const cut = (word) => {
  const characters = Array.from(word);
  return characters.length > 16 ? `${characters.slice(0, 15).join("")}…` : word;
};

const round = (value) => Math.round(10 * value) / 10;

function fromTop(nodes, boxes, { isRightToLeft, isLive }) {
  const stem = isLive ? 16 : 8; // branches begin below the triangle
  const shown = new Set(nodes);
  const childrenOf = (node) => node.children.filter((child) => shown.has(child));
  for (const node of nodes.toReversed()) {
    const box = boxes.get(node);
    const rooms = childrenOf(node).map((child) => boxes.get(child).room);
    box.below = rooms.reduce((sum, room) => sum + room + GAP, -GAP);
    box.room = Math.max(box.own, box.below);
  }
  boxes.get(nodes[0]).left = 0;
  for (const node of nodes) {
    const box = boxes.get(node);
    let left = box.left + (box.room - box.below) / 2;
    for (const child of childrenOf(node)) {
      boxes.get(child).left = left;
      left += boxes.get(child).room + GAP;
    }
  }
  let lowest = 0;
  for (const node of nodes.toReversed()) {
    const box = boxes.get(node);
    const children = childrenOf(node).map((child) => boxes.get(child).x);
    const middle = children.length ? (children[0] + children.at(-1)) / 2 : box.left + box.room / 2;
    // A label wider than what is below it must stay within the room of its node.
    const least = box.left + box.own / 2;
    box.x = Math.min(Math.max(middle, least), box.left + box.room - box.own / 2);
    box.y = MARGIN + LABEL + LEVEL * node.depth;
    lowest = Math.max(lowest, box.y);
  }
  const all = boxes.get(nodes[0]).room;
  const base = lowest + 44;
  let edges = "";
  let leaders = "";
  for (const box of boxes.values()) {
    box.x = MARGIN + (isRightToLeft ? all - box.x : box.x);
  }
  for (const node of nodes) {
    const box = boxes.get(node);
    [box.foldX, box.foldY] = [box.x, box.y + 13];
    box.wordX = box.x;
    box.wordY = box.isFolded ? box.y + LEVEL : base;
    if (box.isFolded) {
      const half = box.wordWidth / 2;
      box.roof = `M${round(box.x)} ${box.y + 16}l${round(half)} 22h${round(-2 * half)}z`;
    } else if (node.word !== null && base - box.y > 48) {
      leaders += `M${round(box.x)} ${box.y + 11}V${base - 20}`;
    }
    for (const child of childrenOf(node)) {
      const { x, y } = boxes.get(child);
      edges += `M${round(box.x)} ${box.y + stem}L${round(x)} ${y - 19}`;
    }
  }
  const deepest = Math.max(...Array.from(boxes.values(), (box) => (box.text ? box.wordY : box.y)));
  return { width: all + 2 * MARGIN, height: deepest + MARGIN, edges, leaders };
}

function outline(nodes, boxes, { isRightToLeft }) {
  let widest = 0;
  nodes.forEach((node, row) => {
    const box = boxes.get(node);
    const left = MARGIN + 14 + INDENT * node.depth;
    box.y = MARGIN + LABEL + ROW * row;
    box.x = left + box.labelWidth / 2;
    [box.foldX, box.foldY] = [left - 11, box.y - 5];
    box.wordX = left + box.labelWidth + 10 + box.wordWidth / 2;
    box.wordY = box.y;
    widest = Math.max(widest, left + box.labelWidth + (box.text ? 10 + box.wordWidth : 0));
  });
  const width = widest + MARGIN;
  let edges = "";
  for (const node of nodes) {
    const box = boxes.get(node);
    if (isRightToLeft) {
      for (const name of ["x", "foldX", "wordX"]) box[name] = width - box[name];
    }
    const parent = boxes.get(node.parent);
    if (parent) {
      const end = box.foldX + (isRightToLeft ? -1 : 1) * (isPhrase(node) ? -6 : 7);
      // A line goes on from the sister before.
      const before = node.parent.children[node.parent.children.indexOf(node) - 1];
      const from = before ? boxes.get(before).y - 5 : parent.foldY + 9;
      edges += `M${round(parent.foldX)} ${from}V${box.y - 5}H${round(end)}`;
    }
  }
  return { width, height: 2 * MARGIN + ROW * nodes.length, edges, leaders: "" };
}

function groupOf(node, box, options) {
  const { share = () => null, nameOf, classOf = () => "", isLive = true, layout } = options;
  const shared = share(node);
  const half = box.labelWidth / 2;
  const kind = isPhrase(node) ? "phrase" : "tag";
  const pill = svg("rect", {
    class: shared === null ? "pill" : "pill sure",
    "--share": shared ?? 0,
    x: round(box.x - half),
    y: box.y - 16,
    width: round(box.labelWidth),
    height: 22,
    rx: 6,
  });
  const label = svg(
    "text",
    { class: "label", x: round(box.x), y: box.y, "font-size": LABEL },
    box.label,
  );
  let word = null;
  if (box.text !== null) {
    word = svg(
      "g",
      { class: box.isFolded ? "words" : "word", "data-position": node.start },
      svg("rect", {
        class: "ground",
        x: round(box.wordX - box.wordWidth / 2 - 2),
        y: box.wordY - 19,
        width: round(box.wordWidth + 4),
        height: 27,
        rx: 4,
      }),
      svg("text", { x: round(box.wordX), y: box.wordY, "font-size": WORD }, box.text),
    );
  }
  const fold = isLive && isPhrase(node) ? foldOf(box, layout) : null;
  const roof = box.roof ? svg("path", { class: "roof", d: box.roof }) : null;
  const group = svg(
    "g",
    {
      class: `node ${kind} ${classOf(node)}`.trim(),
      role: isLive ? "treeitem" : null,
      tabindex: isLive ? -1 : null,
      "aria-level": isLive ? node.depth + 1 : null,
      "aria-expanded": fold && String(!box.isFolded),
      "aria-label": isLive ? nameOf(node) : null,
      "data-key": node.key,
    },
    roof,
    pill,
    label,
    word,
    fold,
  );
  return { group, word };
}

/** The triangle that folds and unfolds. */
function foldOf({ foldX, foldY, isFolded }, layout) {
  const turn = isFolded ? (layout === "outline" ? -90 : 180) : 0;
  return svg(
    "g",
    {
      class: "fold",
      role: "button",
      tabindex: -1,
      "aria-label": isFolded ? "Unfold" : "Fold",
      transform: `translate(${round(foldX)} ${foldY})`,
    },
    svg("rect", { class: "ground", x: -13, y: -7, width: 26, height: 16, rx: 4 }),
    svg("path", { d: "M-4.5 -2h9L0 4.5z", transform: `rotate(${turn})` }),
  );
}
