// One run: how it ended, its steps, its terminal.

const STATUSES = {
  completed: "completed", running: "running", error: "failed", killed: "killed", cancelled: "cancelled",
  session_ended: "terminal ended", limit_reached: "limit reached", max_episodes: "episodes used up", unknown: "no status",
};

const FILTERS = {
  all: ["all", () => true],
  agent: ["agent", (step) => step.source === "agent"],
  commands: ["commands", (step) => step.calls.length > 0],
  problems: ["problems", (step) => step.flags.length > 0],
  prompts: ["prompts", (step) => step.source !== "agent"],
};

function badge(status) {
  return el("span", { class: `badge ${status}` }, STATUSES[status] || status);
}

function duration(run) {
  return known(run.started) && known(run.ended) ? run.ended - run.started : null;
}

class RunView {
  /** @param onMove called with document and step number when another step is chosen. */
  constructor(source, onMove) {
    this.source = source;
    this.onMove = onMove || (() => {});
    this.query = "";
    this.filter = "all";
    this.chosen = null;
    this.rows = [];
    this.terminal = new Terminal(source, (seconds) => this.follow(seconds));
    this.overview = new Overview((step) => this.choose(step));
    this.heading = el("header", { class: "run-head" });
    this.list = el("ol", { class: "steps", "aria-label": "Steps" });
    this.tools = el("div", { class: "tools" });
    this.path = el("nav", { class: "path", "aria-label": "Documents" });
    this.element = el("article", { class: "run" }, this.heading, this.overview.element,
      el("div", { class: "columns" }, el("section", { class: "left" }, this.path, this.tools, this.list), this.terminal.element));
    this.buildTools();
  }

  dispose() {
    this.terminal.dispose();
  }

  async load(documentName, number) {
    this.run = await this.source.load();
    this.drawHeading();
    this.openDocument(this.run.documents[documentName] ? documentName : this.run.failure ? this.lastDocument() : this.run.main, number);
    await this.terminal.load(this.run, this.isLive);
    await this.terminal.showStep(this.chosen, this.query, this.isLive);
  }

  /** Take what is new of a run that goes on; what is being read stays as it is. */
  async refresh() {
    const run = await this.source.load();
    if (run === null) return;
    const grown = run.recording && (!this.run.recording || run.recording.size !== this.run.recording.size);
    const wasLive = this.isLive;
    this.run = run;
    this.drawHeading();
    const last = this.lastDocument();
    const document = run.documents[this.name];
    if (!document || (wasLive && this.name !== last)) this.openDocument(last);
    else this.extend(document);
    if (wasLive && this.steps.length) this.choose(this.steps[this.steps.length - 1]);
    if (grown) await this.terminal.load(run, this.isLive);
  }

  /** Whether what is shown is what happens now: the newest step of a run that goes on. */
  get isLive() {
    const isNewest = this.chosen === null || this.chosen === this.steps[this.steps.length - 1];
    return this.run.status === "running" && isNewest && (!this.name || this.name === this.lastDocument());
  }

  get steps() {
    return this.document ? this.document.steps : [];
  }

  // -- head --------------------------------------------------------------------------------------------------

  drawHeading() {
    const { run } = this;
    const fact = (name, value, title) => el("span", { class: "fact", title }, el("b", {}, value), ` ${name}`);
    const { totals } = run;
    this.heading.replaceChildren(
      el("div", { class: "title-line" }, badge(run.status), el("h1", { title: run.path }, run.name),
        run.reason && !run.failure ? el("span", { class: "reason" }, run.reason) : null),
      ...(run.task ? [el("p", { class: "task" }, run.task)] : []),
      el("p", { class: "facts" },
        fact("episodes", showNumber(totals.episodes)), fact("tokens in", showNumber(totals.prompt)), fact("out", showNumber(totals.completion)),
        totals.cached ? fact("cached", showNumber(totals.cached)) : null,
        fact("cost", showCost(totals.cost)), fact("time", showSeconds(duration(run))),
        known(run.started) ? fact("", showTime(run.started), new Date(run.started * 1000).toISOString()) : null,
        el("span", { class: "fact" }, [run.agent, run.model].filter(Boolean).join(" · ")),
      ),
      ...(run.failure ? [this.failure()] : []),
      ...run.problems.map((problem) => el("p", { class: "problem" }, problem)),
    );
  }

