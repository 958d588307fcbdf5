// The terminal: the recording in asciinema-player, or the text of a step.

const LONGEST_PAUSE = 2; // seconds to which pauses are shortened
const NEVER = 1e9;

/** A recording as lines and times. Lines that are no events are left out; times never go back. */
function readCast(text) {
  const lines = text.split("\n");
  const header = JSON.parse(lines[0]);
  const events = [];
  let at = 0;
  for (const line of lines.slice(1)) {
    let event;
    try {
      event = JSON.parse(line);
    } catch {
      continue; // blank, a comment, or torn
    }
    if (!Array.isArray(event) || typeof event[0] !== "number") continue;
    at = Math.max(at, header.version === 3 ? at + event[0] : event[0]);
    const rest = event[1] === "m" ? `, "m", ${JSON.stringify(plain(String(event[2])))}]` : line.slice(line.indexOf(","));
    events.push({ at, rest });
  }
  return { header, events };
}

/** The clock of a player that shows pauses no longer than `longest` seconds. */
class Clock {
  constructor(events, longest) {
    this.recorded = [0];
    this.played = [0];
    this.longest = longest;
    for (const event of events) {
      const pause = event.at - this.recorded[this.recorded.length - 1];
      this.played.push(this.played[this.played.length - 1] + Math.min(pause, longest));
      this.recorded.push(event.at);
    }
  }

  toPlayer(seconds) {
    const i = lastAtMost(this.recorded, seconds);
    return this.played[i] + Math.min(seconds - this.recorded[i], this.longest);
  }

  toRecording(seconds) {
    const i = lastAtMost(this.played, seconds);
    return this.recorded[i] + (seconds - this.played[i]);
  }
}

function lastAtMost(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle;
    else high = middle;
  }
  return low;
}

function castText(cast, clock) {
  const lines = [JSON.stringify(cast.header)];
  let last = 0;
  cast.events.forEach((event, i) => {
    const at = clock.played[i + 1];
    const stamp = cast.header.version === 3 ? at - last : at;
    lines.push(`[${stamp.toFixed(6)}${event.rest}`);
    last = at;
  });
  return lines.join("\n") + "\n";
}

class Terminal {
  /** @param onTime called with the recording's second while it plays and when it is moved. */
  constructor(source, onTime) {
    this.source = source;
    this.onTime = onTime;
    this.cast = null;
    this.player = null;
    this.isPlaying = false;
    this.moving = 0; // moves of the player under way
    this.moved = 0;
    this.skips = true;
    this.tab = "text";
    this.step = null;
    this.host = el("div", { class: "player" });
    this.text = el("div", { class: "screen" });
    this.tabs = el("div", { class: "tabs", role: "tablist" });
    this.note = el("p", { class: "note" });
    this.element = el("section", { class: "terminal", "aria-label": "Terminal" }, this.tabs, this.host, this.text, this.note);
    this.timer = setInterval(() => this.watch(), 150);
    this.shownTime = null;
  }

  dispose() {
    clearInterval(this.timer);
    if (this.player) this.player.dispose();
  }

  /** Show the recording of a run, as far as there is one; after the first time, what is new of it. */
  async load(run, isLive) {
    if (run.recording && !this.source.hasCast) {
      this.say("The recording is not in this file, it is too large. Open the run with: terminus view --serve");
    } else if (run.recording && typeof AsciinemaPlayer === "undefined") {
      this.say("The recording is there, the player is not. Install it, then make this page again: pip install 'terminus-agent[view]'");
    } else if (run.recording) {
      const isFirst = this.cast === null;
      this.cast = readCast(await this.source.loadCast());
      await this.play(isLive ? NEVER : await this.now());
      if (isFirst) this.tab = "recording";
    } else if (isServed && run.status === "running") {
      this.say("There is not a recording; the text of each step is shown.");
    }
    this.draw();
  }

  async play(at) {
    this.clock = new Clock(this.cast.events, this.skips ? LONGEST_PAUSE : NEVER);
    if (this.player) this.player.dispose();
    this.host.replaceChildren();
    this.length = this.cast.events.length ? this.cast.events[this.cast.events.length - 1].at : 0;
    this.player = AsciinemaPlayer.create(
      { data: castText(this.cast, this.clock) },
      this.host,
      { fit: "both", preload: true, controls: true, idleTimeLimit: NEVER },
    );
    this.isPlaying = false;
    this.player.addEventListener("playing", () => { this.isPlaying = true; });
    for (const name of ["pause", "ended"]) this.player.addEventListener(name, () => { this.isPlaying = false; });
    await this.seek(Math.min(at, this.length));
  }

  /** Go to a second of the recording. */
  async seek(seconds) {
    if (!this.player) return;
    this.moving += 1;
    try {
      await this.player.seek(this.clock.toPlayer(seconds) + 1e-4);
    } finally {
      this.moving -= 1;
      this.moved += 1;
      this.shownTime = seconds;
    }
  }

  async now() {
    return this.player ? this.clock.toRecording(await this.player.getCurrentTime()) : 0;
  }

  async watch() {
    const { moved } = this;
    if (!this.player || this.moving || document.hidden) return;
    const seconds = await this.now();
    if (this.moving || moved !== this.moved) return; // the answer is of before the move
    if (this.shownTime !== null && Math.abs(seconds - this.shownTime) < 0.02) return;
    this.shownTime = seconds;
    this.onTime(seconds);
  }

  async toggle() {
    if (!this.player) return;
    if (this.isPlaying) await this.player.pause();
    else await this.player.play();
  }

  /** Show what belongs to a step: of one that goes on the newest, else how it began. */
  async showStep(step, query, isLive) {
    this.step = step;
    this.query = query;
    this.draw();
    if (isLive) await this.seek(this.length);
    else if (step && known(step.at)) await this.seek(step.at);
  }

  say(words) {
    this.note.textContent = words;
  }

  draw() {
    const tab = (name, words) =>
      el("button", { role: "tab", "aria-selected": String(this.tab === name), onclick: () => this.show(name) }, words);
    const skip = el("label", { class: "skip", title: `Show no pause longer than ${LONGEST_PAUSE} seconds` },
      el("input", { type: "checkbox", checked: this.skips, onchange: (event) => this.setSkips(event.target.checked) }), "skip pauses");
    this.tabs.replaceChildren(
      ...(this.cast ? [tab("recording", "Recording")] : []),
      tab("text", this.step ? `Text of step ${this.step.n}` : "Text of the step"),
      ...(this.cast && this.tab === "recording" ? [skip] : []),
    );
    this.host.hidden = this.tab !== "recording";
    this.text.hidden = this.tab !== "text";
    if (this.tab === "text") {
      const results = this.step ? this.step.results.filter((result) => result.text) : [];
      this.text.replaceChildren(...(results.length
        ? results.map((result) => textBlock(result.text, "output", this.query))
        : [el("p", { class: "empty" }, this.step ? "The terminal said nothing in this step." : "Choose a step.")]));
    }
  }

  show(name) {
    this.tab = name === "recording" && !this.cast ? "text" : name;
    this.draw();
  }

  async setSkips(skips) {
    const at = await this.now();
    this.skips = skips;
    await this.play(at);
  }
}
