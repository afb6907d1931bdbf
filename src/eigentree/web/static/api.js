// The service, as functions that give records or throw `Trouble`.

const SECONDS = 90;

/** What is told to people when an answer doesn't come, or says no. */
export class Trouble extends Error {
  constructor(message, code, status = 0) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export const models = (signal) => ask("models", { signal });
export const parse = (body, signal) => ask("parse", { body, signal });
export const dependencies = (body, signal) => ask("dependencies", { body, signal });
export const symbols = (model, signal) =>
  ask(`models/${encodeURIComponent(model)}/symbols`, { signal });
export const symbol = (model, label, signal) =>
  ask(`models/${encodeURIComponent(model)}/symbols/${encodeURIComponent(label)}`, { signal });

/** The trouble that a sentence's error tells of. */
export const troubleOf = (error) => new Trouble(sentenceOf(error.message), error.code);

async function ask(path, { body, signal }) {
  const limit = AbortSignal.timeout(1000 * SECONDS);
  const request = { signal: signal ? AbortSignal.any([signal, limit]) : limit };
  if (body !== undefined) {
    request.method = "POST";
    request.headers = { "Content-Type": "application/json" };
    request.body = JSON.stringify(body);
  }
  let answer, text;
  try {
    answer = await fetch(`api/${path}`, request);
    text = await answer.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    if (limit.aborted) {
      throw new Trouble(`There was no answer within ${SECONDS} seconds.`, "out_of_time");
    }
    throw new Trouble("The service does not answer. Perhaps it was stopped.", "unreachable");
  }
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    const message = `The service gave an answer that can't be read (status ${answer.status}).`;
    throw new Trouble(message, "unreadable", answer.status);
  }
  if (answer.ok) return value;
  const error = value?.error ?? {};
  const message = sentenceOf(error.message ?? `The service said no (status ${answer.status}).`);
  throw new Trouble(message, error.code ?? "unknown", answer.status);
}

/** A message as a sentence of its own, without the place in a request that nobody here wrote. */
function sentenceOf(message) {
  const text = String(message).replace(/^sentences\[\d+\]: /, "").trim();
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
