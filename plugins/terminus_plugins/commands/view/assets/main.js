// Where we are (the address after #), keys, light and dark, and looking again at runs that go on.

const REFRESH_MS = 1500;
const app = document.getElementById("app");
const content = el("main");
let view = null;
let table = null;

function remember(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    return null; // a page from a file may have no memory
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  remember("terminus-theme", theme);
}

function toggleTheme() {
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

const HELP = [
  ["j k ↓ ↑", "next and previous step"], ["e", "next problem"], ["/", "search"], ["Esc", "end the search, close this"],
  ["space", "play, pause"], ["t", "recording or text"], ["r", "all runs"], ["d", "light or dark"], ["?", "this list"],
];
const help = el("dialog", { "aria-label": "Keys" }, el("h2", {}, "Keys"),
  el("dl", {}, ...HELP.flatMap(([keys, what]) => [el("dt", {}, ...keys.split(" ").map((key) => el("kbd", {}, key))), el("dd", {}, what)])),
  el("form", { method: "dialog" }, el("button", {}, "close")));

// -- places --------------------------------------------------------------------------------------------------

function go(place, replaces) {
  const address = `#${new URLSearchParams(place)}`;
  if (address === location.hash) return;
  if (replaces) history.replaceState(null, "", address);
  else location.hash = address;
}

async function show() {
  const place = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  if (view && view.dispose) view.dispose();
  const keys = new Set(index.runs.map((run) => run.key));
  const only = index.runs.length === 1 ? index.runs[0].key : null;
  const key = keys.has(place.run) ? place.run : only;
  if (keys.has(place.a) && keys.has(place.b)) {
    view = new Comparison([place.a, place.b]);
    content.replaceChildren(view.element);
    await view.load();
  } else if (key && new RunSource(key).hasData) {
    view = new RunView(new RunSource(key), (name, n) => go({ run: key, doc: name, step: n }, true));
    content.replaceChildren(view.element);
    await view.load(place.doc, Number(place.step) || undefined);
  } else {
    view = table = new RunsTable((one) => go({ run: one }), (a, b) => go({ a, b }));
    content.replaceChildren(view.element);
  }
  const name = view.run ? view.run.name : index.title;
  document.title = `${name} – terminus`;
  document.body.dataset.ready = String(Math.round(performance.now())); // milliseconds from the first byte to a page that can be used
}

async function refresh() {
  try {
    if (view instanceof RunView && view.run && view.run.status === "running") await view.refresh();
    if (view instanceof RunsTable) {
      await loadSummaries();
      view.draw();
    }
    document.body.classList.remove("lost");
  } catch {
    document.body.classList.add("lost"); // the server has ended: what is shown stays
  }
  setTimeout(refresh, REFRESH_MS);
}

// -- keys ----------------------------------------------------------------------------------------------------

const activeRun = () => (view instanceof Comparison ? view.active : view instanceof RunView ? view : null);
const KEYS = {
  j: (run) => run && run.move(1), ArrowDown: (run) => run && run.move(1),
  k: (run) => run && run.move(-1), ArrowUp: (run) => run && run.move(-1),
  e: (run) => run && run.nextProblem(),
  t: (run) => run && run.terminal.show(run.terminal.tab === "text" ? "recording" : "text"),
  " ": (run) => run && run.terminal.toggle(),
  "/": (run) => (run || view).search.focus(),
  r: () => index.runs.length > 1 && go({}),
  d: toggleTheme,
  "?": () => help.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const isTyping = event.target.matches("input, textarea");
  if (isTyping && event.key === "Escape" && event.target.type === "search") {
    event.target.value = "";
    event.target.dispatchEvent(new Event("input"));
    event.target.blur();
    return;
  }
  if (isTyping || event.target.closest(".ap-player") || (event.key === " " && event.target.matches("button, summary"))) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act(activeRun());
});

// -- begin ---------------------------------------------------------------------------------------------------

setTheme(remember("terminus-theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
app.replaceChildren(
  el("nav", { class: "bar", "aria-label": "Page" },
    index.runs.length > 1 ? el("button", { class: "ref", onclick: () => go({}) }, "all runs") : null,
    el("span", { class: "brand" }, "terminus"), el("span", { class: "lost-note", role: "status" }, "the server has ended"),
    el("button", { title: "Keys (?)", onclick: () => help.showModal() }, "keys"),
    el("button", { title: "Light or dark (d)", onclick: toggleTheme }, "light / dark")),
  content, help);
addEventListener("hashchange", show);
show().then(() => isServed && setTimeout(refresh, REFRESH_MS));
