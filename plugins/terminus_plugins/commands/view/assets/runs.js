// Many runs: a table to pick from, and two of them side by side.

const COLUMNS = [
  ["run", (run) => run.name, (run) => run.name],
  ["status", (run) => run.status, (run) => badge(run.status)],
  ["episodes", (run) => run.totals.episodes, (run) => showNumber(run.totals.episodes)],
  ["tokens in", (run) => run.totals.prompt, (run) => showNumber(run.totals.prompt)],
  ["tokens out", (run) => run.totals.completion, (run) => showNumber(run.totals.completion)],
  ["cost", (run) => run.totals.cost, (run) => showCost(run.totals.cost)],
  ["time", (run) => duration(run), (run) => showSeconds(duration(run))],
  ["begun", (run) => run.started, (run) => showTime(run.started)],
  ["model", (run) => run.model, (run) => run.model],
];

const COUNTED = ["episodes", "tokens in", "tokens out", "cost", "time"];

class RunsTable {
  constructor(onOpen, onCompare) {
    this.onOpen = onOpen;
    this.onCompare = onCompare;
    this.picked = [];
    this.sortedBy = 7;
    this.direction = -1;
    this.query = "";
    this.body = el("tbody");
    this.headings = COLUMNS.map(([name], i) => el("th", { scope: "col", class: COUNTED.includes(name) ? "right" : null }, el("button", { onclick: () => this.sort(i) }, name)));
    this.compare = el("button", { class: "primary", disabled: true, onclick: () => this.onCompare(...this.picked) }, "compare two");
    this.search = el("input", { type: "search", placeholder: "Find runs  ( / )", "aria-label": "Find runs", oninput: () => {
      this.query = this.search.value.trim().toLowerCase();
      this.draw();
    } });
    this.element = el("article", { class: "runs" },
      el("header", { class: "run-head" }, el("h1", {}, index.title), el("p", { class: "facts" }, count(index.runs.length, "run"))),
      el("div", { class: "tools" }, this.search, this.compare),
      el("div", { class: "table" }, el("table", {}, el("thead", {}, el("tr", {}, el("th"), ...this.headings)), this.body)));
    this.draw();
  }

  sort(column) {
    this.direction = column === this.sortedBy ? -this.direction : 1;
    this.sortedBy = column;
    this.draw();
  }

  draw() {
    const value = COLUMNS[this.sortedBy][1];
    const fits = (run) => `${run.name} ${run.task} ${run.status} ${run.reason} ${run.model}`.toLowerCase().includes(this.query);
    const runs = index.runs.filter(fits).sort((one, other) => {
      const [a, b] = [value(one), value(other)];
      if (!known(a) || !known(b)) return Number(known(b)) - Number(known(a));
      return (a < b ? -1 : a > b ? 1 : 0) * this.direction;
    });
    this.headings.forEach((heading, i) =>
      heading.setAttribute("aria-sort", i !== this.sortedBy ? "none" : this.direction > 0 ? "ascending" : "descending"));
    this.body.replaceChildren(...runs.map((run) => this.row(run)));
  }

  row(run) {
    const canOpen = new RunSource(run.key).hasData;
    const box = el("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, disabled: !canOpen, checked: this.picked.includes(run.key),
      onchange: (event) => this.pick(run.key, event.target.checked) });
    const cells = COLUMNS.map(([name, , show], i) => {
      if (i === 0) return el("th", { scope: "row" }, canOpen
        ? el("button", { class: "ref", onclick: () => this.onOpen(run.key) }, run.name)
        : el("span", { title: "too large for one file: open it with terminus view --serve" }, `${run.name} (only with --serve)`),
      run.task ? el("span", { class: "task" }, firstLine(run.task)) : null,
      run.reason ? el("span", { class: "reason" }, firstLine(run.reason)) : null);
      return el("td", { class: COUNTED.includes(name) ? "right" : null }, show(run));
    });
    return el("tr", { "data-key": run.key }, el("td", {}, box), ...cells);
  }

  pick(key, isPicked) {
    this.picked = this.picked.filter((each) => each !== key);
    if (isPicked) this.picked = [...this.picked, key].slice(-2);
    this.compare.disabled = this.picked.length !== 2;
    this.draw();
  }
}

class Comparison {
  constructor(keys) {
    this.views = keys.map((key) => new RunView(new RunSource(key)));
    this.strip = el("table", { class: "strip" });
    this.element = el("article", { class: "comparison" }, this.strip, el("div", { class: "pair" }, ...this.views.map((view) => view.element)));
  }

  get active() {
    return this.views.find((view) => view.element.contains(document.activeElement)) || this.views[0];
  }

  async load() {
    await Promise.all(this.views.map((view) => view.load()));
    const runs = this.views.map((view) => view.run);
    const columns = COLUMNS.slice(1);
    const change = ([name, value]) => {
      const [a, b] = runs.map(value);
      const isNumber = typeof a === "number" && typeof b === "number" && name !== "begun" && a > 0;
      return el("td", {}, isNumber && a !== b ? `${b > a ? "+" : "−"}${Math.abs(((b - a) / a) * 100).toFixed(0)} %` : "");
    };
    this.strip.replaceChildren(
      el("thead", {}, el("tr", {}, el("th"), ...columns.map(([name]) => el("th", { scope: "col" }, name)))),
      el("tbody", {},
        ...runs.map((run) => el("tr", {}, el("th", { scope: "row" }, run.name), ...columns.map(([, , show]) => el("td", {}, show(run))))),
        el("tr", { class: "change" }, el("th", { scope: "row" }, "difference"), ...columns.map(change))));
  }

  dispose() {
    this.views.forEach((view) => view.dispose());
  }
}
