// The playground's page. A setup (what is filled in) → bodies of requests → answers → what is shown of them.
// Whatever a person or a model wrote gets into the page as text only: every element is made by `el`.

const TYPING_MS = 300; // a pause in typing after which is asked
const KEPT = "decision-playground";
const MOST_OPTIONS = 255;
const READOUTS = ["", "letters", "letters-rotated", "likelihood"];
const VERSIONS = ["", "direct-options-v1", "criterion-first-v1", "likelihood-v1"];
const UNASKED = { noul: "Which answer fits the evidence?", score: "Which level fits the evidence?" };

const EXAMPLES = {
  "Route a request": {
    stateFormat: "text", type: "choice",
    state: "Customer asks to reset a forgotten password and says the reset email never arrived.",
    question: "Which queue should handle this request?",
    options: [
      { id: "account_access", description: "Account access and authentication support." },
      { id: "billing", description: "Billing and payment support." },
      { id: "sales", description: "Sales and product evaluation." },
    ],
  },
  "Is a refund due?": {
    stateFormat: "text", type: "noul",
    state: "Bought on 3 May, returned unopened on 9 May. The shop takes goods back for 14 days.",
    question: "Is the customer owed a refund?",
    yes: "The return is within the period.", no: "The return came too late.",
  },
  "How urgent is it?": {
    stateFormat: "text", type: "score",
    state: "The payment page answers with an error for every customer since ten minutes ago.",
    question: "How urgent is this report?",
    levels: ["It can wait for weeks.", "It should be looked at this week.", "Somebody has to act at once."],
  },
  "Choose a tool, from JSON": {
    stateFormat: "json", type: "choice",
    state: '{\n  "user": "What will the weather be in Oslo tomorrow?",\n  "location_known": true,\n  "date": "2026-03-14"\n}',
    question: "Which tool should be called next?",
    options: [
      { id: "weather", description: "Look up a weather forecast for a place and a day." },
      { id: "calendar", description: "Read the user's calendar." },
      { id: "none", description: "Answer without any tool." },
    ],
  },
  "Auf Deutsch": {
    stateFormat: "text", type: "choice",
    state: "Die Lieferung kam am Montag an, aber zwei der vier Stühle haben einen Riss in der Lehne.",
    question: "Worum geht es in dieser Nachricht?",
    options: [
      { id: "schaden", description: "Beschädigte Ware." },
      { id: "verspaetung", description: "Verspätete Lieferung." },
      { id: "rechnung", description: "Eine Frage zur Rechnung." },
    ],
  },
};

const EMPTY = {
  stateFormat: "text", state: "", type: "choice", question: "",
  options: [{ id: "a", description: "" }, { id: "b", description: "" }],
  yes: "", no: "", levels: ["", ""], compare: false,
  sides: [{ readout: "", version: "" }, { readout: "", version: "" }],
};

// ---- small helpers -------------------------------------------------------------------------------------------------

const $ = (id) => document.getElementById(id);

/** An element: properties, `data-…`, `aria-…` and classes by name; children are elements or text. */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const percent = (p) => `${(100 * p).toFixed(1)} %`;
const milliseconds = (seconds) => `${(1000 * seconds).toFixed(1)} ms`;
const checked = (name) => document.querySelector(`input[name="${name}"]:checked`).value;
const check = (name, value) => { document.querySelector(`input[name="${name}"][value="${value}"]`).checked = true; };
const largest = (values) => values.indexOf(Math.max(...values));

// ---- setup: what is filled in --------------------------------------------------------------------------------------

let setup = structuredClone(EMPTY);

/** A setup from anything that was stored or pasted. Throws with what is wrong. */
function readSetup(value) {
  const text = (name, given) => {
    if (typeof given !== "string") throw new Error(`${name}: text is needed`);
    return given;
  };
  const one = (name, given, known) => {
    if (!known.includes(given)) throw new Error(`${name}: ${JSON.stringify(given)}; one of ${known.map((k) => JSON.stringify(k)).join(", ")} is needed`);
    return given;
  };
  const list = (name, given, each) => {
    if (!Array.isArray(given) || given.length > MOST_OPTIONS) throw new Error(`${name}: a list of up to ${MOST_OPTIONS} is needed`);
    return given.map((item, index) => each(`${name}[${index}]`, item));
  };
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("a JSON object is needed");
  for (const key of Object.keys(value)) if (!Object.hasOwn(EMPTY, key)) throw new Error(`${key}: not a part of a setup`);
  const whole = { ...structuredClone(EMPTY), ...value };
  const sides = list("sides", whole.sides, (name, side) => ({
    readout: one(`${name}.readout`, side?.readout, READOUTS), version: one(`${name}.version`, side?.version, VERSIONS),
  }));
  if (sides.length !== 2) throw new Error(`sides: ${sides.length} given; 2 are needed`);
  return {
    stateFormat: one("stateFormat", whole.stateFormat, ["text", "json"]),
    state: text("state", whole.state), question: text("question", whole.question),
    type: one("type", whole.type, ["choice", "noul", "score"]),
    options: list("options", whole.options, (name, option) => ({ id: text(`${name}.id`, option?.id), description: text(`${name}.description`, option?.description) })),
    yes: text("yes", whole.yes), no: text("no", whole.no), levels: list("levels", whole.levels, text),
    compare: one("compare", whole.compare, [true, false]), sides,
  };
}

