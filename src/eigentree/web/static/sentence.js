// A sentence that was parsed: its record, and what else is asked of the service when it is wanted.

import * as api from "./api.js";
import { judge, readTree } from "./trees.js";

const BEST = 6;
const LEAST_MARGINAL = 0.002;

export class Sentence {
  #leaving = new AbortController();
  #root = null;
  #details = null;
  #dependencies = null;

  /** `surface` is the sentence as it stands in the text. */
  constructor(record, surface) {
    this.record = record;
    this.surface = surface;
    this.error = record.error ? api.troubleOf(record.error) : null;
    /** The marginals of its spans, once they have been asked for. */
    this.marginals = [];
  }

  get words() {
    return this.record.words ?? [];
  }

  /** The tree, its phrases judged; null for no tree. */
  get root() {
    if (!this.#root && this.record.tree) {
      this.#root = judge(readTree(this.record.tree), this.record.brackets);
    }
    return this.#root;
  }

  /** The same sentence after it has been parsed again: its place in the text stays. */
  again(record) {
    this.leave();
    const { words, offsets } = this.record;
    return new Sentence({ words, ...record, offsets }, this.surface);
  }

  /** Nobody wants answers about it any more. */
  leave() {
    this.#leaving.abort();
  }

  /** The record with the best trees and the marginals; `body` says how else it is parsed. */
  details(body) {
    this.#details ??= this.#only(api.parse, { ...body, best: BEST, marginals: LEAST_MARGINAL });
    this.#details.then(
      ({ marginals }) => (this.marginals = marginals),
      () => (this.#details = null),
    );
    return this.#details;
  }

  /** The record of its dependencies: their model has its own way to split it into words. */
  dependencies(model) {
    const body = { model, sentences: [this.surface] };
    this.#dependencies ??= this.#only(api.dependencies, body);
    this.#dependencies.catch(() => (this.#dependencies = null));
    return this.#dependencies;
  }

  async #only(ask, body) {
    const { results } = await ask(body, this.#leaving.signal);
    if (results[0].error) throw api.troubleOf(results[0].error);
    return results[0];
  }
}

/** How sure a record is: calibrated where that is known. */
export const sureOf = (record) => ({
  confidence: record.calibrated?.confidence ?? record.confidence ?? null,
  exact: record.calibrated?.exact ?? record.exact ?? null,
  isCalibrated: Boolean(record.calibrated),
});
