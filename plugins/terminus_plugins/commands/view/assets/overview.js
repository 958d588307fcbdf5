// Time and cost of every step at one look; a click goes there.

const SVG = "http://www.w3.org/2000/svg";

function svg(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

class Overview {
  constructor(onPick) {
    this.onPick = onPick;
    this.steps = [];
    this.element = el("div", { class: "overview", title: "Time (up) and cost or tokens (down) of each step" });
    this.element.addEventListener("click", (event) => this.pick(event));
  }

  show(steps) {
    this.steps = steps;
    const weights = steps.map((step) => (known(step.cost) ? step.cost : null));
    const hasCost = weights.some((weight) => weight);
    const second = hasCost ? weights : steps.map((step) => (step.prompt || 0) + (step.completion || 0));
    const drawing = svg("svg", { viewBox: `0 0 ${Math.max(steps.length, 1)} 60`, preserveAspectRatio: "none", "aria-hidden": "true" });
    drawing.append(
      svg("path", { class: "time", d: bars(steps.map((step) => step.seconds), 34, -1) }),
      svg("path", { class: "cost", d: bars(second, 36, 1) }),
    );
    steps.forEach((step, i) => {
      const worst = worstFlag(step);
      if (worst) drawing.append(svg("rect", { class: worst, x: i + 0.05, y: 0, width: 0.9, height: 4 }));
    });
    drawing.style.maxWidth = `${Math.max(steps.length, 1) * 32}px`; // a few steps are no wall
    this.cursor = svg("rect", { class: "cursor", y: 0, height: 60, width: 1, x: -2 });
    drawing.prepend(this.cursor);
    this.element.replaceChildren(
      el("span", { class: "legend" }, el("i", { class: "time" }), "time", el("i", { class: "cost" }), hasCost ? "cost" : "tokens", " per step"),
      drawing,
    );
    this.drawing = drawing;
  }

  mark(step) {
    if (this.cursor) this.cursor.setAttribute("x", String(this.steps.indexOf(step)));
  }

  pick(event) {
    if (!this.drawing || !this.steps.length) return;
    const box = this.drawing.getBoundingClientRect();
    const i = Math.floor(((event.clientX - box.left) / box.width) * this.steps.length);
    if (i >= 0 && i < this.steps.length) this.onPick(this.steps[i]);
  }
}

/** One path of bars, up (-1) or down (1) from `base`; the root keeps small ones visible beside large ones. */
function bars(values, base, direction) {
  const most = Math.max(...values.map((value) => value || 0), 1e-9);
  const room = direction < 0 ? 28 : 22;
  return values
    .map((value, i) => (value ? `M${i + 0.1} ${base}v${(direction * Math.max(1, room * Math.sqrt(value / most))).toFixed(2)}h0.8V${base}z` : ""))
    .join("");
}

function worstFlag(step) {
  if (step.flags.some((flag) => flag.kind === "error")) return "error";
  return step.flags.length ? "warning" : "";
}