function keep() {
  try { localStorage.setItem(KEPT, JSON.stringify(setup)); } catch { /* a browser without storage: nothing is kept */ }
}

function kept() {
  try {
    const stored = localStorage.getItem(KEPT);
    return stored === null ? null : readSetup(JSON.parse(stored));
  } catch { return null; } // of an older page, or broken: the first example instead
}

// ---- bodies of requests --------------------------------------------------------------------------------------------

/** JSON text as it was typed, so that no number is rounded and no key is moved; text is quoted. */
const stateJson = (asked) => (asked.stateFormat === "json" ? asked.state : JSON.stringify(asked.state));
const object = (pairs) => `{${pairs.filter(([, json]) => json !== null).map(([key, json]) => `${JSON.stringify(key)}: ${json}`).join(", ")}}`;
const orNull = (text) => (text === "" ? null : JSON.stringify(text));

/** What each type lists: a yes-or-no question and a score are decisions among such options. */
function optionsOf(asked) {
  const answer = (word, meaning) => (meaning === "" ? word : `${word} ${meaning}`);
  if (asked.type === "noul") return [{ id: "yes", description: answer("Yes.", asked.yes) }, { id: "no", description: answer("No.", asked.no) }];
  if (asked.type === "score") return asked.levels.map((level, index) => ({ id: String(index), description: level }));
  return asked.options;
}

/** A body of contract section 3. It says most about its answer, and gives the prompts. */
function decisionBody(asked, side) {
  const question = asked.question === "" ? (UNASKED[asked.type] ?? "") : asked.question;
  const decision = object([
    ["id", '"playground"'], ["state", stateJson(asked)], ["question", JSON.stringify(question)], ["options", JSON.stringify(optionsOf(asked))],
    ["readout", orNull(side.readout)], ["prompt_version", orNull(side.version)],
  ]);
  return object([["decision", decision]]);
}

/** A body of section 4: yes-or-no and scores as their own types, with their own temperatures where calibrated. */
function systemOneBody(asked, side, model) {
  const meanings = object([["true", orNull(asked.yes)], ["false", orNull(asked.no)]]);
  const criteria = asked.type === "score" ? JSON.stringify(asked.levels) : asked.yes || asked.no ? meanings : null;
  const question = object([["type", JSON.stringify(asked.type)], ["instructions", orNull(asked.question)], ["criteria", criteria]]);
  return object([
    ["model", JSON.stringify(model)], ["state", stateJson(asked)], ["questions", object([["answer", question]])],
    ["x_readout", orNull(side.readout)], ["x_prompt_version", orNull(side.version)],
  ]);
}

// ---- asking --------------------------------------------------------------------------------------------------------

class Told extends Error {
  /** field: a place in the body, as the server spells it, or "". */
  constructor(message, { field = "", code = "", requestId = "" } = {}) {
    super(message);
    Object.assign(this, { field, code, requestId });
  }
}

