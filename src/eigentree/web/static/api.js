// Client of the service: functions that return records or throw `ServiceError`.

const SECONDS = 90;
const BETWEEN = 500; // milliseconds between requests for the state of the service

/** An error response, or a failure to get a response, with a message for users. */
export class ServiceError extends Error {
  constructor(message, code, status = 0) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export const models = (signal) => ask("models", { signal });
export const parse = (body, signal) => work("parse", { body, signal });
export const dependencies = (body, signal) => work("dependencies", { body, signal });
export const symbols = (model, signal) =>
  work(`models/${encodeURIComponent(model)}/symbols`, { signal });
export const symbol = (model, label, signal) =>
  work(`models/${encodeURIComponent(model)}/symbols/${encodeURIComponent(label)}`, { signal });

let setReady;
const ready = new Promise((resolve) => (setReady = resolve));

/**
 * Wait until the service can parse; all requests for work wait too.
 *
 * `report` is called twice a second, with what the service is doing: `preparing`, a model as
 * `{model, number, total}`, or `compiling`, kernels as `{number, total}`.
 */
export async function untilReady(report) {
  for (;;) {
    const { status, value } = await exchange("health");
    if (status === 200) break;
    report(value);
    await new Promise((resolve) => setTimeout(resolve, BETWEEN));
  }
  setReady();
}

/** A request that needs a worker. */
async function work(path, options) {
  await ready;
  return ask(path, options);
}

/** The exception for the error of a sentence. */
export const errorOf = (error) => new ServiceError(sentenceOf(error.message), error.code);

async function ask(path, options) {
  const { status, value } = await exchange(path, options);
  if (status >= 200 && status < 300) return value;
  const error = value?.error ?? {};
  const message = sentenceOf(error.message ?? `The request failed (status ${status}).`);
  throw new ServiceError(message, error.code ?? "unknown", status);
}

/** The status and the JSON value of a response. */
async function exchange(path, { body, signal } = {}) {
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
      throw new ServiceError(`The service did not respond within ${SECONDS} seconds.`, "out_of_time");
    }
    throw new ServiceError("The service does not respond. It may have been stopped.", "unreachable");
  }
  try {
    return { status: answer.status, value: JSON.parse(text) };
  } catch {
    const message = `The service sent an unreadable response (status ${answer.status}).`;
    throw new ServiceError(message, "unreadable", answer.status);
  }
}

/** A message as a sentence, without the path in the request, which users did not write. */
function sentenceOf(message) {
  const text = String(message).replace(/^sentences\[\d+\]: /, "").trim();
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
