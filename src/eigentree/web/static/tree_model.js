// Trees as objects: read from brackets, annotated with confidences, compared with one another.
//
// A node has `label`, `word` (null for a phrase), `children`, `parent`, `depth`, the half-open span
// `start`, `end` of its words, and a `key` that names it among the nodes of any tree over the same
// words. Trees may be deeper than a stack, so nothing here is recursive.

import { quoted } from "./constraints.js";
import { percent } from "./dom.js";

const PIECE = /\(|\)|[^ \t\r\n\v\f()]+/g;
const ESCAPED = /-([LR])(?:RB-|(\\+)RB(?=-))/g;

/** Unescape a word of a bracket file: `-LRB-` and `-RRB-` stand for round brackets. */
export function unescapeWord(text) {
  return text.replace(ESCAPED, (_, side, backslashes) => {
    if (backslashes === undefined) return side === "L" ? "(" : ")";
    return `-${side}${backslashes.slice(1)}RB`;
  });
}

/** The tree that a line of brackets holds; a nameless outer bracket is left out. */
export function readTree(text) {
  const top = { label: "", word: null, children: [], parent: null };
  let at = top;
  let isLabel = false;
  for (const [piece] of text.matchAll(PIECE)) {
    if (piece === "(") {
      const node = { label: "", word: null, children: [], parent: at };
      at.children.push(node);
      at = node;
    } else if (piece === ")") {
      at = at.parent ?? top;
    } else if (isLabel) {
      at.label = piece;
    } else {
      at.word = unescapeWord(piece);
    }
    isLabel = piece === "(";
  }
  let root = top.children[0];
  while (root.label === "" && root.children.length === 1) root = root.children[0];
  root.parent = null;
  return numbered(root);
}

function numbered(root) {
  let position = 0;
  const seen = new Map();
  for (const node of nodesOf(root)) {
    node.depth = node.parent ? node.parent.depth + 1 : 0;
    node.start = position;
    if (node.word !== null) position += 1;
  }
  for (const node of upwards(root)) {
    node.end = node.children.length ? node.children.at(-1).end : node.start + 1;
    // Of two nodes with one name over the same words the lower one comes first.
    const name = spanKey(node.label, node.start, node.end) + (node.word === null ? "" : " tag");
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    node.key = before ? `${name} ${before}` : name;
  }
  return root;
}

export const spanKey = (label, start, end) => `${start} ${end} ${label}`;

/** All nodes, parents before children, from left to right. */
export function nodesOf(root, isOpen = () => true) {
  const found = [];
  const waiting = [root];
  while (waiting.length) {
    const node = waiting.pop();
    found.push(node);
    if (isOpen(node)) for (const child of node.children.toReversed()) waiting.push(child);
  }
  return found;
}

/** All nodes, children before parents, from left to right. */
function upwards(root) {
  const found = [];
  const waiting = [root];
  while (waiting.length) {
    const node = waiting.pop();
    found.push(node);
    for (const child of node.children) waiting.push(child);
  }
  return found.reverse();
}

export const isPhrase = (node) => node.word === null;

/** Give phrases the confidences of a record's brackets, which are in bottom-up order. */
export function addConfidences(root, brackets) {
  const waiting = new Map();
  for (const each of brackets) {
    const key = spanKey(each.label, each.start, each.end);
    if (!waiting.has(key)) waiting.set(key, []);
    waiting.get(key).push(each);
  }
  for (const node of upwards(root).filter(isPhrase)) {
    const found = waiting.get(spanKey(node.label, node.start, node.end))?.shift();
    node.confidence = found?.confidence ?? null;
    node.calibrated = found?.calibrated ?? null;
  }
  return root;
}

/** The confidence of a phrase, calibrated if available; null if it has none. */
export const confidenceOf = (node) => node.calibrated ?? node.confidence ?? null;

/** The tooltip lines of a node; `marginals` are those of labelled spans, if already loaded. */
export function nodeLines(node, words, marginals) {
  const lines = [`${node.label} ${quoted(words, node.start, node.end)}`];
  if (!isPhrase(node)) return lines;
  const { confidence, calibrated } = node;
  if (calibrated != null) lines.push(`calibrated confidence ${percent(calibrated)}`);
  if (confidence != null) {
    lines.push(`${calibrated == null ? "confidence" : "uncalibrated confidence"} ${percent(confidence)}`);
  }
  for (const { label, start, end, marginal } of marginals) {
    const isHere = start === node.start && end === node.end;
    if (isHere && label !== node.label) lines.push(`${label} ${percent(Math.max(0, marginal))}`);
  }
  return lines;
}

/** The nodes of one tree that another lacks. */
export function missingFrom(root, other) {
  const there = new Set(nodesOf(other).map((node) => node.key));
  return nodesOf(root).filter((node) => !there.has(node.key));
}