async function post(path, body, signal) {
  const began = performance.now();
  const reply = await fetch(`api/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body, signal });
  const value = await reply.json();
  if (!reply.ok) throw refusal(value, reply.status);
  return { value, seconds: (performance.now() - began) / 1000 };
}

/** The errors of both dialects. */
function refusal(value, status) {
  if (Array.isArray(value.detail)) {
    const { loc, msg, type } = value.detail[0];
    return new Told(msg, { field: loc.slice(1).join("."), code: type, requestId: value.x_request_id });
  }
  if (value.detail) return new Told(value.detail.message, { code: value.detail.error_type, requestId: value.x_request_id });
  return new Told(value.error ?? `status ${status} without a reason`, { field: value.field ?? "", code: value.code, requestId: value.request_id });
}

/** One answer, whatever the type: probabilities by the options' order, and all that is known about them. */
async function answered(asked, side, signal) {
  const decision = await post("ask/v1/decisions", decisionBody(asked, side.readout === "letters-rotated" && asked.type === "score" ? { ...side, readout: "letters" } : side), signal);
  const result = decision.value.result;
  const about = {
    ids: result.option_ids, probabilities: result.probabilities, logits: result.option_logits, mass: result.allowed_token_mass, readout: result.readout,
    version: result.prompt_version, sha256: result.prompt_sha256, calibration: result.calibration, spread: result.rotation_spread,
    warnings: result.warnings, inputTokens: result.input_tokens, cachedTokens: result.timing.cached_tokens, timing: result.timing,
    free: result.full_vocab_argmax_id, model: result.model, seconds: decision.seconds, expected: null,
  };
  return asked.type === "choice" ? about : typed(asked, side, about, signal);
}

/** Asks once more as System One. Where that read the same prompt in the same way, logits and the rest are of it too. */
async function typed(asked, side, about, signal) {
  const { value } = await post("ask/v1/systemone", systemOneBody(asked, side, about.model.name), signal);
  const told = value.answers.answer;
  const probabilities = asked.type === "noul" ? [told.noul, 1 - told.noul] : asked.levels.map((_, index) => told.probabilities[index]);
  const same = told.x_prompt_sha256 === about.sha256 && told.x_readout === about.readout && told.x_prompt_version === about.version;
  const own = {
    ...about, probabilities, mass: told.x_label_mass, readout: told.x_readout, version: told.x_prompt_version, sha256: told.x_prompt_sha256,
    calibration: told.x_calibration, spread: told.x_rotation_spread, warnings: told.x_warnings ?? [], expected: told.score ?? null,
  };
  if (same) return own;
  const why = "asked as a decision, the model read another prompt: logits, cache and times are not known for this answer";
  return { ...own, logits: null, cachedTokens: null, inputTokens: value.usage.input_tokens, timing: null, free: null, warnings: [...own.warnings, why] };
}

/** The prompts behind an answer, or why they are not shown. */
async function promptsOf(asked, answer, signal) {
  if (facts.no_prompts !== null) return { why: facts.no_prompts };
  const free = answer.free === null ? "" : `?free=${answer.free}`;
  try {
    const { value } = await post(`prompts${free}`, decisionBody(asked, { readout: answer.readout, version: answer.version }), signal);
    if (value.gguf_sha256 !== answer.model.gguf.sha256) return { why: `The answer is of other weights (${answer.model.gguf.sha256}) than those whose tokens are known here (${value.gguf_sha256}), so no prompt is shown.` };
    if (value.prompt_sha256 !== answer.sha256) return { why: `The prompt made here (sha256 ${value.prompt_sha256}) is not the one that was answered (${answer.sha256}), so it is not shown.` };
    return { prompts: value };
  } catch (error) {
    if (error instanceof Told) return { why: error.message };
    throw error;
  }
}

let facts = null;
let turn = 0; // of the newest question; what belongs to an older one is dropped
let asking = new AbortController();
let timer = 0;
let lastReadout = ""; // of the first answer that is shown

function changed({ wait = TYPING_MS } = {}) {
  keep();
  showCode();
  $("answers").classList.add("stale");
  $("answers").setAttribute("aria-busy", "true");
  turn += 1;
  clearTimeout(timer);
  timer = setTimeout(ask, wait);
}

async function ask() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const mine = (turn += 1);
  const asked = structuredClone(setup);
  const sides = asked.compare ? asked.sides : asked.sides.slice(0, 1);
  $("answers").setAttribute("aria-busy", "true");
  try {
    checkJson(asked);
    const found = [];
    for (const side of sides) { // one after the other, so that neither waits for the other
      try {
        found.push(await answered(asked, side, signal));
      } catch (error) {
        if (error instanceof Told) error.side = found.length;
        throw error;
      }
    }
    if (mine !== turn) return;
    clearErrors();
    showAnswers(asked, found);
    const read = [];
    for (const answer of found) read.push(await promptsOf(asked, answer, signal));
    if (mine === turn) showPrompts(found, read);
  } catch (error) {
    if (mine !== turn || error.name === "AbortError") return;
    clearErrors();
    showError(error instanceof Told ? error : new Told(`The playground cannot be asked: ${error.message}. Where it has ended, start it again and open the address that it prints.`));
  } finally {
    if (mine === turn) $("answers").removeAttribute("aria-busy");
  }
}

function checkJson(asked) {
  if (asked.stateFormat !== "json") return;
  try { JSON.parse(asked.state); } catch (error) {
    throw new Told(`The state is not JSON: ${error.message}. Correct it, or choose Text.`, { field: "decision.state" });
  }
}

// ---- errors, beside what they are about ----------------------------------------------------------------------------

/** A place in a body → the field of the form: its control and where its error is said; null where it is about none. */
function fieldOf(place, side) {
  const path = place.replace(/^decision\./, "").replace(/^questions\.answer\./, "").replace(/^criteria/, "options");
  const row = path.match(/^options[[.](\d+)]?(\.id)?/) ?? path.match(/^options\.(true|false)$/)?.map((part) => ({ true: "0", false: "1" })[part] ?? part);
  if (path === "state") return { control: $("state"), message: $("state-error") };
  if (path === "question" || path === "instructions") return { control: $("question"), message: $("question-error") };
  if (path === "readout" || path === "x_readout") return { control: $(`readout-${side}`), message: $(`side-${side}-error`) };
  if (path === "prompt_version" || path === "x_prompt_version") return { control: $(`version-${side}`), message: $(`side-${side}-error`) };
  const item = row && $("rows").children[Number(row[1])];
  if (item) return { control: item.querySelector(row[2] ? ".id" : ".text"), message: item.querySelector(".error") };
  return path.startsWith("options") ? { control: null, message: $("options-error") } : null;
}

function showError(told) {
  const found = fieldOf(told.field, told.side ?? 0);
  const text = told.requestId ? `${told.message} (request ${told.requestId})` : told.message;
  (found?.message ?? $("general-error")).textContent = text;
  found?.control?.setAttribute("aria-invalid", "true");
  $("answers").classList.add("stale");
  $("prompts").replaceChildren();
  say(`Error: ${told.message}`);
}

function clearErrors() {
  for (const message of document.querySelectorAll("#asked .error, #general-error")) message.textContent = "";
  for (const control of document.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
}

function say(text) { $("spoken").textContent = text; }

// ---- answers -------------------------------------------------------------------------------------------------------

function showAnswers(asked, found) {
  lastReadout = found[0].readout;
  const parts = found.map((answer, index) => answerPart(asked, answer, found.length > 1 ? index : null, index > 0 ? found[0] : null));
  $("answers").replaceChildren(el("div", { class: found.length > 1 ? "answers two" : "answers" }, ...parts));
  $("answers").classList.remove("stale");
  say(found.map((answer) => {
    const best = largest(answer.probabilities);
    return `${found.length > 1 ? `${answer.readout}: ` : ""}${answer.ids[best]}, ${percent(answer.probabilities[best])}.`;
  }).join(" "));
}

function answerPart(asked, answer, index, other) {
  const best = largest(answer.probabilities);
  const name = index === null ? "" : `${"AB"[index]}: `;
  return el("div", { class: "answer", "data-side": index ?? 0, "data-readout": answer.readout, "data-version": answer.version },
    el("h2", {}, `${name}${answer.ids[best]} · ${percent(answer.probabilities[best])}`,
      el("span", { class: "how" }, `${answer.readout}, ${answer.version}`)),
    barTable(asked, answer, best, other),
    ...answer.warnings.map((warning) => el("p", { class: "warning" }, warning)),
    factList(answer));
}

function barTable(asked, answer, best, other) {
  const described = optionsOf(asked);
  const column = (text) => el("th", { scope: "col" }, text);
  const rows = answer.ids.map((id, index) => {
    const p = answer.probabilities[index];
    const fill = el("div", { class: "fill" });
    fill.style.width = `${100 * p}%`;
    return el("tr", { class: index === best ? "best" : null, "data-option": id, "data-probability": p },
      el("th", { scope: "row", title: described[index].description }, id,
        asked.type === "score" ? el("span", { class: "level" }, described[index].description) : null,
        el("div", { class: "track", "aria-hidden": "true" }, fill)),
      el("td", { title: String(p) }, percent(p)),
      el("td", { title: answer.logits === null ? null : String(answer.logits[index]) }, answer.logits === null ? "–" : answer.logits[index].toFixed(3)),
      other ? el("td", {}, difference(p - other.probabilities[index])) : null);
  });
  return el("table", { class: "bars" },
    el("caption", { class: "hidden" }, `Probabilities by ${answer.readout}`),
    el("thead", {}, el("tr", {}, column("option"), column("probability"), column(answer.readout === "likelihood" ? "gain, nats" : "logit"), other ? column("B − A") : null)),
    el("tbody", {}, ...rows));
}

const difference = (by) => `${by < 0 ? "−" : "+"}${(100 * Math.abs(by)).toFixed(1)} pp`;

function factList(answer) {
  const { timing, calibration } = answer;
  const known = [
    ["expected level", answer.expected === null ? null : answer.expected.toFixed(3)],
    ["label mass", answer.mass < 0.001 ? answer.mass.toExponential(2) : answer.mass.toFixed(4)],
    ["temperature", calibration.status === "applied" ? `${calibration.temperature} (${calibration.version})` : "not calibrated"],
    ["spread over rotations", answer.spread === undefined || answer.spread === null ? null : percent(answer.spread)],
    ["input tokens", answer.inputTokens],
    ["from cache", answer.cachedTokens === null ? "not known" : `${answer.cachedTokens} tokens`],
    ["computing", timing && milliseconds(timing.forward_seconds)],
    ["making tokens", timing && milliseconds(timing.encode_seconds)],
    ["waiting in the queue", timing && milliseconds(timing.queue_seconds)],
    ["there and back", milliseconds(answer.seconds)],
  ];
  const items = known.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", { class: "facts" }, ...items.map(([name, value]) => el("div", { "data-fact": name }, el("dt", {}, name), el("dd", {}, String(value)))));
}

// ---- prompts and tokens --------------------------------------------------------------------------------------------

function showPrompts(found, read) {
  const open = new Set([...document.querySelectorAll("#prompts details[open]")].map((one) => one.dataset.name));
  const parts = found.flatMap((answer, index) => [
    found.length > 1 ? el("h3", {}, `${"AB"[index]}: ${answer.readout}`) : null,
    ...(read[index].why ? [el("p", { class: "quiet", "data-why": "" }, read[index].why)] : promptParts(answer, read[index].prompts, `${index}`, open)),
  ]);
  $("prompts").replaceChildren(...parts.filter(Boolean));
}

function promptParts(answer, { prompts, options, free, prompt_sha256: sha256 }, side, open) {
  const several = prompts.filter((one) => one.kind === "rotation").length > 1;
  const known = !several && answer.cachedTokens !== null && answer.cachedTokens <= prompts[0].tokens.length;
  const shown = prompts.map((prompt, index) => {
    const cached = known && prompt.kind !== "baseline" ? answer.cachedTokens : 0;
    return promptPart(prompt, titleOf(prompt, index), cached, `${side}-${index}`, open.size === 0 ? index === 0 : open.has(`${side}-${index}`), open.has(`${side}-${index}-text`));
  });
  return [
    el("p", { class: "key" }, el("span", { "data-matches": "" }, `The same prompt as the answer's: sha256 ${sha256.slice(0, 12)}…`),
      free && el("span", { "data-free": "" }, "Left free, the model would begin with ", chip(free, { cached: false }))),
    several && answer.cachedTokens !== null ? el("p", { class: "quiet" }, `${answer.cachedTokens} tokens of all ${prompts.length} prompts came from the cache; an answer does not say which of each.`) : null,
    ...shown,
    optionsPart(options, answer.readout, `${side}-options`, open),
  ].filter(Boolean);
}

