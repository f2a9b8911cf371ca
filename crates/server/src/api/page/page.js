// The page: queries the server that delivered it, and shows the answers. No library, no build.
"use strict";

const $ = id => document.getElementById(id);
const limits = { templates: {} };

// Makes an element with a text and a class. The text is never parsed as markup.
function make(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

// Separates groups of three digits by a space, as the program and its other pages do.
const number = value => String(value).replace(/\B(?=(\d{3})+$)/g, "\u00a0");
const counted = (count, one, many) => `${number(count)} ${count === 1 ? one : many}`;

async function ask(path, options = {}) {
  const headers = new Headers(options.headers);
  const token = $("token").value.trim();
  if (token) headers.set("Authorization", `Bearer ${token}`);
  const answer = await fetch(path, { ...options, headers });
  let body;
  try {
    body = await answer.json();
  } catch {
    throw new Error(`the server answered ${answer.status} without a reason`);
  }
  if (answer.status === 401) $("token-row").hidden = false;
  if (!answer.ok) throw new Error(body.error?.message ?? `the server answered ${answer.status}`);
  return body;
}

async function showStore() {
  try {
    const info = await ask("v1/info");
    const { store } = info;
    Object.assign(limits, info.limits, { templates: info.templates, tuned_k: store.tuned_k });
    $("store").textContent = `${store.path}: ${counted(store.fingerprints, "fingerprint", "fingerprints")}, ` +
      `${counted(store.ids, "id", "ids")}, generation ${store.generation}`;
    if (!$("k").value) $("k").value = Math.min(store.tuned_k, info.limits.max_k);
    $("k").max = info.limits.max_k;
    $("count").max = info.limits.max_matches;
    for (const way of ["text", "file"]) {
      const input = document.querySelector(`input[value="${way}"]`);
      input.disabled = !info.takes_texts;
    }
    document.querySelector("input[value=id]").disabled = !store.ids;
    const reasons = [];
    if (!info.takes_texts) reasons.push("Texts and files cannot be asked: this store has no recipe for texts.");
    if (!store.ids) reasons.push("Ids cannot be asked: this store has none.");
    $("why").textContent = reasons.join(" ");
    $("why").hidden = reasons.length === 0;
  } catch (error) {
    $("store").textContent = error.message;
  }
}

const way = () => document.querySelector("input[name=by]:checked").value;

function showWay() {
  for (const part of document.querySelectorAll(".way")) part.hidden = part.dataset.way !== way();
  const nearest = $("which").value === "nearest";
  document.querySelector(".for-near").hidden = nearest;
  document.querySelector(".for-nearest").hidden = !nearest;
}

// The parameters of a query, except the fingerprint, text or id.
function wanted() {
  const params = new URLSearchParams({ explain: "true", ids: Math.min(50, limits.max_ids ?? 50) });
  if ($("which").value === "nearest") params.set("count", $("count").value || "1");
  else if ($("k").value !== "") params.set("k", $("k").value);
  return params;
}

function askOf(fingerprint) {
  const params = wanted();
  params.set("fingerprint", fingerprint);
  return ask(`v1/${$("which").value === "nearest" ? "nearest" : "query"}?${params}`);
}

// Sends the query. Returns the answer, and for an id its other fingerprints.
async function question() {
  if (way() === "fingerprint") return { answer: await askOf($("fingerprint").value.trim()) };
  if (way() === "id") {
    const id = $("id").value;
    const { fingerprints } = await ask(`v1/ids?${new URLSearchParams({ id })}`);
    if (!fingerprints.length) throw new Error(`no record has the id '${id}'`);
    return { answer: await askOf(fingerprints[0]), others: fingerprints.slice(1) };
  }
  let body = $("text").value, kind = "text/plain";
  if (way() === "file") {
    body = $("file").files[0];
    if (!body) throw new Error("choose a file first");
    if (/\.x?html?$/i.test(body.name) || /html/.test(body.type)) kind = "text/html";
  }
  const headers = { "Content-Type": kind };
  return { answer: await ask(`v1/text?${wanted()}`, { method: "POST", body, headers }) };
}

// The address of an answer. The address contains the fingerprint of a text instead of the text,
// which may be long or private.
function addressOf(name, value) {
  const params = new URLSearchParams({ [name]: value });
  if ($("which").value === "nearest") params.set("count", $("count").value || "1");
  else if ($("k").value !== "") params.set("k", $("k").value);
  return `?${params}`;
}

// Fills the form from an address. Returns whether the address contains a query.
function readAddress(search, state) {
  const params = new URLSearchParams(search);
  if (params.has("count")) $("count").value = params.get("count");
  if (params.has("k")) $("k").value = params.get("k");
  if (params.has("count") || params.has("k")) $("which").value = params.has("count") ? "nearest" : "near";
  const name = ["fingerprint", "id"].find(name => params.has(name));
  if (name) {
    $(name).value = params.get(name);
    const by = state?.text === undefined ? name : "text";
    if (by === "text") $("text").value = state.text;
    document.querySelector(`input[value=${by}]`).checked = true;
  }
  showWay();
  return name !== undefined;
}

// A link to the answer for a fingerprint, with the current parameters.
function linkTo(fingerprint, className) {
  const link = make("a", fingerprint, className);
  link.href = addressOf("fingerprint", fingerprint);
  link.addEventListener("click", event => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    readAddress(new URL(link.href).search);
    submit();
  });
  return link;
}

