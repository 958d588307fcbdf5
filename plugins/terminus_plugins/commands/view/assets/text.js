// Elements and texts. Everything that comes from a run becomes a text node, never markup.

const LONG_TEXT = 20000;

/** Make an element: `el("p", {class: "x", onclick: f}, "text", child, …)`; null children are left out. */
function el(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  const given = children.flat().filter((child) => child !== null && child !== undefined && child !== "");
  element.append(...given.map((child) => (typeof child === "string" ? plain(child) : child)));
  return element;
}

const count = (n, one, many) => `${n.toLocaleString("en-US")} ${n === 1 ? one : many || one + "s"}`;
const known = (value) => value !== null && value !== undefined;

function showNumber(value) {
  return known(value) ? Math.round(value).toLocaleString("en-US") : "–";
}

function showCost(value) {
  if (!known(value)) return "–";
  if (value === 0) return "$0";
  return "$" + (value >= 1 ? value.toFixed(2) : value >= 0.01 ? value.toFixed(4) : value.toPrecision(2));
}

function showSeconds(value) {
  if (!known(value)) return "–";
  if (value < 0.0995) return `${Math.round(value * 1000)} ms`;
  if (value < 59.95) return `${value.toFixed(1)} s`;
  const seconds = Math.round(value);
  const two = (n) => String(n).padStart(2, "0");
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`;
}

function showTime(seconds) {
  if (!known(seconds)) return "–";
  const at = new Date(seconds * 1000);
  if (Number.isNaN(at.getTime())) return "–";
  const two = (n) => String(n).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** What a terminal would show of a text: its control sequences taken out, other characters that act made visible. */
function plain(text) {
  return text
    .replace(/\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[P^_X][^\x1b]*\x1b\\|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]/g, "")
    .replace(/\r\n/g, "\n")
    .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, (char) => (char === "\x7f" ? "\u2421" : String.fromCharCode(0x2400 + char.charCodeAt(0))))
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, (char) => `[U+${char.charCodeAt(0).toString(16).toUpperCase()}]`); // would reorder what is around
}

/** Keystrokes as people read them: the Enter at the end left out, other keys named. */
function showKeys(keys) {
  const shown = plain(keys.replace(/\n$/, ""));
  return shown === "" ? (keys === "" ? "(wait)" : "⏎") : shown;
}

function firstLine(text) {
  const line = text.slice(0, 2000).split("\n").find((each) => each.trim()) || "";
  return plain(line.trim()).slice(0, 300);
}

/** The text as nodes, with what is searched for marked. */
function marked(text, query) {
  if (!query) return [document.createTextNode(text)];
  const nodes = [];
  const lower = text.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(query); at >= 0 && nodes.length < 2000; at = lower.indexOf(query, from)) {
    nodes.push(document.createTextNode(text.slice(from, at)), el("mark", {}, text.slice(at, at + query.length)));
    from = at + query.length;
  }
  nodes.push(document.createTextNode(text.slice(from)));
  return nodes;
}

/** A block of text; of a very long one the beginning and the end, the rest on demand. */
function textBlock(text, kind, query) {
  const shown = plain(text);
  const block = el("pre", { class: `text ${kind}` });
  if (shown.length <= LONG_TEXT) {
    block.append(...marked(shown, query));
    return block;
  }
  const half = LONG_TEXT / 2;
  const button = el("button", { class: "more", onclick: () => block.replaceChildren(...marked(shown, query)) },
    `show ${(shown.length - LONG_TEXT).toLocaleString("en-US")} more characters`);
  block.append(...marked(shown.slice(0, half), query), button, ...marked(shown.slice(-half), query));
  return block;
}