function titleOf(prompt, index) {
  if (prompt.kind === "rotation") return `Prompt ${index + 1}, options as ${prompt.listed.join(", ")}`;
  return prompt.kind === "baseline" ? "Without evidence, for comparison (kept from question to question)" : "Prompt";
}

function promptPart(prompt, title, cached, name, open, textOpen) {
  const count = cached ? `${prompt.tokens.length} tokens, the first ${cached} from the cache` : `${prompt.tokens.length} tokens`;
  return el("details", { "data-name": name, "data-kind": prompt.kind, open },
    el("summary", {}, `${title} · ${count}`),
    cached ? el("p", { class: "key" }, el("span", {}, el("span", { class: "chip cached" }, "from the cache"), " "), el("span", {}, el("span", { class: "chip" }, "computed for this answer"))) : null,
    chips(prompt.tokens, cached),
    el("details", { "data-name": `${name}-text`, open: textOpen }, el("summary", {}, "As text"), el("pre", { tabindex: 0, class: "prompt-text" }, prompt.text)));
}

function optionsPart(options, readout, name, open) {
  const what = readout === "likelihood" ? "The texts whose likelihood is read" : "The labels whose logits are read";
  const rows = options.map((option) => el("div", { "data-option": option.id }, el("dt", {}, option.id), el("dd", {}, chips(option.tokens, 0))));
  return el("details", { "data-name": name, open: open.size === 0 || open.has(name) }, el("summary", {}, what), el("dl", { class: "facts" }, ...rows));
}

