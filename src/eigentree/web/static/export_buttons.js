// The buttons below a drawing: copy the parse as text, or save it as a picture.

import { byId } from "./dom.js";
import * as formats from "./formats.js";
import { asFile, copy, download } from "./export.js";

const MILLISECONDS = 1600; // how long a button shows its result

export class ExportButtons {
  #page;

  /** `page` has the `sentence`, the current `drawing`, and `showError`. */
  constructor(page) {
    this.#page = page;
    byId("export").addEventListener("click", (event) => {
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
      else flash(button, "No tree");
    } catch (error) {
      this.#page.showError(error, () => this.#act(button));
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