// The bits of a fingerprint in groups of four; bits that differ from the query are marked.
function bits(query, found) {
  const box = make("div", undefined, "bits");
  const differing = BigInt(`0x${query}`) ^ BigInt(`0x${found}`);
  const value = BigInt(`0x${found}`);
  let group;
  for (let bit = BigInt(4 * found.length - 1); bit >= 0n; bit--) {
    if (bit % 4n === 3n) {
      if (group) box.append(group, " ");
      group = make("span");
    }
    const digit = (value >> bit & 1n).toString();
    const differs = differing >> bit & 1n;
    group.append(differs ? make("b", digit) : digit);
  }
  box.append(group);
  return box;
}

// The URL that a template makes of an id; null unless it is an HTTP URL.
function address(template, id) {
  if (!template) return null;
  const part = template === "{id}" ? id : encodeURIComponent(id);
  try {
    const url = new URL(template.replaceAll("{id}", () => part), location.href);
    return ["http:", "https:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

function showId(id) {
  const item = make("li");
  const link = address(limits.templates.link, id);
  const holder = link ? make("a") : item;
  if (link) {
    holder.href = link;
    holder.rel = "noreferrer noopener";
    item.append(holder);
  }
  const image = address(limits.templates.image, id);
  if (image) {
    const picture = make("img");
    picture.src = image;
    picture.alt = "";
    picture.loading = "lazy";
    holder.append(picture);
  }
  holder.append(id);
  return item;
}

function showMatch(query, match) {
  const item = make("li");
  item.tabIndex = -1;
  item.append(linkTo(match.fingerprint, "hex"));
  item.append(make("span", counted(match.distance, "bit differs", "bits differ"), "distance"));
  item.append(bits(query, match.fingerprint));
  const ids = make("ul", undefined, "ids");
  for (const id of match.ids ?? []) ids.append(showId(id));
  if (match.id_count) ids.append(make("li", `... ${number(match.id_count)} ids in all`));
  item.append(ids);
  return item;
}

function showPlan(plan) {
  $("costs").replaceChildren();
  const costs = [
    ["expected", `${plan.expected_us.toFixed(1)} us within ${counted(plan.k, "bit", "bits")}`],
    ["probes", number(plan.probes)],
    ["candidates", number(plan.candidates)],
    ["scanned", number(plan.scanned)],
    ["pages read first", number(plan.pages_checked)],
  ];
  for (const [name, value] of costs) $("costs").append(make("dt", name), make("dd", value));
  const rows = [["segment", "path", "table", "radius", "prefixes", "mask"]];
  plan.segments.forEach((segment, at) => {
    if (segment.path === "scan") rows.push([at + 1, "scan", segment.table, "", "", ""]);
    for (const table of segment.tables ?? []) {
      rows.push([at + 1, "probe", table.table, table.radius, number(Math.round(table.prefixes)), table.mask]);
    }
  });
  $("tables").replaceChildren(...rows.map((row, at) => {
    const line = make("tr");
    line.append(...row.map(cell => make(at ? "td" : "th", cell)));
    return line;
  }));
}

function showAnswer(answer, others = []) {
  const count = answer.matches.length;
  const cut = answer.cut ? `, cut by ${answer.cut_by}` : "";
  const isNear = $("which").value === "near";
  const bits = $("k").value || limits.tuned_k;
  const within = isNear ? ` within ${counted(Number(bits), "bit", "bits")}` : "";
  $("summary").textContent =
    `${count ? counted(count, "match", "matches") : "Nothing"}${within} for ${answer.query}${cut}`;
  $("others").replaceChildren("The id is also that of ", ...others.flatMap((hex, at) =>
    at ? [", ", linkTo(hex, "hex")] : [linkTo(hex, "hex")]), ".");
  $("others").hidden = others.length === 0;
  $("nearest").hidden = count > 0 || !isNear;
  $("matches").replaceChildren(...answer.matches.map(match => showMatch(answer.query, match)));
  $("plan").hidden = !answer.explain;
  if (answer.explain) showPlan(answer.explain);
  $("answer").hidden = false;
  $("answer").scrollIntoView({ block: "nearest" });
}

// Shows an error. If the input is not a fingerprint, a button searches for it as an id.
function showProblem(message) {
  $("answer").hidden = true;
  $("message").textContent = message;
  $("problem").querySelector("button")?.remove();
  const text = $("fingerprint").value.trim();
  const isId = way() === "fingerprint" && text && !/^(0x)?[0-9a-f]{1,16}$/i.test(text);
  if (isId && !document.querySelector("input[value=id]").disabled) {
    const button = make("button", "Ask for the id instead");
    button.type = "button";
    button.addEventListener("click", () => {
      document.querySelector("input[value=id]").checked = true;
      $("id").value = text;
      showWay();
      submit();
    });
    $("problem").append(button);
  }
  $("problem").hidden = false;
}

// The number of the last request. Late answers to earlier requests are ignored.
let asked = 0;

// Sends the query of the form, and adds its address to the history unless it is there already.
async function submit(event) {
  event?.preventDefault();
  const isAgain = event?.type === "popstate" || event?.type === "load";
  const number = ++asked;
  const button = document.querySelector("button[type=submit]");
  button.disabled = true;
  $("problem").hidden = true;
  try {
    if (!limits.max_k) await showStore();
    const { answer, others } = await question();
    if (number !== asked) return;
    showAnswer(answer, others);
    const by = way();
    const address = by === "id" ? addressOf("id", $("id").value) : addressOf("fingerprint", answer.query);
    const state = by === "text" ? { text: $("text").value.slice(0, 100_000) } : null;
    if (isAgain || address === location.search) history.replaceState(state, "", address);
    else history.pushState(state, "", address);
    document.title = `fpstore: what is near ${by === "id" ? $("id").value : answer.query}?`;
  } catch (error) {
    if (number === asked) showProblem(error.message);
  } finally {
    if (number === asked) button.disabled = false;
  }
}

function step(by) {
  const items = [...$("matches").children];
  const now = items.findIndex(item => item.contains(document.activeElement));
  items[Math.min(Math.max(now + by, 0), items.length - 1)]?.focus();
}

const KEYS = {
  "/": () => document.querySelector(`.way[data-way=${way()}]`).querySelector("input, textarea").focus(),
  j: () => step(1),
  k: () => step(-1),
};

document.addEventListener("keydown", event => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return $("ask").requestSubmit();
  const isTyped = event.target.closest?.("input:not([type=radio]), select, textarea");
  if (isTyped || event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});
$("nearest").addEventListener("click", () => {
  $("which").value = "nearest";
  showWay();
  submit();
});
addEventListener("popstate", event => {
  if (readAddress(location.search, event.state)) submit(event);
  else {
    asked++;
    $("answer").hidden = $("problem").hidden = true;
    document.title = "fpstore: what is near this?";
  }
});
$("ask").addEventListener("change", showWay);
$("ask").addEventListener("submit", submit);
(async () => {
  const isAsked = readAddress(location.search, history.state);
  // On a phone, the focus would open the keyboard over the page.
  if (!isAsked && !matchMedia("(pointer: coarse)").matches) $("fingerprint").focus();
  await showStore();
  if (isAsked) submit(new Event("load"));
})();