  /** What failed, when, at what cost, after which command. */
  failure() {
    const { failure, totals } = this.run;
    const after = known(failure.last_step) ? [" after ", this.stepLink(failure.last_step)] : [" before its first step"];
    const spent = [showSeconds(duration(this.run)), count(totals.episodes || 0, "episode"),
      known(totals.prompt) ? `${showNumber((totals.prompt || 0) + (totals.completion || 0))} tokens` : null,
      known(totals.cost) ? showCost(totals.cost) : "an unknown price"].filter(Boolean);
    return el("div", { class: "failure", role: "alert" },
      el("p", {}, el("strong", {}, `This run ${failure.what}`), failure.reason ? el("span", { class: "why" }, `: ${plain(failure.reason)}`) : null),
      el("p", {}, known(this.run.ended) ? `At ${showTime(this.run.ended)}` : "At an unknown time", ...after, `. By then it had taken ${spent.join(", ")}.`),
      failure.command !== null
        ? el("p", {}, "Last command (", this.stepLink(failure.command_step), "): ", el("code", {}, firstLine(showKeys(failure.command))))
        : el("p", {}, "No command had been typed."));
  }

  stepLink(n) {
    return el("button", { class: "ref", onclick: () => { this.openDocument(this.lastDocument(), n); } }, `step ${n}`);
  }

  /** The last document of the run's own chain. */
  lastDocument() {
    let name = this.run.main;
    const seen = new Set();
    while (name && this.run.documents[name].next && !seen.has(name)) {
      seen.add(name);
      name = this.run.documents[name].next;
    }
    return name;
  }

  // -- documents ---------------------------------------------------------------------------------------------

  openDocument(name, number) {
    if (name === null || !this.run.documents[name]) {
      this.list.replaceChildren(el("li", { class: "empty" }, "Nothing has been recorded yet."));
      return;
    }
    this.name = name;
    this.document = this.run.documents[name];
    this.rows = this.steps.map((step) => new StepRow(step, this));
    this.chosen = null;
    this.lit = null;
    this.drawSteps();
    const isAtEnd = !number && (this.run.status === "running" || this.run.failure) && name === this.lastDocument();
    const wanted = this.steps.find((step) => step.n === number) || this.steps[isAtEnd ? this.steps.length - 1 : 0];
    if (wanted) this.choose(wanted);
  }

  /** Add the steps that are new in a document; recorded ones do not change, but for their place in the recording. */
  extend(document) {
    const { steps } = this;
    steps.forEach((step, i) => { step.at = document.steps[i].at; });
    const added = document.steps.slice(steps.length);
    this.document = { ...document, steps: [...steps, ...added] };
    this.rows.push(...added.map((step) => new StepRow(step, this)));
    this.drawSteps();
    this.overview.mark(this.chosen);
  }

  drawSteps() {
    for (const [kind, key] of [["time", "seconds"], ["cost", "cost"]]) {
      const most = Math.max(...this.steps.map((step) => step[key] || 0), 1e-9);
      this.list.style.setProperty(`--most-${kind}`, String(Math.sqrt(most)));
    }
    this.overview.show(this.steps);
    this.drawPath();
    this.apply();
  }

  drawPath() {
    const { documents, main } = this.run;
    const names = Object.keys(documents);
    const before = names.find((name) => documents[name].next === this.name);
    const parent = names.find((name) => documents[name].steps.some((step) => step.results.some((result) => result.refs.some((ref) => ref.doc === this.name))));
    const link = (name, words) => el("button", { class: "ref", onclick: () => this.openDocument(name) }, words);
    this.path.replaceChildren(...[
      names.length > 1 ? el("span", { class: "document" }, this.name) : null,
      this.name !== main ? link(main, "first document") : null,
      before && before !== main ? link(before, `continues ${before}`) : null,
      parent && parent !== main ? link(parent, `called in ${parent}`) : null,
      this.document.next ? link(this.document.next, `goes on in ${this.document.next}`) : null,
      this.document.next === null ? el("span", { class: "flag note" }, `goes on in ${this.document.next_name} (not found)`) : null,
      this.document.notes ? el("span", { class: "notes" }, this.document.notes) : null,
    ].filter(Boolean));
  }

