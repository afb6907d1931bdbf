// Export of a drawing as a stand-alone SVG file in light colours; downloads and the clipboard.

import { svg } from "./dom.js";

const KEPT = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "font-family",
  "font-size",
  "font-weight",
  "font-style",
  "text-anchor",
  "unicode-bidi",
];
const LIVE = ["class", "style", "role", "tabindex", "data-key", "data-position", "data-cell", "data-word"];

/** The text of the file. */
export function asFile({ element, width, height }) {
  const copy = element.cloneNode(true);
  const holder = document.createElement("div");
  holder.className = "paper";
  holder.append(copy);
  document.body.append(holder);
  for (const each of copy.querySelectorAll(".fold, .ground, .grip")) each.remove();
  for (const each of copy.querySelectorAll("*")) {
    const style = getComputedStyle(each);
    for (const name of KEPT) {
      const value = style.getPropertyValue(name);
      if (value) each.setAttribute(name, plainColour(value));
    }
  }
  for (const each of [copy, ...copy.querySelectorAll("*")]) {
    for (const name of [...each.getAttributeNames()]) {
      if (LIVE.includes(name) || name.startsWith("aria-")) each.removeAttribute(name);
    }
  }
  copy.setAttribute("role", "img");
  copy.setAttribute("aria-label", element.getAttribute("aria-label") ?? "");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.prepend(svg("rect", { width: "100%", height: "100%", fill: "#ffffff" }));
  holder.remove();
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

/** A colour in hexadecimal: browsers report mixed colours in a newer syntax. */
function plainColour(value) {
  const found = /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)/.exec(value);
  if (!found) return value;
  const part = (text) =>
    Math.round(255 * Math.min(1, Math.max(0, Number(text))))
      .toString(16)
      .padStart(2, "0");
  return `#${found.slice(1).map(part).join("")}`;
}

/** Download a text as a file. */
export function download(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Copy a text, also in contexts without the clipboard API. */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  const before = document.activeElement;
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  before?.focus();
  if (!isDone) throw new Error("The browser does not allow this page to copy.");
}
