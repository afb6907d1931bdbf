// A dependency tree as arcs over its words. Longer arcs run over shorter ones, so that labels never
// meet; crossing arcs of a non-projective tree run at levels of their own.

import { percent, svg, textWidth, visible } from "./dom.js";

const WORD = 17;
const TAG = 11.5;
const RELATION = 12;
const LEVEL = 34;
const MARGIN = 20;
const GAP = 22;
const CORNER = 9;
const LEAST_SCALE = 0.42; // at which the arcs open
const ROOT = "root";

/** The tooltip lines of a word, by its number from 0: the word, its head, and the confidence. */
export function arcLines({ words, tags, heads, relations, confidences }, i) {
  const head = heads[i] === 0 ? "the root" : words[heads[i] - 1];
  const lines = [`${words[i]}, ${tags[i]}`, `${relations?.[i] ?? "modifier"} of ${head}`];
  if (confidences?.[i] != null) lines.push(`confidence ${percent(confidences[i])}`);
  return lines;
}

/**
 * Draw the record of a dependency parse.
 *
 * Returns a drawing as in tree_layout.js, with the `record` and `groups`, one for each word with the arc to it.
 */
export function drawArcs(record, { isRightToLeft, label }) {
  const { words, tags, heads, relations, confidences } = record;
  const labels = heads.map((head, i) => visible(relations?.[i] ?? (head === 0 ? ROOT : "")));
  const labelWidths = labels.map((text) => (text ? textWidth(text, RELATION, { weight: 600 }) + 10 : 0));
  const levels = levelsOf(heads);
  const places = placesOf(words, tags, heads, labelWidths, isRightToLeft);
  const highest = Math.max(0, ...levels) + 1;
  const base = MARGIN + highest * LEVEL + 26;
  const groups = words.map((word, i) => {
    const x = places.middle[i];
    return svg(
      "g",
      {
        class: "arc",
        role: "listitem",
        tabindex: i === 0 ? 0 : -1,
        "aria-label": arcLines(record, i).join(", "),
        "data-word": i,
      },
      ...arc(i),
      svg("text", { class: "word", x, y: base + 20, "font-size": WORD }, visible(word)),
      svg("text", { class: "tag", x, y: base + 38, "font-size": TAG }, visible(tags[i] ?? "")),
    );
  });

  function arc(i) {
    const to = places.middle[i];
    const head = heads[i] - 1;
    const sure = confidences?.[i];
    const isRoot = head < 0;
    const top = base - LEVEL * (isRoot ? highest : levels[i]) - (isRoot ? 0 : 4);
    // Arcs to a word end in its middle; those from it begin a little to the side that they go to.
    const side = isRoot ? 0 : Math.sign(to - places.middle[head]);
    const from = isRoot ? to : places.middle[head] + 7 * side;
    const corner = Math.min(CORNER, Math.abs(to - from) / 2);
    const line = isRoot
      ? `M${to} ${top + 8}V${base - 1}`
      : `M${from} ${base}V${top + corner}q0 ${-corner} ${side * corner} ${-corner}` +
        `H${to - side * corner}q${side * corner} 0 ${side * corner} ${corner}V${base - 1}`;
    const middle = (from + to) / 2;
    return [
      svg("path", { class: "grip", d: line }),
      svg("path", { class: "line", d: line }),
      svg("path", { class: "head", d: `M${to - 4} ${base - 7}h8l-4 7z` }),
      labels[i]
        ? svg("rect", {
            class: sure === null || sure === undefined ? "pill" : "pill sure",
            "--share": sure ?? 0,
            x: middle - labelWidths[i] / 2,
            y: top - 9,
            width: labelWidths[i],
            height: 18,
            rx: 5,
          })
        : null,
      labels[i]
        ? svg("text", { class: "label", x: middle, y: top + 4, "font-size": RELATION }, labels[i])
        : null,
    ];
  }

  const width = places.width;
  const height = base + 38 + MARGIN;
  const element = svg(
    "svg",
    {
      class: "drawing arcs",
      viewBox: `0 0 ${width} ${height}`,
      role: "list",
      "aria-label": label,
    },
    ...groups,
  );
  return { element, width, height, isRightToLeft, leastScale: LEAST_SCALE, record, groups };
}

/** How high the arc to each word runs, from 1: above all arcs within it, and apart from others. */
export function levelsOf(heads) {
  const levels = heads.map(() => 0);
  const spans = heads
    .map((head, i) => ({ i, left: Math.min(head - 1, i), right: Math.max(head - 1, i), head }))
    .filter(({ head }) => head > 0)
    .sort((one, other) => one.right - one.left - (other.right - other.left) || one.left - other.left);
  const done = [];
  for (const { i, left, right } of spans) {
    const taken = done
      .filter((other) => other.left < right && left < other.right)
      .map((other) => levels[other.i]);
    levels[i] = Math.max(0, ...taken) + 1;
    done.push({ i, left, right });
  }
  return levels;
}

/** Positions of words, far enough apart for the labels of arcs between neighbours. */
function placesOf(words, tags, heads, labelWidths, isRightToLeft) {
  const own = words.map((word, i) =>
    Math.max(
      textWidth(visible(word), WORD, { family: "--serif" }),
      textWidth(visible(tags[i] ?? ""), TAG),
      20,
    ),
  );
  const middle = [MARGIN + Math.max(own[0], labelWidths[0]) / 2];
  for (let i = 1; i < words.length; i += 1) {
    let step = (own[i - 1] + own[i]) / 2 + GAP;
    if (heads[i] === i) step = Math.max(step, labelWidths[i] + 30);
    if (heads[i - 1] === i + 1) step = Math.max(step, labelWidths[i - 1] + 30);
    middle.push(middle[i - 1] + step);
  }
  const last = words.length - 1;
  const width = middle[last] + Math.max(own[last], labelWidths[last]) / 2 + MARGIN;
  return { middle: isRightToLeft ? middle.map((x) => width - x) : middle, width };
}
