// One step in the list: a row, and when it is chosen everything about it.

const SOURCES = { user: "prompt", agent: "agent", system: "system" };

/** All text of a step in small letters, for the search. */
function haystack(step) {
  if (step.hay === undefined) {
    const calls = step.calls.map((call) => `${call.name} ${call.command || ""} ${call.arguments}`);
    const results = step.results.map((result) => result.text);
    step.hay = [step.message, step.reasoning, ...calls, ...results, ...step.flags.map((flag) => flag.text)].join("\n").toLowerCase();
  }
  return step.hay;
}

class StepRow {
  constructor(step, view) {
    this.step = step;
    this.view = view;
    this.detail = null;
    this.head = el("button", { class: "head", "aria-expanded": "false", onclick: () => view.choose(step) }, ...this.headParts());
    this.element = el("li", { class: `step ${step.source} ${worstFlag(step)}`, "data-n": step.n }, this.head);
    if (step.copied) this.element.classList.add("copied");
  }

  headParts() {
    const { step } = this;
    const commands = step.calls.filter((call) => call.command !== null);
    const others = step.calls.filter((call) => call.command === null);
    const words = step.message.match(/^Plan: (.*)$/m);
    const doing = commands.length ? showKeys(commands[0].command) : others.map((call) => call.name).join(", ");
    const more = commands.length > 1 ? ` +${commands.length - 1}` : "";
    return [
      el("span", { class: "number" }, String(step.n)),
      el("span", { class: "what" },
        el("span", { class: "title" }, firstLine(words ? words[1] : step.message) || firstLine(step.reasoning) || "(no message)"),
        doing ? el("code", { class: "doing" }, (commands.length ? "$ " : "") + firstLine(doing) + more) : null,
        ...step.flags.map((flag) => el("span", { class: `flag ${flag.kind}` }, flag.text)),
        step.copied ? el("span", { class: "flag note" }, "copied from before") : null,
      ),
      el("span", { class: "numbers" },
        meter("time", step.seconds, showSeconds),
        step.source === "agent" ? meter("cost", step.cost, showCost) : null,
      ),
    ];
  }

  open(query) {
    this.close();
    this.detail = this.build(query);
    this.element.append(this.detail);
    this.element.classList.add("chosen");
    this.head.setAttribute("aria-expanded", "true");
  }

  close() {
    if (this.detail) this.detail.remove();
    this.detail = null;
    this.element.classList.remove("chosen");
    this.head.setAttribute("aria-expanded", "false");
  }

  build(query) {
    const { step } = this;
    const isPrompt = step.source !== "agent" && step.message.length > 1500;
    const part = (title, ...content) => el("section", {}, el("h4", {}, title), ...content);
    const fold = (title, open, ...content) => el("details", { open }, el("summary", {}, title), ...content);
    return el("div", { class: "detail" },
      el("p", { class: "facts" }, ...this.facts()),
      isPrompt
        ? fold(`Prompt, ${step.message.length.toLocaleString("en-US")} characters`, query !== "", textBlock(step.message, "prose", query))
        : step.message ? part(step.source === "agent" ? "Message" : SOURCES[step.source] || step.source, textBlock(step.message, "prose", query)) : null,
      step.reasoning ? fold("Reasoning", query !== "" && step.reasoning.toLowerCase().includes(query), textBlock(step.reasoning, "prose", query)) : null,
      step.calls.length ? part("Commands", ...step.calls.map((call) => this.call(call, query))) : null,
      ...step.results.map((result) => this.result(result, part, query)),
      step.images.length ? part("Images", ...step.images.map((source) => el("img", { src: source, alt: "image of this step" }))) : null,
      step.extra ? fold("More", false, textBlock(step.extra, "data", query)) : null,
    );
  }

  facts() {
    const { step } = this;
    const facts = [
      [SOURCES[step.source] || step.source],
      known(step.time) ? [showTime(step.time), new Date(step.time * 1000).toISOString()] : null,
      known(step.seconds) ? [`took ${showSeconds(step.seconds)}`] : null,
      known(step.prompt) ? [`${showNumber(step.prompt)} tokens in`] : null,
      known(step.completion) ? [`${showNumber(step.completion)} out`] : null,
      known(step.cached) ? [`${showNumber(step.cached)} cached`] : null,
      known(step.cost) ? [showCost(step.cost)] : null,
      step.model ? [step.model] : null,
    ];
    return facts.filter(Boolean).map(([words, title]) => el("span", { title }, words));
  }

  call(call, query) {
    const lines = call.command === null
      ? textBlock(call.arguments ? `${call.name} ${call.arguments}` : call.name, "command", query)
      : textBlock(showKeys(call.command), "command", query);
    const facts = [call.name, known(call.seconds) ? `waits ${showSeconds(call.seconds)}` : "", call.id].filter(Boolean).join(" · ");
    return el("div", { class: "call", title: facts }, lines, known(call.seconds) ? el("span", { class: "wait" }, showSeconds(call.seconds)) : null);
  }

  result(result, part, query) {
    const refs = result.refs.map((ref) => this.reference(ref));
    return part("Observation",
      result.text ? textBlock(result.text, "output", query) : null,
      refs.length ? el("p", { class: "refs" }, ...refs) : null,
      result.extra ? textBlock(result.extra, "data", query) : null,
    );
  }

  reference(ref) {
    if (ref.doc === null) return el("span", { class: "flag note" }, `${ref.label} (not found)`);
    return el("button", { class: "ref", onclick: () => this.view.openDocument(ref.doc) }, `open ${ref.label}`);
  }
}

/** A number with a bar that compares it with the largest of its kind. */
function meter(kind, value, show) {
  if (!known(value)) return null;
  return el("span", { class: `meter ${kind}` }, el("i", { style: `--value:${Math.sqrt(Math.max(value, 0))}` }), el("b", {}, show(value)));
}
