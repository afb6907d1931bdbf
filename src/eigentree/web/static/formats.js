// A parse as text for other programs. Trees are those of trees.js, records those of the service.

import { nodesOf } from "./trees.js";

/** A sentence as it stands in the text, an array of characters; its words where that isn't known. */
export function surface({ words = [], offsets }, characters) {
  if (!offsets?.length) return words.join(" ");
  return characters.slice(offsets[0][0], offsets.at(-1)[1]).join("");
}

export const json = (record) => `${JSON.stringify(record, null, 2)}\n`;

export const brackets = (record) => `${record.tree}\n`;

/**
 * CoNLL-U: the service's own if it has parsed the dependencies; otherwise the words with their tags,
 * and no heads.
 */
export function conllu(record, text, dependencies = null) {
  if (dependencies?.conllu) return dependencies.conllu.replace(/\n*$/, "\n\n");
  const rows = record.words.map((word, i) => {
    const isTight = record.offsets && record.offsets[i][1] === record.offsets[i + 1]?.[0];
    const cells = [i + 1, cell(word), "_", "_", cell(record.tags[i]), "_", "_", "_", "_"];
    return [...cells, isTight ? "SpaceAfter=No" : "_"].join("\t");
  });
  return [`# text = ${cell(text)}`, ...rows, "", ""].join("\n");
}

/** What a cell may hold: any white space but plain spaces would end it. */
const cell = (text) => text.replace(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, " ") || "_";

/** LaTeX for the package qtree; tikz-qtree takes it too. */
export function qtree(root) {
  return `\\Tree ${bracketed(root, (label) => `.${label} `, (word) => `${word} `, " ")}\n`;
}

/** LaTeX for the package forest. */
export function forest(root) {
  const tree = bracketed(root, (label) => `${label} `, (word) => `[${word}]`, "");
  return `\\begin{forest}\n${tree}\n\\end{forest}\n`;
}

function bracketed(root, ofLabel, ofWord, after) {
  let text = "";
  const open = [];
  for (const node of nodesOf(root)) {
    while (open.length && open.at(-1) !== node.parent) {
      open.pop();
      text += `]${after}`;
    }
    text += `[${ofLabel(latex(node.label))}`;
    if (node.word === null) open.push(node);
    else text += `${ofWord(latex(node.word))}]${after}`;
  }
  return (text + `]${after}`.repeat(open.length)).trimEnd();
}

const LATEX = new Map([
  ["\\", "\\textbackslash{}"],
  ["~", "\\textasciitilde{}"],
  ["^", "\\textasciicircum{}"],
  ["<", "\\textless{}"],
  [">", "\\textgreater{}"],
  ["|", "\\textbar{}"],
  // Babel gives the character itself a meaning in some languages.
  ['"', "\\symbol{34}"],
  ...[..."{}_%&#$"].map((character) => [character, `\\${character}`]),
]);

/**
 * A text as LaTeX sets it, in braces unless it is letters and digits alone: brackets, commas, equals
 * signs, points and exclamation marks mean something to the packages.
 */
export function latex(text) {
  const escaped = Array.from(text, (character) => LATEX.get(character) ?? character).join("");
  return /^[\p{L}\p{M}\p{N}]+$/u.test(text) ? escaped : `{${escaped}}`;
}
