// How often the app that was opened stood first (or in the top 3, top 5), beside the two rules that are hard to beat.
import { chart } from "./chart.js";
import { byId, h, svg } from "./dom.js";
import { DAY, percent, shortDay, times } from "./words.js";

const NAMES = { stap: "STAP", blend: "blend", again: "again" };
const ORDER = Object.keys(NAMES);
const MEANING = {
  stap: "the shipped model",
  blend: "what came before, the clock, the habit of returning",
  again: "the same app after a pause, else the one before",
};
const SPAN = 7; // days under one point of the lines: single days jump
const TOLD = 28; // days of the figures above them

export function hits() {
  const place = byId("hits");
  const [figures, rates, over] = [h("div", { class: "figures" }), h("dl"), h("p", { class: "over" })];
  figures.append(rates, over);
  place.append(figures);
  const picture = chart(place, {
    name: "Hit rate over time",
    paint,
    table,
    empty: "Counted as soon as there are launches to score; a long history takes a while.",
  });
  let known = null;

  function show() {
    const days = known?.[byId("depth").querySelector("input:checked").value] ?? [];
    const scored = days.filter((each) => each.n > 0);
    figures.hidden = !scored.length;
    const recent = scored.slice(-TOLD);
    rates.replaceChildren(
      ...ORDER.map((name) =>
        h(
          "div",
          { class: `figure ${name}`, title: MEANING[name] },
          h("dt", {}, NAMES[name]),
          h("dd", {}, percent(mean(recent, name))),
        ),
      ),
    );
    const launches = recent.reduce((all, each) => all + each.n, 0);
    over.textContent = `last ${times(recent.length, "day")}, ${times(launches, "launch", "launches")}`;
    picture.show(scored.length ? scored : null);
  }
  byId("depth").addEventListener("change", show);

  return {
    update(statistics) {
      known = statistics;
      show();
    },
  };
}

const mean = (days, name) => {
  const told = days.filter((each) => Number.isFinite(each[name]));
  return told.reduce((all, each) => all + each[name] * each.n, 0) / told.reduce((all, each) => all + each.n, 0);
};

/** Each day with the mean of the days up to it, weighted by their launches. */
function smooth(days) {
  const moments = days.map((each) => Date.parse(each.day));
  let from = 0;
  return days.map((each, to) => {
    while (moments[from] <= moments[to] - SPAN * DAY) from += 1;
    const span = days.slice(from, to + 1);
    return {
      at: moments[to],
      n: each.n,
      ...Object.fromEntries(ORDER.map((name) => [name, mean(span, name)])),
    };
  });
}

function paint(days, width) {
  const points = smooth(days);
  const [left, right, top, bottom] = [44, 8, 8, 168];
  const [first, last] = [points[0].at, points.at(-1).at];
  const values = points.flatMap((each) => ORDER.map((name) => each[name])).filter(Number.isFinite);
  const high = Math.min(1, Math.ceil(Math.max(...values) * 10 + 0.5) / 10);
  const low = Math.max(0, Math.floor(Math.min(...values) * 10 - 0.5) / 10);
  const x = (at) =>
    last > first ? left + ((at - first) / (last - first)) * (width - left - right) : (left + width) / 2;
  const y = (share) => bottom - ((share - low) / (high - low)) * (bottom - top);

  const body = [];
  for (let share = low; share <= high + 1e-9; share += high - low > 0.55 ? 0.2 : 0.1) {
    const at = Math.round(y(share)) + 0.5;
    body.push(svg("line", { class: "grid", x1: left, x2: width - right, y1: at, y2: at }));
    const label = { class: "tick", x: left - 8, y: at + 4, "text-anchor": "end" };
    body.push(svg("text", label, `${Math.round(share * 100)} %`));
  }
  const most = Math.max(1, Math.min(4, Math.floor(width / 120), Math.round((last - first) / DAY)));
  body.push(...dates(first, last, most).map(([at, anchor]) => date(at, anchor, x(at), bottom + 20)));
  body.push(...ORDER.toReversed().flatMap((name) => curve(points, name, x, y)));

  const marks = points.map((each) => {
    const told = ORDER.map((name) => `${NAMES[name]} ${percent(each[name])}`).join(", ");
    return { x: x(each.at), y: top, w: 1, h: bottom - top, text: `${shortDay(each.at)}: ${told}` };
  });
  const hint = points.length > 1 ? "Each point is the mean of the seven days up to it." : "";
  return { height: bottom + 28, body, marks, hint, steps: { ArrowLeft: -1, ArrowRight: 1, PageUp: -7, PageDown: 7 } };
}

const date = (at, anchor, x, y) => svg("text", { class: "tick", x, y, "text-anchor": anchor }, shortDay(at));

/** Days to name below the lines, and where their names hang. */
function dates(first, last, most) {
  if (last === first) return [[first, "middle"]];
  return Array.from({ length: most + 1 }, (_, tick) => [
    first + Math.round(((last - first) / most / DAY) * tick) * DAY,
    tick === 0 ? "start" : tick === most ? "end" : "middle",
  ]);
}

/** One predictor's line, broken where days are missing; a day alone is a dot. */
function curve(points, name, x, y) {
  const runs = [];
  for (const each of points.filter((point) => Number.isFinite(point[name]))) {
    if (each.at - (runs.at(-1)?.at(-1).at ?? -Infinity) > SPAN * DAY) runs.push([]);
    runs.at(-1).push(each);
  }
  const place = (each) => [x(each.at).toFixed(1), y(each[name]).toFixed(1)];
  return runs.map((run) => {
    const [cx, cy] = place(run[0]);
    if (run.length === 1) return svg("circle", { class: `dot ${name}`, cx, cy, r: 4 });
    return svg("polyline", { class: `line ${name}`, points: run.map(place).join(" ") });
  });
}

const table = (days) => ({
  head: ["Day", "Launches", ...Object.values(NAMES)],
  rows: days.toReversed().map((each) => [each.day, String(each.n), ...ORDER.map((name) => percent(each[name]))]),
});
