// A parsed sentence: its record, and details that are requested when they are needed.

import * as api from "./api.js";
import { addConfidences, readTree } from "./tree_model.js";

const BEST = 6;
const LEAST_MARGINAL = 0.002;

export class Sentence {
  #leaving = new AbortController();
  #root = null;
  #details = null;
  #dependencies = null;

  /** `surface` is the part of the text. */
  constructor(record, surface) {
    this.record = record;
    this.surface = surface;
    this.error = record.error ? api.errorOf(record.error) : null;
    /** The marginals of its spans, once requested. */
    this.marginals = [];
  }

  get words() {
    return this.record.words ?? [];
  }

  /** The tree with confidences; null for no tree. */
  get root() {
    if (!this.#root && this.record.tree) {
      this.#root = addConfidences(readTree(this.record.tree), this.record.brackets);
    }
    return this.#root;
  }

  /** The sentence with a new record; its position in the text is kept. */
  again(record) {
    this.leave();
    const { words, offsets } = this.record;
    return new Sentence({ words, ...record, offsets }, this.surface);
  }

  /** Abort pending requests. */
  leave() {
    this.#leaving.abort();
  }

  /** The record with k-best trees and marginals; `body` has the other options. */
  details(body) {
    this.#details ??= this.#only(api.parse, { ...body, best: BEST, marginals: LEAST_MARGINAL });
    this.#details.then(
      ({ marginals }) => (this.marginals = marginals),
      () => (this.#details = null),
    );
    return this.#details;
  }

  /** The dependency record; the dependency model tokenises the sentence itself. */
  dependencies(model) {
    const body = { model, sentences: [this.surface] };
    this.#dependencies ??= this.#only(api.dependencies, body);
    this.#dependencies.catch(() => (this.#dependencies = null));
    return this.#dependencies;
  }

  async #only(ask, body) {
    const { results } = await ask(body, this.#leaving.signal);
    if (results[0].error) throw api.errorOf(results[0].error);
    return results[0];
  }
}

/** The confidences of a record, calibrated if available. */
export const confidencesOf = (record) => ({
  confidence: record.calibrated?.confidence ?? record.confidence ?? null,
  exact: record.calibrated?.exact ?? record.exact ?? null,
  isCalibrated: Boolean(record.calibrated),
});
