// A parse as text for other programs. Trees are those of tree_model.js, records those of the service.

import { NAMELESS, visible } from "./dom.js";
import { nodesOf } from "./tree_model.js";

/** The part of the text, an array of characters, for a sentence; its words without offsets. */
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
const cell = (text) => text.replace(/[\t\n\v\f\r\u001c-\u001f\u0085\u2028\u2029]+/g, " ") || "_";

/** LaTeX for the package tikz-qtree; qtree accepts the content of the picture. */
export function qtree(root) {
  const inner = nested(root, {
    phrase: (label) => `[.{${label}}`,
    tag: (label, word) => `[.{${label}} {${word}} ]`,
    end: " ]",
  });
  return `% requires \\usepackage{tikz-qtree}\n\\begin{tikzpicture}\n\\Tree ${inner}\n\\end{tikzpicture}\n`;
}

/** LaTeX for the package forest; words are in a line at the bottom. */
export function forest(root) {
  const inner = nested(root, {
    phrase: (label) => `[{${label}}`,
    tag: (label, word) => `[{${label}} [{${word}}, tier=word]]`,
    end: "]",
  });
  return `% requires \\usepackage{forest}\n\\begin{forest}\n${inner}\n\\end{forest}\n`;
}

const DEEPEST = 40; // columns of indentation

function nested(root, { phrase, tag, end }) {
  let text = "";
  const open = [];
  for (const node of nodesOf(root)) {
    while (open.length && open.at(-1) !== node.parent) {
      open.pop();
      text += end;
    }
    if (text) text += `\n${" ".repeat(Math.min(2 * node.depth, DEEPEST))}`;
    const label = latex(node.label || NAMELESS);
    text += node.word === null ? phrase(label) : tag(label, latex(node.word));
    if (node.word === null) open.push(node);
  }
  return text + end.repeat(open.length);
}

// As in drawing/latex.py: characters special to TeX, and those that fonts join to ligatures.
const ESCAPED = new Map([
  ["\\", "\\textbackslash{}"],
  ["&", "\\symbol{38}"],
  ["^", "\\textasciicircum{}"],
  ["~", "\\textasciitilde{}"],
  ['"', "\\symbol{34}"],
  ["\u00a0", "~"],
  ["\0", "{}"],
  ...[..."{}$#%_"].map((sign) => [sign, `\\${sign}`]),
]);
const LIGATURE = /([-`',<>!?])(?=[-`',<>])/g;

/** A text as TeX prints it; brackets, commas and the like are safe within the braces around it. */
export function latex(text) {
  const apart = visible(text).replace(LIGATURE, "$1\0");
  return Array.from(apart, (sign) => ESCAPED.get(sign) ?? sign).join("");
}
