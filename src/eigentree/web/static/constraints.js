// Constraints on the tree of a sentence: rows as the service accepts them, and descriptions.

const KINDS = ["required", "forbidden", "tags"];

/** Rows with one more, which replaces those that it contradicts. */
export function withConstraint(rows, kind, row) {
  const made = { required: [], forbidden: [], tags: [], ...rows };
  const others = Object.fromEntries(
    KINDS.map((each) => [each, made[each].filter((old) => !contradicts(each, old, kind, row))]),
  );
  others[kind] = [...others[kind], row];
  return others;
}

export function without(rows, kind, row) {
  const rest = { ...rows, [kind]: rows[kind].filter((old) => !isSame(old, row)) };
  return count(rest) ? rest : null;
}

export const count = (rows) => KINDS.reduce((sum, kind) => sum + (rows?.[kind]?.length ?? 0), 0);

/** The number of words that a sentence must have for these rows. */
export const reach = (rows) =>
  Math.max(0, ...listed(rows).map(({ kind, row }) => (kind === "tags" ? row[0] + 1 : row[1])));

/** Whether a constraint is on a span, or on the tag of its word. */
export const isAt = ({ kind, row }, start, end, isWord) =>
  row[0] === start && (kind === "tags" ? isWord : row[1] === end);

/** Whether a constraint equals one reported by the service, as `{kind, start, end, label}`. */
export const isOf = ({ kind, row }, reported) =>
  kind === "tags"
    ? reported.kind === "tag" && reported.start === row[0]
    : reported.kind === kind &&
      reported.start === row[0] &&
      reported.end === row[1] &&
      (reported.label ?? null) === (row[2] ?? null);

/** Each constraint as `{kind, row}`. */
export const listed = (rows) =>
  KINDS.flatMap((kind) => (rows?.[kind] ?? []).map((row) => ({ kind, row })));

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

function contradicts(kind, old, newKind, row) {
  if (kind === "tags" || newKind === "tags") return kind === newKind && old[0] === row[0];
  if (old[0] !== row[0] || old[1] !== row[1]) return false;
  if (kind === newKind) return isSame(old, row);
  const [required, forbidden] = kind === "required" ? [old, row] : [row, old];
  return forbidden[2] === undefined || forbidden[2] === required[2];
}

/** Describe a constraint on a sentence with these words. */
export function describe({ kind, row }, words) {
  if (kind === "tags") return `${words[row[0]]} is ${row[1]}`;
  const what = row[2] ?? (kind === "required" ? "a phrase" : "any phrase");
  return `${kind === "required" ? "" : "not "}${what}: ${quoted(words, row[0], row[1])}`;
}

/** Words of a span in quotes, those in the middle left out when they are many. */
export function quoted(words, start, end) {
  const span = words.slice(start, end);
  const some = span.length > 7 ? [...span.slice(0, 3), "…", ...span.slice(-3)] : span;
  return `“${some.join(" ")}”`;
}

/** The service's description of a conflict, with words instead of positions. */
export function conflictInWords(conflict, words) {
  return conflict.replace(/(\S+) (\S+) over (\d+)-(\d+)/g, (_, kind, label, start, end) => {
    const what = label === "span" && kind !== "tag" ? "phrase" : label;
    const article = { required: what === "phrase" ? "a " : "", forbidden: "no " }[kind] ?? "the tag ";
    return `${article}${what} over ${quoted(words, Number(start), Number(end))}`;
  });
}
