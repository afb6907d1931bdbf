// A drawing in a frame that scrolls: zoom by wheel, pinch, buttons and keys; pan by dragging.
//
// Panning is the browser's own scrolling, so bars, fingers, keys and focus move the drawing as they
// move anything else; zooming changes the size of the drawing.

const MIN_SCALE = 0.1;
const MAX_SCALE = 4;
const STEP = 1.25;
// The initial scale is at most LARGE, and at least LEGIBLE or the `leastScale` of a drawing; larger
// drawings scroll.
const LARGE = 1.2;
export const LEGIBLE = 0.55;

export class Viewport {
  #frame;
  #drawing = null;
  #scale = 1;

  constructor(frame) {
    this.#frame = frame;
    frame.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    frame.addEventListener("pointerdown", (event) => this.#pointerDown(event));
    this.#watchPinch();
  }

  /**
   * Show a drawing, `{element, width, height}`, instead of another.
   *
   * With `isRightToLeft` it starts at the right, with `beginsBelow` at the bottom; with `isLong` only
   * its width is fitted.
   *
   * `keep` leaves the scale and the place as they are; `anchor`, of the drawing before and after,
   * stays where it is on the screen.
   */
  show(drawing, { keep = false, anchor = null } = {}) {
    const frame = this.#frame;
    const before = { left: frame.scrollLeft, top: frame.scrollTop };
    this.#drawing = drawing;
    frame.replaceChildren(drawing.element);
    if (!keep) this.#scale = Math.max(drawing.leastScale ?? LEGIBLE, this.#fitting());
    this.#resize();
    if (!keep) {
      frame.scrollTop = drawing.beginsBelow ? frame.scrollHeight : 0;
      frame.scrollLeft = drawing.isRightToLeft ? frame.scrollWidth : 0;
    } else {
      frame.scrollLeft = before.left + (anchor ? (anchor.to.x - anchor.from.x) * this.#scale : 0);
      frame.scrollTop = before.top + (anchor ? (anchor.to.y - anchor.from.y) * this.#scale : 0);
    }
  }

  clear() {
    this.#drawing = null;
    this.#frame.replaceChildren();
  }

  zoomIn = () => this.#zoomTo(this.#scale * STEP);
  zoomOut = () => this.#zoomTo(this.#scale / STEP);
  fit = () => this.#zoomTo(this.#fitting());

  get scale() {
    return this.#scale;
  }

  #fitting() {
    const { width, height, isLong } = this.#drawing;
    const frame = this.#frame;
    if (isLong) return Math.min(1, frame.clientWidth / width);
    const room = parseFloat(getComputedStyle(frame).maxHeight) || window.innerHeight;
    return Math.min(LARGE, frame.clientWidth / width, room / height);
  }

  /** Zoom around a point of the frame; around its middle by default. */
  #zoomTo(scale, point = null) {
    if (!this.#drawing) return;
    const frame = this.#frame;
    const { x, y } = point ?? { x: frame.clientWidth / 2, y: frame.clientHeight / 2 };
    const bounded = Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale));
    const ratio = bounded / this.#scale;
    const left = (frame.scrollLeft + x) * ratio - x;
    const top = (frame.scrollTop + y) * ratio - y;
    this.#scale = bounded;
    this.#resize();
    frame.scrollLeft = left;
    frame.scrollTop = top;
  }

  #resize() {
    const { element, width, height } = this.#drawing;
    element.setAttribute("width", width * this.#scale);
    element.setAttribute("height", height * this.#scale);
  }

  #pointOf(event) {
    const box = this.#frame.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  #wheel(event) {
    // Browsers report a pinch on a touchpad as a wheel event with this key.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const factor = Math.exp(-event.deltaY * lines * (Math.abs(event.deltaY) < 20 ? 0.01 : 0.002));
    this.#zoomTo(this.#scale * factor, this.#pointOf(event));
  }

  #pointerDown(event) {
    const isBackground = event.target === this.#frame || event.target === this.#drawing?.element;
    if (event.pointerType !== "mouse" || event.button !== 0 || !isBackground) return;
    const frame = this.#frame;
    const from = { x: event.clientX + frame.scrollLeft, y: event.clientY + frame.scrollTop };
    const move = (moved) => {
      frame.classList.add("dragged");
      frame.scrollLeft = from.x - moved.clientX;
      frame.scrollTop = from.y - moved.clientY;
    };
    const end = () => {
      frame.classList.remove("dragged");
      window.removeEventListener("pointermove", move);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end, { once: true });
    window.addEventListener("pointercancel", end, { once: true });
  }

  #watchPinch() {
    const frame = this.#frame;
    let start = null;
    const fingers = (event) => {
      const [one, other] = event.touches;
      return {
        distance: Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY),
        middle: this.#pointOf({
          clientX: (one.clientX + other.clientX) / 2,
          clientY: (one.clientY + other.clientY) / 2,
        }),
      };
    };
    frame.addEventListener("touchstart", (event) => {
      start = event.touches.length === 2 ? { ...fingers(event), scale: this.#scale } : null;
    });
    frame.addEventListener(
      "touchmove",
      (event) => {
        if (!start || event.touches.length !== 2) return;
        event.preventDefault();
        const { distance, middle } = fingers(event);
        this.#zoomTo((start.scale * distance) / start.distance, middle);
      },
      { passive: false },
    );
    frame.addEventListener("touchend", () => (start = null));
  }
}