function chips(tokens, cached) {
  const list = el("ul", { class: "chips" });
  tokens.forEach((token, index) => {
    list.append(el("li", {}, chip(token, { cached: index < cached, place: index })));
    if (token.text?.includes("\n")) list.append(el("li", { class: "break", "aria-hidden": "true" }));
  });
  return list;
}

function chip(token, { cached, place }) {
  const names = ["chip", cached && "cached", token.control && "control", token.text === null && "broken"].filter(Boolean);
  const where = place === undefined ? "" : `token ${place + 1}, `;
  const made = el("span", { class: names.join(" "), "data-id": token.id, title: `${where}id ${token.id}, bytes ${token.hex}${token.control ? ", a control token" : ""}${cached ? ", from the cache" : ""}` });
  if (token.text === null) made.append(`‹${token.hex}›`);
  else for (const part of token.text.split(/( |\n|\t)/)) made.append(white(part) ?? part);
  return made;
}

function white(part) {
  const sign = { " ": "·", "\n": "↵", "\t": "→" }[part];
  return sign && el("span", { class: "white" }, sign);
}

// ---- the form ------------------------------------------------------------------------------------------------------

function showForm() {
  $("state").value = setup.state;
  $("question").value = setup.question;
  check("format", setup.stateFormat);
  check("type", setup.type);
  $("compare").checked = setup.compare;
  showRows();
  showSides();
}