  // -- which steps are shown ---------------------------------------------------------------------------------

  buildTools() {
    this.search = el("input", { type: "search", placeholder: "Search the steps  ( / )", "aria-label": "Search the steps", oninput: () => {
      this.query = this.search.value.trim().toLowerCase();
      this.apply();
      this.rows.forEach((row) => row.detail && row.open(this.query));
      this.terminal.query = this.query;
      this.terminal.draw();
    } });
    this.found = el("span", { class: "found", "aria-live": "polite" });
    this.choices = Object.entries(FILTERS).map(([name, [words]]) =>
      el("button", { class: "chip", "data-filter": name, "aria-pressed": String(name === "all"), onclick: () => this.setFilter(name) }, words));
    this.tools.append(this.search, el("span", { class: "chips" }, ...this.choices), this.found);
  }

  setFilter(name) {
    this.filter = name;
    for (const chip of this.choices) chip.setAttribute("aria-pressed", String(chip.dataset.filter === name));
    this.apply();
  }

  apply() {
    const fits = FILTERS[this.filter][1];
    this.shown = this.rows.filter((row) => fits(row.step) && (!this.query || haystack(row.step).includes(this.query)));
    const wanted = this.shown.map((row) => row.element);
    const there = [...this.list.children];
    if (there.every((element, i) => element === wanted[i])) this.list.append(...wanted.slice(there.length)); // keeps the place
    else this.list.replaceChildren(...wanted);
    if (!this.shown.length && this.rows.length) this.list.append(el("li", { class: "empty" }, "No step fits."));
    const isAll = this.shown.length === this.rows.length;
    this.found.textContent = isAll ? count(this.rows.length, "step") : `${this.shown.length} of ${count(this.rows.length, "step")}`;
  }

  // -- the chosen step, and the one that plays ---------------------------------------------------------------

  choose(step) {
    if (this.chosen === step) {
      this.terminal.showStep(step, this.query, this.isLive);
      return;
    }
    if (this.chosen) this.rowOf(this.chosen).close();
    this.chosen = step;
    const row = this.rowOf(step);
    row.open(this.query);
    row.element.scrollIntoView({ block: "nearest" });
    this.overview.mark(step);
    this.light(step);
    this.terminal.showStep(step, this.query, this.isLive);
    this.onMove(this.name, step.n);
  }

  rowOf(step) {
    return this.rows[this.steps.indexOf(step)];
  }

  /** Light up the step that the recording is in. */
  follow(seconds) {
    const placed = this.steps.filter((step) => known(step.at));
    if (!placed.length) return;
    let found = placed[0];
    for (const step of placed) if (step.at <= seconds + 0.005) found = step;
    this.light(found);
  }

  light(step) {
    if (this.lit === step) return;
    if (this.lit) this.rowOf(this.lit).element.classList.remove("now");
    this.lit = step;
    const { element } = this.rowOf(step);
    element.classList.add("now");
    if (this.terminal.isPlaying && element.isConnected) element.scrollIntoView({ block: "nearest" });
  }

  move(by) {
    const at = this.shown.findIndex((row) => row.step === this.chosen);
    const next = this.shown[Math.min(Math.max(at + by, 0), this.shown.length - 1)];
    if (next) this.choose(next.step);
  }

  nextProblem() {
    const at = this.shown.findIndex((row) => row.step === this.chosen);
    const rows = [...this.shown.slice(at + 1), ...this.shown.slice(0, at + 1)];
    const next = rows.find((row) => row.step.flags.length);
    if (next) this.choose(next.step);
  }
}
