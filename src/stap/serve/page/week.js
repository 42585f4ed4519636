// The week by hour: a field of one hue, darker where more is opened.
import { chart } from "./chart.js";
import { byId, svg } from "./dom.js";
import { count, hourSpan, times, weekday } from "./words.js";

const SHADES = 6;

export function week() {
  const picture = chart(byId("week"), { name: "The week by hour", paint, table, empty: "No launches yet." });
  return { update: ({ week: counts }) => picture.show(counts.some((day) => day.some(Boolean)) ? counts : null) };
}

function paint(counts, width) {
  const label = 40;
  const gap = 2;
  const cell = (width - label) / 24;
  const tall = Math.max(20, Math.min(28, cell + 4));
  const most = Math.max(...counts.flat());
  const body = [];
  const marks = [];
  counts.forEach((hours, day) => {
    const y = day * (tall + gap);
    body.push(svg("text", { class: "lane", x: 0, y: y + tall / 2 + 4 }, weekday(day).slice(0, 3)));
    hours.forEach((n, hour) => {
      const at = { x: label + hour * cell, y, w: cell - Math.min(gap, cell / 6), h: tall };
      // The root tells quiet hours apart, too.
      const shade = n ? Math.max(1, Math.ceil(Math.sqrt(n / most) * SHADES)) : 0;
      body.push(svg("rect", { class: `heat heat-${shade}`, x: at.x, y, width: at.w, height: tall, rx: 2 }));
      marks.push({ ...at, text: `${weekday(day)}, ${hourSpan(hour)}: ${times(n, "launch", "launches")}` });
    });
  });
  const bottom = 7 * (tall + gap);
  const every = cell * 3 >= 34 ? 3 : 6;
  for (let hour = 0; hour < 24; hour += every)
    body.push(svg("text", { class: "tick", x: label + hour * cell, y: bottom + 14 }, String(hour).padStart(2, "0")));
  const busiest = counts.flat().indexOf(most);
  const hint = `Busiest: ${weekday(Math.floor(busiest / 24))}, ${hourSpan(busiest % 24)}`;
  return {
    height: bottom + 20,
    body,
    marks,
    start: busiest,
    hint,
    steps: { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -24, ArrowDown: 24 },
  };
}

const table = (counts) => ({
  head: ["Hour", ...counts.map((_, day) => weekday(day))],
  rows: Array.from({ length: 24 }, (_, hour) => [hourSpan(hour), ...counts.map((hours) => count(hours[hour]))]),
});