const LISTS = {
  choice: { legend: "Options", add: "Add an option", what: "option" },
  noul: { legend: "What yes and no mean (may stay empty)" },
  score: { legend: "Levels, from the lowest", add: "Add a level", what: "level" },
};

function showRows() {
  const list = LISTS[setup.type];
  $("options-legend").textContent = list.legend;
  $("add").hidden = !list.add;
  $("add").textContent = list.add ?? "";
  const rows = {
    choice: () => setup.options.map(optionRow),
    noul: () => [meaningRow("yes", "Yes"), meaningRow("no", "No")],
    score: () => setup.levels.map(levelRow),
  }[setup.type]();
  $("rows").replaceChildren(...rows);
}

function textInput(label, value, store, classes) {
  return el("input", { type: "text", class: classes, value, "aria-label": label, oninput: (event) => { store(event.target.value); changed(); } });
}

function row(index, ...parts) {
  const name = `row-${index}-error`;
  const made = el("li", { class: "row", "data-index": index }, ...parts, el("p", { class: "error", id: name }));
  for (const input of made.querySelectorAll("input")) input.setAttribute("aria-describedby", name);
  return made;
}

function optionRow(option, index) {
  return row(index,
    textInput(`Id of option ${index + 1}`, option.id, (value) => { option.id = value; }, "id"),
    textInput(`Description of option ${index + 1}`, option.description, (value) => { option.description = value; }, "text"),
    moves(index, setup.options.length));
}

function levelRow(level, index) {
  return row(index, el("span", { class: "name" }, String(index)),
    textInput(`Level ${index}`, level, (value) => { setup.levels[index] = value; }, "text"), moves(index, setup.levels.length));
}

function meaningRow(key, word) {
  return row(key === "yes" ? 0 : 1, el("span", { class: "name" }, word), textInput(`What ${key} means`, setup[key], (value) => { setup[key] = value; }, "text"));
}

function moves(index, count) {
  const { what } = LISTS[setup.type];
  const button = (sign, words, off, run) => el("button", { type: "button", disabled: off, onclick: run, title: words },
    el("span", { "aria-hidden": "true" }, sign), el("span", { class: "hidden" }, `${words} ${index + (what === "option" ? 1 : 0)}`));
  return el("div", { class: "moves" },
    button("↑", `Move up ${what}`, index === 0, () => move(index, -1)),
    button("↓", `Move down ${what}`, index === count - 1, () => move(index, 1)),
    button("✕", `Remove ${what}`, false, () => remove(index)));
}

const listed = () => ({ choice: setup.options, score: setup.levels })[setup.type] ?? [];

function focusRow(index) {
  $("rows").children[index]?.querySelector(".text")?.focus();
}

function move(index, by) {
  const items = listed();
  const to = index + by;
  if (index < 0 || index >= items.length || to < 0 || to >= items.length) return;
  [items[index], items[to]] = [items[to], items[index]];
  showRows();
  focusRow(to);
  changed({ wait: 0 });
}

function remove(index) {
  listed().splice(index, 1);
  showRows();
  if (listed().length) focusRow(Math.min(index, listed().length - 1));
  else $("add").focus();
  changed({ wait: 0 });
}

function add() {
  const items = listed();
  if (!LISTS[setup.type].add || items.length >= MOST_OPTIONS) return;
  items.push(setup.type === "score" ? "" : { id: freeId(items), description: "" });
  showRows();
  focusRow(items.length - 1);
  changed();
}

function freeId(items) {
  const used = new Set(items.map((item) => item.id));
  for (let number = items.length + 1; ; number += 1) if (!used.has(`option_${number}`)) return `option_${number}`;
}

function showSides() {
  const count = setup.compare ? 2 : 1;
  $("sides").replaceChildren(...setup.sides.slice(0, count).map((side, index) => sidePart(side, index, count)));
}

