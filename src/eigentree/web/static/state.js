// The state that links keep, in the part of the address after "#", which is not sent to servers.

export const VIEWS = ["tree", "alternatives", "chart", "dependencies"];
const LAYOUTS = ["top", "outline"];

/**
 * The state of a link.
 *
 * `constraints` maps the number of a sentence, from 0, to an object with the keys `required`,
 * `forbidden` and `tags`, as the service accepts it. Invalid values in a link are ignored.
 */
export function readState(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const number = Number(given.get("sentence"));
  return {
    page: given.get("page") === "grammar" ? "grammar" : "parse",
    text: given.get("text") ?? "",
    view: oneOf(VIEWS, given.get("view")) ?? "tree",
    layout: oneOf(LAYOUTS, given.get("layout")),
    sentence: Number.isInteger(number) && number > 0 ? number - 1 : 0,
    model: given.get("model"),
    soft: given.get("soft") === "1",
    constraints: readConstraints(given.get("constraints")),
    symbol: given.get("symbol"),
  };
}

/** The inverse of `readState`; defaults are omitted. */
export function writeState(state) {
  const parameters = new URLSearchParams();
  if (state.page !== "parse") parameters.set("page", state.page);
  if (state.model) parameters.set("model", state.model);
  if (state.symbol && state.page === "grammar") parameters.set("symbol", state.symbol);
  if (state.view !== "tree") parameters.set("view", state.view);
  if (state.layout) parameters.set("layout", state.layout);
  if (state.sentence > 0) parameters.set("sentence", state.sentence + 1);
  if (state.constraints.size) {
    parameters.set("constraints", JSON.stringify(Object.fromEntries(state.constraints)));
  }
  if (state.soft) parameters.set("soft", "1");
  if (state.text) parameters.set("text", state.text);
  const hash = parameters.toString();
  return hash ? `#${hash}` : "";
}

const oneOf = (known, value) => (known.includes(value) ? value : null);

function readConstraints(text) {
  const found = new Map();
  let value;
  try {
    value = JSON.parse(text ?? "{}");
  } catch {
    return found;
  }
  for (const [key, given] of Object.entries(value ?? {})) {
    const number = Number(key);
    if (!Number.isInteger(number) || number < 0 || !given) continue;
    const rows = {
      required: rowsOf(given.required, isSpan),
      forbidden: rowsOf(given.forbidden, isSpan),
      tags: rowsOf(given.tags, isTag),
    };
    if (Object.values(rows).some((some) => some.length)) found.set(number, rows);
  }
  return found;
}

const rowsOf = (rows, isGood) => (Array.isArray(rows) ? rows.filter(isGood) : []);

const isPosition = (value) => Number.isInteger(value) && value >= 0;
const isLabel = (value) => typeof value === "string" && value !== "";

const isSpan = (row) =>
  Array.isArray(row) &&
  isPosition(row[0]) &&
  isPosition(row[1]) &&
  row[0] < row[1] &&
  (row.length === 2 || (row.length === 3 && isLabel(row[2])));

const isTag = (row) =>
  Array.isArray(row) && row.length === 2 && isPosition(row[0]) && isLabel(row[1]);
