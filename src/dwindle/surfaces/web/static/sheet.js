// A sheet of paper under a window: dragged, pinched, zoomed, and made to fit. What is too large to be
// read as a whole is shown in a size that can be read, around the place that matters most.

const SMALLEST = 0.03;
const LARGEST = 2.5;
const FAR = 0.4;
const READABLE = 0.7;

export class Sheet {
  constructor(window_, paper) {
    this.window = window_;
    this.paper = paper;
    this.x = this.y = 0;
    this.scale = 1;
    this.size = { width: 1, height: 1 };
    this.touched = false;
    this.fingers = new Map();
    window_.addEventListener("pointerdown", (event) => this.#down(event));
    window_.addEventListener("pointermove", (event) => this.#move(event));
    for (const kind of ["pointerup", "pointercancel"]) window_.addEventListener(kind, (event) => this.#up(event));
    window_.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    window_.addEventListener("dblclick", (event) => { if (!event.target.closest(".box")) this.zoom(1.6, event); });
    new ResizeObserver(() => { if (!this.touched) this.home(); }).observe(window_);
  }

  #place(glide) {
    this.paper.classList.toggle("gliding", Boolean(glide));
    this.paper.classList.toggle("far", this.scale < FAR);
    this.paper.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
  }

  resize(size, focus = null) {
    this.size = size;
    this.focus = focus;
    this.paper.style.width = `${size.width}px`;
    this.paper.style.height = `${size.height}px`;
    if (!this.touched) this.home();
  }

  // As it is shown until a person moves it.
  home() {
    this.fit(false);
    if (this.scale >= READABLE) return;
    const { clientWidth: wide, clientHeight: high } = this.window;
    if (!wide || !high) return;
    const at = this.focus ?? { x: 0, y: 0, width: 0, height: 0 };
    const placed = (room, length, middle) => length <= room ? (room - length) / 2 : Math.min(0, Math.max(room - length, room / 2 - middle));
    this.scale = READABLE;
    this.x = placed(wide, this.size.width * READABLE, (at.x + at.width / 2) * READABLE);
    this.y = placed(high, this.size.height * READABLE, (at.y + at.height / 2) * READABLE);
    this.#place(false);
  }

  fit(glide = true) {
    const { clientWidth: wide, clientHeight: high } = this.window;
    if (!wide || !high) return;
    this.touched = false;
    this.scale = Math.max(SMALLEST, Math.min(1.2, wide / this.size.width, high / this.size.height));
    this.x = (wide - this.size.width * this.scale) / 2;
    this.y = (high - this.size.height * this.scale) / 2;
    this.#place(glide);
  }

  zoom(by, at = null) {
    const frame = this.window.getBoundingClientRect();
    const cx = at ? at.clientX - frame.left : frame.width / 2;
    const cy = at ? at.clientY - frame.top : frame.height / 2;
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * by));
    this.x = cx - ((cx - this.x) * scale) / this.scale;
    this.y = cy - ((cy - this.y) * scale) / this.scale;
    this.scale = scale;
    this.touched = true;
    this.#place(!at);
  }

  // Brings a box into the window, near enough to be read.
  show(box) {
    const frame = this.window.getBoundingClientRect();
    const scale = Math.max(this.scale, FAR + 0.1);
    const left = this.x + box.x * this.scale, top = this.y + box.y * this.scale;
    const inside = left > 10 && top > 10 && left + box.width * this.scale < frame.width - 10 && top + box.height * this.scale < frame.height - 10;
    if (inside && scale === this.scale) return;
    this.scale = scale;
    this.x = frame.width / 2 - (box.x + box.width / 2) * scale;
    this.y = frame.height / 2 - (box.y + box.height / 2) * scale;
    this.touched = true;
    this.#place(true);
  }

  #down(event) {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    this.fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.moved = 0;
    this.paper.classList.remove("gliding");
  }

  #move(event) {
    const from = this.fingers.get(event.pointerId);
    if (!from) return;
    const dx = event.clientX - from.x, dy = event.clientY - from.y;
    this.moved += Math.abs(dx) + Math.abs(dy);
    if (this.moved > 4 && !this.window.hasPointerCapture(event.pointerId)) {
      this.window.setPointerCapture(event.pointerId);
      this.window.classList.add("held");
    }
    if (this.moved <= 4) return;
    if (this.fingers.size === 2) {
      const other = [...this.fingers].find(([id]) => id !== event.pointerId)[1];
      const before = Math.hypot(from.x - other.x, from.y - other.y) || 1;
      const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
      this.zoom(after / before, { clientX: (event.clientX + other.x) / 2, clientY: (event.clientY + other.y) / 2 });
    } else {
      this.x += dx;
      this.y += dy;
      this.touched = true;
      this.#place(false);
    }
    this.fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  #up(event) {
    this.fingers.delete(event.pointerId);
    this.window.classList.remove("held");
  }

  // Scrolling scrolls the page, as everywhere; with Ctrl, and by pinching, it zooms.
  #wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY / 300), event);
  }
}
