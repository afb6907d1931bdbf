// The row of buttons below a drawing: the parse as text for other programs, and as a picture.

import { byId } from "./dom.js";
import * as formats from "./formats.js";
import { asFile, copy, download } from "./picture.js";

const MILLISECONDS = 1600; // a button says so long what it has done

export class Copies {
  #page;

  /** `page` has the `sentence`, the `drawing` that is shown, and `trouble`. */
  constructor(page) {
    this.#page = page;
    byId("copies").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) this.#act(button);
    });
  }

  async #act(button) {
    const { copy: format } = button.dataset;
    try {
      if (format === "svg") this.#save(button);
      else if (format === "link") await this.#copy(button, location.href);
      else if (this.#page.sentence?.root) await this.#copy(button, await this.#text(format));
      else flash(button, "No tree here");
    } catch (error) {
      this.#page.trouble(error, () => this.#act(button));
    }
  }

  async #copy(button, text) {
    await copy(text);
    flash(button, "Copied");
  }

  #save(button) {
    const { drawing, state } = this.#page;
    if (!drawing) return flash(button, "No picture");
    download(`${state.view}.svg`, asFile(drawing), "image/svg+xml");
    return flash(button, "Saved");
  }

  async #text(format) {
    const { sentence, dependencyModel } = this.#page;
    const { record, root, surface } = sentence;
    if (format === "brackets" || format === "json") return formats[format](record);
    if (format !== "conllu") return formats[format](root);
    const parsed = dependencyModel ? await sentence.dependencies(dependencyModel) : null;
    return formats.conllu(record, surface, parsed);
  }
}

function flash(button, text) {
  byId("done").textContent = `${button.textContent}: ${text}`;
  button.dataset.done = text;
  setTimeout(() => delete button.dataset.done, MILLISECONDS);
}
