// The page: asks the server that it came from, and shows what it answers. No library, no build.
"use strict";

const $ = id => document.getElementById(id);
const limits = { templates: {} };

// An element with a text and a class; texts of others never become markup.
function make(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

const number = value => new Intl.NumberFormat("en").format(value);
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
    Object.assign(limits, info.limits, { templates: info.templates });
    $("store").textContent = `${store.path}: ${counted(store.fingerprints, "fingerprint", "fingerprints")}, ` +
      `${counted(store.ids, "id", "ids")}, generation ${store.generation}`;
    if (!$("k").value) $("k").value = Math.min(store.tuned_k, info.limits.max_k);
    $("k").max = info.limits.max_k;
    $("count").max = info.limits.max_matches;
    for (const way of ["text", "file"]) {
      const input = document.querySelector(`input[value="${way}"]`);
      input.disabled = !info.takes_texts;
      input.parentElement.title = info.takes_texts ? "" : "this store has no recipe for texts";
    }
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

async function question() {
  const nearest = $("which").value === "nearest";
  const params = new URLSearchParams({ explain: "true", ids: Math.min(50, limits.max_ids ?? 50) });
  if (nearest) params.set("count", $("count").value || "1");
  else if ($("k").value !== "") params.set("k", $("k").value);
  if (way() === "fingerprint") {
    params.set("fingerprint", $("fingerprint").value.trim());
    return ask(`v1/${nearest ? "nearest" : "query"}?${params}`);
  }
  let body = $("text").value, kind = "text/plain";
  if (way() === "file") {
    body = $("file").files[0];
    if (!body) throw new Error("choose a file first");
    if (/\.x?html?$/i.test(body.name) || /html/.test(body.type)) kind = "text/html";
  }
  return ask(`v1/text?${params}`, { method: "POST", body, headers: { "Content-Type": kind } });
}

// The 64 bits of a fingerprint by fours; those that differ from the query are marked.
function bits(query, found) {
  const box = make("div", undefined, "bits");
  const differing = BigInt(`0x${query}`) ^ BigInt(`0x${found}`);
  const value = BigInt(`0x${found}`);
  let group;
  for (let bit = 63n; bit >= 0n; bit--) {
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

// The address that a template gives for an id, if it leads to a place in the web.
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
  item.append(make("span", match.fingerprint, "hex"));
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

function showAnswer(answer) {
  const count = answer.matches.length;
  const cut = answer.cut ? `, cut by ${answer.cut_by}` : "";
  $("summary").textContent = `${count ? counted(count, "match", "matches") : "Nothing"} for ${answer.query}${cut}`;
  $("matches").replaceChildren(...answer.matches.map(match => showMatch(answer.query, match)));
  $("plan").hidden = !answer.explain;
  if (answer.explain) showPlan(answer.explain);
  $("answer").hidden = false;
}

async function submit(event) {
  event.preventDefault();
  const button = document.querySelector("button");
  button.disabled = true;
  $("problem").hidden = true;
  try {
    if (!limits.max_k) await showStore();
    showAnswer(await question());
  } catch (error) {
    $("answer").hidden = true;
    $("problem").textContent = error.message;
    $("problem").hidden = false;
  } finally {
    button.disabled = false;
  }
}

$("ask").addEventListener("change", showWay);
$("ask").addEventListener("submit", submit);
showWay();
showStore();
