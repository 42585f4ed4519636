// What follows what: two columns of apps, and between them bands as wide as they are common.
import { chart } from "./chart.js";
import { byId, svg } from "./dom.js";
import { count, percent, short, times } from "./words.js";

const MOST = 7; // apps on either side
const GAP = 10;

export function follow() {
  const picture = chart(byId("follow"), {
    name: "What follows what",
    paint,
    table,
    empty: "No app has followed another yet.",
  });
  return {
    update({ follow: links, apps }) {
      const usages = new Map(apps.map((each) => [each.app, each.usages]));
      picture.show(
        links.length
          ? links.map((link) => ({ ...link, share: link.count / Math.max(usages.get(link.from) ?? 0, link.count) }))
          : null,
      );
    },
  };
}

/** The apps of one side with the height that their links need, the most common first. */
function side(links, end) {
  const total = new Map();
  for (const link of links) total.set(link[end], (total.get(link[end]) ?? 0) + link.count);
  return [...total]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST)
    .map(([app]) => app);
}

function stacked(apps, links, end, scale, tall) {
  const sizes = apps.map(
    (app) => links.filter((link) => link[end] === app).reduce((all, link) => all + link.count, 0) * scale,
  );
  const gap =
    apps.length > 1 ? Math.min(28, (tall - sizes.reduce((all, size) => all + size, 0)) / (apps.length - 1)) : 0;
  let y = 0;
  return new Map(
    apps.map((app, index) => {
      const box = { y, h: sizes[index], used: 0 };
      y += sizes[index] + gap;
      return [app, box];
    }),
  );
}

function paint(all, width) {
  const [from, to] = [side(all, "from"), side(all, "to")];
  const links = all.filter((link) => from.includes(link.from) && to.includes(link.to));
  const sources = from.filter((app) => links.some((link) => link.from === app));
  const targets = to.filter((app) => links.some((link) => link.to === app));
  const tall = 250;
  const most = Math.max(sources.length, targets.length);
  const scale = (tall - (most - 1) * (GAP + 6)) / links.reduce((sum, link) => sum + link.count, 0);
  const label = Math.min(130, width * 0.3);
  const [left, right] = [label, width - label];
  const [boxes, ends] = [stacked(sources, links, "from", scale, tall), stacked(targets, links, "to", scale, tall)];

  const [bands, marks] = [[], []];
  const order = (a, b) =>
    sources.indexOf(a.from) - sources.indexOf(b.from) || targets.indexOf(a.to) - targets.indexOf(b.to);
  for (const link of [...links].sort(order)) {
    const [a, b] = [boxes.get(link.from), ends.get(link.to)];
    const thick = link.count * scale;
    const [y1, y2] = [4 + a.y + a.used + thick / 2, 4 + b.y + b.used + thick / 2];
    a.used += thick;
    b.used += thick;
    const middle = (left + right) / 2;
    const path = `M${left + 8},${y1} C${middle},${y1} ${middle},${y2} ${right - 8},${y2}`;
    const band = svg("path", { class: "band", d: path, "stroke-width": Math.max(1, thick) });
    bands.push(band);
    marks.push({
      element: band,
      count: link.count,
      x: middle - 8,
      y: (y1 + y2) / 2 - thick / 2,
      w: 16,
      h: thick,
      text: `After ${link.from} came ${link.to} ${times(link.count, "time")}, ${percent(link.share)} of its launches`,
    });
  }
  const column = (stack, at, anchor, text) =>
    [...stack].flatMap(([app, box]) => [
      svg("rect", { class: "node", x: at, y: 4 + box.y, width: 4, height: Math.max(2, box.h), rx: 2 }),
      svg(
        "text",
        { class: "lane", x: text, y: 4 + box.y + Math.max(2, box.h) / 2 + 4, "text-anchor": anchor },
        short(app, Math.floor(label / 7.4)),
      ),
    ]);
  const body = [...bands, ...column(boxes, left, "end", left - 8), ...column(ends, right - 4, "start", right + 8)];
  marks.sort((a, b) => b.count - a.count);
  return {
    height: tall + 16,
    body,
    marks,
    start: 0,
    hint: marks[0].text,
    steps: { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 },
  };
}

const table = (links) => ({
  head: ["After", "came", "Times", "Share"],
  rows: links.map((link) => [link.from, link.to, count(link.count), percent(link.share)]),
});