function sidePart(side, index, count) {
  const select = (name, label, key, values) => el("label", {}, label, el("select", {
    id: `${name}-${index}`, "aria-describedby": `side-${index}-error`,
    "aria-label": count > 1 ? `${label} of ${"AB"[index]}` : label,
    onchange: (event) => { side[key] = event.target.value; changed({ wait: 0 }); },
  }, ...values.map((value) => el("option", { value, selected: value === side[key] }, value || "default"))));
  return el("div", { class: "side" }, count > 1 ? el("b", { "aria-hidden": "true" }, "AB"[index]) : null,
    select("readout", "Readout", "readout", READOUTS), select("version", "Prompt version", "version", VERSIONS),
    el("p", { class: "error", id: `side-${index}-error` }));
}

function compare(on) {
  setup.compare = on;
  if (on && JSON.stringify(setup.sides[0]) === JSON.stringify(setup.sides[1])) setup.sides[1].readout = lastReadout === "likelihood" ? "letters" : "likelihood";
  $("compare").checked = on;
  showSides();
  changed({ wait: 0 });
}

// ---- code ----------------------------------------------------------------------------------------------------------

const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const python = (text) => JSON.stringify(text); // every escape of JSON's is one of Python's
const shellPath = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : shell(text));

function request() {
  const [side] = setup.sides;
  if (setup.type === "choice") return { route: "/v1/decisions", body: decisionBody(setup, side) };
  return { route: "/v1/systemone", body: systemOneBody(setup, side, facts.models[0] ?? "jev-latest") };
}

function curl({ route, body }) {
  const json = `  -H 'Content-Type: application/json' \\\n  -d ${shell(body)}`;
  if (facts.kind !== "endpoint") {
    const key = facts.api_key_variable ? `  -H "Authorization: Bearer $${facts.api_key_variable}" \\\n` : "";
    return `curl ${shellPath(facts.url + route)} \\\n${key}${json}`;
  }
  const url = `https://runtime.sagemaker.${facts.region}.amazonaws.com/endpoints/${facts.endpoint_name}/invocations`;
  return `curl ${shellPath(url)} \\\n  --aws-sigv4 'aws:amz:${facts.region}:sagemaker' \\\n  --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \\\n`
    + `  -H "X-Amz-Security-Token: $AWS_SESSION_TOKEN" \\\n${json}`;
}

function boto3({ body }) {
  const region = facts.region ? `, region_name=${python(facts.region)}` : "";
  return [
    "import json", "", "import boto3", "",
    `runtime = boto3.client("sagemaker-runtime"${region})`,
    `body = ${python(body)}`,
    "answer = runtime.invoke_endpoint(",
    `    EndpointName=${python(facts.endpoint_name ?? "YOUR-ENDPOINT")}, ContentType="application/json", Body=body.encode()`,
    ")", 'print(json.loads(answer["Body"].read()))',
  ].join("\n");
}

function decisionClient() {
  const [side] = setup.sides;
  const settings = facts.settings.map(([name, value]) => `${python(name)}: ${python(value)}`).join(", ");
  const opened = {
    endpoint: () => `sagemaker(${python(facts.endpoint_name)}, region=${python(facts.region)})`,
    url: () => `http(${python(facts.url)}${facts.api_key_variable ? `, api_key=os.environ[${python(facts.api_key_variable)}]` : ""})`,
    model: () => `local(${python(facts.model_path)}${facts.settings.length ? `, settings={${settings}}` : ""})`,
  }[facts.kind]();
  const state = setup.stateFormat === "json" ? `json.loads(${python(setup.state)})` : python(setup.state);
  const named = (name, text) => (text === "" ? "" : `, ${name}=${python(text)}`);
  const chosen = named("readout", side.readout) + named("prompt_version", side.version);
  const imports = { choice: "Decision, DecisionClient, Option", noul: "DecisionClient, Noul", score: "DecisionClient, Score" }[setup.type];
  const asks = {
    choice: () => [
      "    answer = client.decide(", "        Decision(", '            id="playground",', "            state=state,",
      `            question=${python(setup.question)},`, "            options=(",
      ...setup.options.map((option) => `                Option(id=${python(option.id)}, description=${python(option.description)}),`),
      "            ),", ...(chosen ? [`            ${chosen.slice(2)},`] : []), "        )", "    )",
    ],
    noul: () => [
      `    question = Noul(instructions=${setup.question ? python(setup.question) : "None"}${named("true", setup.yes)}${named("false", setup.no)})`,
      `    answer = client.ask(state, {"answer": question}${chosen})["answer"]`,
    ],
    score: () => [
      `    question = Score(instructions=${setup.question ? python(setup.question) : "None"}, levels=(`,
      ...setup.levels.map((level) => `        ${python(level)},`), "    ))",
      `    answer = client.ask(state, {"answer": question}${chosen})["answer"]`,
    ],
  }[setup.type]();
  const standard = [setup.stateFormat === "json" ? "import json" : null, facts.api_key_variable && facts.kind === "url" ? "import os" : null].filter(Boolean);
  return [
    ...standard, ...(standard.length ? [""] : []), `from client.decisions import ${imports}`, "", `state = ${state}`,
    `with DecisionClient.${opened} as client:`, ...asks, "print(answer.top, dict(zip(answer.option_ids, answer.probabilities)))",
  ].join("\n");
}

