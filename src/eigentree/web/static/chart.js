// The chart as a heat map: one cell for each candidate span, over the middle of its words.
//
// Cells are diamonds in a pyramid: the lowest are single words, the top is the sentence. A cell is
// as dark as its most likely label; signed values are cut to 0..1 for that. Cells are as large as the
// frame has room for, within bounds.

import { quoted } from "./constraints.js";
import { percent, svg, textWidth, visible } from "./dom.js";

const WORD = 16;
const MARGIN = 16;
const MOST_LABELS = 6;
const LEAST_SIZE = 24; // of a cell, unless there are many words
const LEAST_SCALE = 0.3; // at which a chart opens

/** The cells of a record's marginals, the longest first: of each span its labels by likelihood. */
export function cellsOf(marginals) {
  const cells = new Map();
  for (const { label, start, end, marginal } of marginals) {
    const key = `${start} ${end}`;
    if (!cells.has(key)) cells.set(key, { key, start, end, labels: [] });
    cells.get(key).labels.push({ label, marginal });
  }
  for (const cell of cells.values()) {
    cell.labels.sort((one, other) => Math.abs(other.marginal) - Math.abs(one.marginal));
    cell.share = Math.min(1, Math.max(0, ...cell.labels.map(({ marginal }) => marginal)));
  }
  return [...cells.values()].sort(
    (one, other) => other.end - other.start - (one.end - one.start) || one.start - other.start,
  );
}

/** The tooltip lines of a cell: its words, then its labels with their marginals. */
export function cellLines({ start, end, labels }, words) {
  const lines = labels.slice(0, MOST_LABELS).map(({ label, marginal }) => {
    const isShare = marginal >= 0 && marginal <= 1;
    return `${label} ${isShare ? percent(marginal) : marginal.toPrecision(2)}`;
  });
  const rest = labels.length - MOST_LABELS;
  return [quoted(words, start, end), ...lines, ...(rest > 0 ? [`and ${rest} more`] : [])];
}

/**
 * Draw a chart.
 *
 * `isInTree` gives whether a cell is a phrase of the tree; `room` is the width of the frame. Returns
 * a drawing as in tree_layout.js, with `words`, `cells`, and `groups`, a map from each cell to its
 * element.
 */
export function drawChart(words, cells, { isInTree, room, isRightToLeft, label }) {
  const shown = words.map(visible);
  const n = words.length;
  const widths = shown.map((word) => textWidth(word, WORD, { family: "--serif" }));
  const widest = Math.max(...widths);
  const { size, aside } = sizeOf(n, widest, room - 2 * MARGIN);
  const isSloped = aside > 0;
  const base = MARGIN + ((n + 1) * size) / 2;
  const width = 2 * MARGIN + n * size + aside;
  const height = base + (isSloped ? aside + 20 : 30) + MARGIN;
  const fontSize = size < 40 ? 10 : 12;
  const across = (position) => {
    const x = position * size;
    return MARGIN + aside + (isRightToLeft ? n * size - x : x);
  };
  const groups = new Map();
  const elements = cells.map((cell) => {
    const x = across((cell.start + cell.end) / 2);
    const y = base - ((cell.end - cell.start) * size) / 2;
    const half = size / 2 - 1;
    const best = cell.labels[0].label;
    const fits = textWidth(visible(best), fontSize, { weight: 600 }) < size - fontSize + 1;
    const group = svg(
      "g",
      {
        class: isInTree(cell) ? "cell in-tree" : "cell",
        "--share": cell.share,
        role: "button",
        tabindex: cell === cells[0] ? 0 : -1,
        "aria-label": cellLines(cell, words).join(", "),
        "data-cell": cell.key,
      },
      svg("path", {
        class: "heat",
        d: `M${x} ${y - half}L${x + half} ${y}L${x} ${y + half}L${x - half} ${y}z`,
      }),
      fits && cell.share >= 0.02 && size >= LEAST_SIZE
        ? svg("text", { class: "label", x, y: y + fontSize / 3, "font-size": fontSize }, visible(best))
        : null,
    );
    groups.set(cell, group);
    return group;
  });
  const texts = shown.map((word, i) => {
    const x = across(i + 0.5);
    const at = isSloped
      ? { transform: `translate(${x + 4} ${base + 16}) rotate(-45)`, class: "word sloped" }
      : { transform: `translate(${x} ${base + 20})`, class: "word" };
    return svg("text", { ...at, "font-size": WORD }, word);
  });
  const element = svg(
    "svg",
    {
      class: "drawing chart",
      viewBox: `0 0 ${width} ${height}`,
      role: "group",
      "aria-label": label,
    },
    svg("path", { class: "field", d: fieldOf(n, size, Math.min(across(0), across(n)), base) }),
    ...texts,
    ...elements,
  );
  const frame = { isRightToLeft, beginsBelow: true, leastScale: LEAST_SCALE };
  return { element, width, height, ...frame, words, cells, groups };
}

/** The size of a cell, and the width that sloped words need beside the pyramid, 0 if they are level. */
function sizeOf(n, widest, room) {
  const most = n <= 8 ? 84 : n <= 14 ? 68 : n <= 28 ? 48 : n <= 60 ? 30 : 20;
  const within = (size) => Math.max(Math.min(most, LEAST_SIZE), Math.min(most, size));
  const level = within(room / n);
  if (widest <= level - 4) return { size: level, aside: 0 };
  const aside = 0.72 * widest;
  return { size: within((room - aside) / n), aside };
}

/** The outline of the pyramid, and lines between its cells unless there are too many. */
function fieldOf(n, size, left, base) {
  const step = size / 2;
  const foot = base - step;
  const end = left + n * size;
  let path = `M${left} ${foot}L${left + n * step} ${base - (n + 1) * step}L${end} ${foot}`;
  path += `L${end - step} ${base}H${left + step}z`;
  if (n > 40) return path;
  for (let i = 1; i < n; i += 1) {
    const x = left + i * size;
    path += `M${x - step} ${base}L${x + (n - i) * step} ${foot - (n - i) * step}`;
    path += `M${x + step} ${base}L${x - i * step} ${foot - i * step}`;
  }
  return path;
}

/** The neighbour of a cell in the direction of an arrow key; null for none. */
export function nextCell(cells, from, key, isRightToLeft) {
  const length = ({ start, end }) => end - start;
  const middle = ({ start, end }) => ((start + end) / 2) * (isRightToLeft ? -1 : 1);
  const along = (cell) => {
    if (key === "ArrowLeft") return middle(from) - middle(cell);
    if (key === "ArrowRight") return middle(cell) - middle(from);
    if (key === "ArrowUp") return length(cell) - length(from);
    return length(from) - length(cell);
  };
  const isSideways = key === "ArrowLeft" || key === "ArrowRight";
  const aside = (cell) =>
    isSideways
      ? Math.abs(length(cell) - length(from))
      : Math.abs(middle(cell) - middle(from));
  let best = null;
  let least = Infinity;
  for (const cell of cells) {
    const cost = along(cell) + 2 * aside(cell);
    if (along(cell) > 0 && cost < least) [best, least] = [cell, cost];
  }
  return best;
}
