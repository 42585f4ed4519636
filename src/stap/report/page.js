"use strict";
// Values under the pointer, by touch and by arrow keys; dark or light; which part of the page is read.
const tip = document.getElementById("tip");
const charts = JSON.parse(document.getElementById("points").textContent);

function show(words, x, y) {
  tip.textContent = words;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(x + 14, innerWidth - box.width - 6);
  const above = y - box.height - 12;
  tip.style.left = Math.max(6, left) + "px";
  tip.style.top = (above < 6 ? y + 18 : above) + "px";
}

function hide() {
  tip.hidden = true;
  document.querySelectorAll(".spot").forEach(spot => spot.remove());
}

// All points of a chart: {x, y, words}, in the order of series.
function points(svg) {
  if (svg.found) return svg.found;
  const [axes, ...series] = charts[svg.dataset.chart];
  const said = svg.closest("figure").dataset.said;
  svg.found = series.flatMap(each => each.p.map(([x, y, across, up]) => {
    const lines = [each.s, `${axes.x || "x"}: ${across}`, `${axes.y || "y"}: ${up}`, said];
    return {x, y, words: lines.filter(Boolean).join("\n")};
  }));
  return svg.found;
}

function mark(svg, point) {
  document.querySelectorAll(".spot").forEach(spot => spot.remove());
  const spot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  for (const [name, value] of Object.entries({class: "spot", cx: point.x, cy: point.y, r: 6})) spot.setAttribute(name, value);
  svg.append(spot);
  const at = new DOMPoint(point.x, point.y).matrixTransform(svg.getScreenCTM());
  show(point.words, at.x, at.y);
}

document.querySelectorAll("svg[data-chart]").forEach(svg => {
  svg.addEventListener("pointermove", event => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let best = null, least = 40 * 40;
    for (const point of points(svg)) {
      const far = (point.x - at.x) ** 2 + (point.y - at.y) ** 2;
      if (far < least) [best, least] = [point, far];
    }
    if (best) mark(svg, best); else hide();
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (event.key === "Escape") hide();
    if (!step || !points(svg).length) return;
    event.preventDefault();
    const count = points(svg).length;
    svg.place = svg.place === undefined ? (step > 0 ? 0 : count - 1) : (svg.place + step + count) % count;
    mark(svg, points(svg)[svg.place]);
  });
});

// A figure in a table: its row, its column, where it comes from.
document.addEventListener("pointerover", event => {
  const cell = event.target.closest("td.n");
  if (!cell) {
    if (!event.target.closest("svg[data-chart]")) hide();
    return;
  }
  const row = cell.parentElement.cells[0].textContent;
  const column = cell.closest("table").tHead.rows[0].cells[cell.cellIndex].textContent;
  const box = cell.getBoundingClientRect();
  const said = cell.closest("figure").dataset.said;
  show(`${row}\n${column}: ${cell.textContent}\n${said}`, box.left + box.width / 2, box.top);
});
addEventListener("scroll", hide, {passive: true});

// Dark or light, as somebody chose it before, or as the system has it.
const root = document.documentElement;
const kept = {get: () => { try { return localStorage.theme; } catch { return null; } }, set: value => { try { localStorage.theme = value; } catch { /* a page from a file may have no memory */ } }};
if (kept.get()) root.dataset.theme = kept.get();
document.getElementById("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  kept.set(root.dataset.theme);
});

const links = new Map([...document.querySelectorAll("nav a")].map(link => [link.hash.slice(1), link]));
const seen = new IntersectionObserver(entries => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    links.forEach(link => link.removeAttribute("aria-current"));
    links.get(entry.target.id)?.setAttribute("aria-current", "true");
  }
}, {rootMargin: "-10% 0px -80% 0px"});
document.querySelectorAll("main > section").forEach(section => seen.observe(section));
