// Where runs come from: blocks in this file, or the server that the page came from.

const index = JSON.parse(document.getElementById("index").textContent);
const isServed = index.mode === "serve";

async function ask(address, headers) {
  const response = await fetch(address, { headers: headers || {} });
  if (!response.ok && response.status !== 304) throw new Error(`the server says ${response.status}`);
  return response;
}

/** The summaries of all runs, as they are now. */
async function loadSummaries() {
  if (isServed) index.runs = await (await ask("runs")).json();
  return index.runs;
}

class RunSource {
  constructor(key) {
    this.key = key;
    this.stamp = null;
    this.castText = "";
    this.castBytes = 0;
  }

  get hasData() {
    return isServed || document.getElementById(`run-${this.key}`) !== null;
  }

  get hasCast() {
    return isServed || document.getElementById(`cast-${this.key}`) !== null;
  }

  /** The run, or null if it is as it was at the last call. */
  async load() {
    if (!isServed) return JSON.parse(document.getElementById(`run-${this.key}`).textContent);
    const response = await ask(`run?key=${this.key}`, this.stamp ? { "If-None-Match": this.stamp } : {});
    if (response.status === 304) return null;
    this.stamp = response.headers.get("ETag");
    return response.json();
  }

  /** The recording as far as it goes now; of one that grows only what is new is fetched. */
  async loadCast() {
    if (!isServed) return document.getElementById(`cast-${this.key}`).textContent;
    const bytes = await (await ask(`cast?key=${this.key}&from=${this.castBytes}`)).arrayBuffer();
    this.castBytes += bytes.byteLength;
    this.castText += new TextDecoder().decode(bytes);
    return this.castText;
  }
}
