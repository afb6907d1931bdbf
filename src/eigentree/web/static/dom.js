// Elements, of HTML and of SVG. Text is only ever put in as text.

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

/** A share as people read it; what is not certain never looks so. */
export function percent(share) {
  if (share === null || share === undefined) return "unknown";
  const value = 100 * share;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  if (value > 99.9 && value < 100) return "> 99.9 %";
  return `${value.toFixed(value < 1 || value > 99 ? 1 : 0).replace(/\.0$/, "")} %`;
}

const CONTROL = /[\u0000-\u001f]/g;
// Marks that reorder what stands around them, what is no character, and other controls.
const MISLEADING = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufffe\uffff]|\p{Cs}/gu;

/** The text as it can be shown: what is not to be seen becomes a picture of it. */
export function visible(text) {
  return text
    .replace(CONTROL, (found) => String.fromCharCode(0x2400 + found.charCodeAt(0)))
    .replace(MISLEADING, "\ufffd");
}

const canvas = document.createElement("canvas").getContext("2d");

/** Width of a text in a font of the style sheet, in pixels. */
export function textWidth(text, size, { weight = 400, family = "--sans" } = {}) {
  const name = getComputedStyle(document.documentElement).getPropertyValue(family);
  canvas.font = `${weight} ${size}px ${name}`;
  return canvas.measureText(text).width;
}

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/gu;
const LETTER = /\p{L}/gu;

/** Whether most letters are of a script that is written from right to left. */
export function isRightToLeft(text) {
  const all = text.match(LETTER)?.length ?? 0;
  return 2 * (text.match(RIGHT_TO_LEFT)?.length ?? 0) > all;
}