function showCode() {
  if (facts === null) return;
  $("code").textContent = { curl, boto3, client: decisionClient }[checked("language")](request());
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied.`);
  } catch (error) {
    say(`${what} not copied: ${error.message}. Select it and copy it yourself.`);
  }
}

// ---- events --------------------------------------------------------------------------------------------------------

function listen() {
  $("asked").addEventListener("submit", (event) => event.preventDefault());
  $("state").addEventListener("input", (event) => { setup.state = event.target.value; changed(); });
  $("question").addEventListener("input", (event) => { setup.question = event.target.value; changed(); });
  $("format").addEventListener("change", () => { setup.stateFormat = checked("format"); changed({ wait: 0 }); });
  $("type").addEventListener("change", () => { setup.type = checked("type"); clearErrors(); showRows(); changed({ wait: 0 }); });
  $("language").addEventListener("change", showCode);
  $("add").addEventListener("click", add);
  $("compare").addEventListener("change", (event) => compare(event.target.checked));
  $("example").addEventListener("change", (event) => load({ ...structuredClone(EMPTY), ...structuredClone(EXAMPLES[event.target.value]), sides: setup.sides, compare: setup.compare }));
  $("copy-code").addEventListener("click", () => copy($("code").textContent, "The code"));
  $("open-help").addEventListener("click", () => $("help").showModal());
  $("open-setup").addEventListener("click", openSetup);
  $("copy-setup").addEventListener("click", () => copy($("setup-text").value, "The setup"));
  $("load-setup").addEventListener("click", loadSetup);
  $("close-setup").addEventListener("click", () => $("setup").close());
  document.addEventListener("keydown", pressed);
}

function pressed(event) {
  const open = document.querySelector("dialog[open]");
  const writing = event.target.matches("textarea, input[type=text], select");
  if (open) return;
  const at = Number(event.target.closest("#rows > li")?.dataset.index ?? -1);
  const run = {
    "Alt+KeyA": add, "Alt+KeyC": () => compare(!setup.compare), "Alt+KeyH": () => $("help").showModal(),
    "Alt+KeyK": () => copy($("code").textContent, "The code"), "Alt+KeyR": () => $("answers").focus(),
    "Alt+ArrowUp": () => move(at, -1), "Alt+ArrowDown": () => move(at, 1),
    "Alt+Delete": () => at >= 0 && setup.type !== "noul" && remove(at),
    "Control+Enter": () => { clearTimeout(timer); ask(); },
  }[`${event.altKey ? "Alt+" : ""}${event.ctrlKey || event.metaKey ? "Control+" : ""}${event.code === "NumpadEnter" ? "Enter" : event.code}`];
  if (run) {
    event.preventDefault();
    run();
  } else if (event.key === "?" && !writing) {
    event.preventDefault();
    $("help").showModal();
  }
}

function load(next) {
  setup = next;
  clearErrors();
  showForm();
  changed({ wait: 0 });
}

function openSetup() {
  $("setup-text").value = JSON.stringify(setup, null, 2);
  $("setup-error").textContent = "";
  $("setup").showModal();
}

function loadSetup() {
  try {
    load(readSetup(JSON.parse($("setup-text").value)));
    $("setup").close();
  } catch (error) {
    $("setup-error").textContent = `This is no setup: ${error.message}`;
  }
}

async function begin() {
  $("example").replaceChildren(...Object.keys(EXAMPLES).map((name) => el("option", { value: name }, name)));
  listen();
  const [first] = Object.values(EXAMPLES);
  const stored = kept();
  if (!stored) $("example").selectedIndex = 0;
  else $("example").prepend(el("option", { value: "", selected: true, disabled: true }, "as it was left"));
  setup = stored ?? { ...structuredClone(EMPTY), ...structuredClone(first) };
  showForm();
  try {
    facts = await (await fetch("api/target")).json();
  } catch (error) {
    showError(new Told(`The playground cannot be asked: ${error.message}. Where it has ended, start it again and open the address that it prints.`));
    return;
  }
  $("target").textContent = facts.kind === "model" ? facts.name : `${facts.models[0]}, ${facts.name}`;
  changed({ wait: 0 });
}

begin();
