// Creation of HTML and SVG elements. Text is only inserted as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

export function html(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** A fraction in percent; values below 1 are never rounded to 100 %. */
export function percent(share) {
  if (share === null || share === undefined) return "unknown";
  const value = 100 * share;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  if (value > 99.9 && value < 100) return "> 99.9 %";
  return `${value.toFixed(value < 1 || value > 99 ? 1 : 0).replace(/\.0$/, "")} %`;
}

/** Stands for the label of a nameless node. */
export const NAMELESS = "·";

const PLAIN = /^[\x20-\x7e]*$/;
// Control characters, line separators, characters that reorder text, and unpaired surrogates.
const MISLEADING = /[\x7f-\x9f\u2028-\u202e\u2066-\u2069]|\p{Cs}/u;
const BARE_ACCENT = /^[\p{Mn}\p{Me}\p{Cf}]/u;

/** Make invisible and misleading characters visible, as in _core/printable.py. */
export function visible(text) {
  if (PLAIN.test(text)) return text;
  const shown = Array.from(text, picture).join("");
  return BARE_ACCENT.test(shown) ? `◌${shown}` : shown;
}

function picture(character) {
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  const isNone = (code & 0xfffe) === 0xfffe;
  return isNone || MISLEADING.test(character) ? "\ufffd" : character;
}

const canvas = document.createElement("canvas").getContext("2d");

const fonts = new Map();

/** Width of a text in a font of the style sheet, in pixels. */
export function textWidth(text, size, { weight = 400, family = "--sans" } = {}) {
  const key = `${weight} ${size} ${family}`;
  if (!fonts.has(key)) {
    const names = getComputedStyle(document.documentElement).getPropertyValue(family);
    fonts.set(key, `${weight} ${size}px ${names}`);
  }
  canvas.font = fonts.get(key);
  return canvas.measureText(text).width;
}

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/gu;
const LETTER = /\p{L}/gu;

/** Whether most letters are of a script that is written from right to left. */
export function isRightToLeft(text) {
  const all = text.match(LETTER)?.length ?? 0;
  return 2 * (text.match(RIGHT_TO_LEFT)?.length ?? 0) > all;
}
