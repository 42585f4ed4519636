// One day, app by app: who was in front from when to when.
import { chart } from "./chart.js";
import { byId, svg } from "./dom.js";
import {
  clock,
  DAY,
  datedDay,
  duration,
  isoDay,
  longDay,
  midnight,
  short,
  times,
  wall,
  wallHere,
  wallNow,
} from "./words.js";

const HOUR = 3_600_000;
const ZONES = 14 * HOUR; // no clock is further from UTC
const LANE = 26;
const TOP = 4;

export function timeline(person) {
  const [title, sum, before, after] = ["today-title", "today-sum", "day-before", "day-after"].map(byId);
  const picture = chart(byId("timeline"), {
    name: "Timeline of the day",
    paint,
    table,
    empty: "Nothing was opened on this day.",
  });
  let day = 0;
  let bounds = null; // the first and the last day

  function show(usages) {
    const now = wallNow();
    const today = day === midnight(now);
    const last = Math.max(...usages.map((each) => wall(each.end ?? each.start)), day);
    const bars = usages
      .map(({ app, start, end }) => ({
        app,
        from: Math.max(wall(start), day),
        to: Math.min(end ? wall(end) : Math.max(today ? now : 0, last), day + DAY),
        open: !end,
      }))
      .sort((a, b) => a.from - b.from);
    const minutes = bars.reduce((all, bar) => all + Math.max(0, bar.to - bar.from), 0) / 60_000;
    title.textContent = today
      ? "Today"
      : day === midnight(now) - DAY
        ? "Yesterday"
        : new Date(day).getUTCFullYear() === new Date(now).getUTCFullYear()
          ? longDay(day)
          : datedDay(day);
    sum.textContent = bars.length ? `${times(bars.length, "launch", "launches")}, ${duration(minutes)}` : "";
    before.disabled = !bounds || day <= bounds.first;
    after.disabled = today || (bounds !== null && day >= Math.max(bounds.last, midnight(now)));
    picture.show(bars.length ? { day, bars } : null);
  }

  async function go(to) {
    day = to;
    const [since, until] = [day - ZONES, day + DAY + ZONES].map((moment) => new Date(moment).toISOString());
    const { usages } = await person.api().history({ since, until, limit: 2000 });
    if (day === to) show(usages.filter((each) => midnight(wall(each.start)) === day)); // a day on their own clock
  }

  before.addEventListener("click", () => go(day - DAY).catch(person.failed));
  after.addEventListener("click", () => go(day + DAY).catch(person.failed));

  return {
    /** Fresh statistics: today if anything happened, else the latest day; a day somebody chose stays. */
    update({ today }, known) {
      const now = midnight(wallNow());
      const follows = !day || day === now || (bounds && day === bounds.last);
      bounds = known?.last
        ? { first: midnight(wallHere(Date.parse(known.first))), last: midnight(wallHere(Date.parse(known.last))) }
        : null;
      if (!follows) return;
      if (today.length || !bounds) {
        day = today.length ? midnight(wall(today[0].start)) : now;
        show(today);
      } else go(bounds.last).catch(person.failed);
    },
    empty() {
      day = 0;
    },
  };
}

function lanesOf(bars, most) {
  const total = new Map();
  for (const { app, from, to } of bars) total.set(app, (total.get(app) ?? 0) + Math.max(to - from, 1000));
  const ranked = [...total].sort((a, b) => b[1] - a[1]).map(([app]) => app);
  return ranked.length > most ? [...ranked.slice(0, most - 1), null] : ranked;
}

function paint({ day, bars }, width) {
  const lanes = lanesOf(bars, 8);
  const lane = new Map(lanes.map((app, index) => [app, index]));
  const label = Math.min(140, width * 0.28);
  const first = Math.floor((Math.min(...bars.map((bar) => bar.from)) - day) / HOUR);
  const last = Math.max(first + 4, Math.ceil((Math.max(...bars.map((bar) => bar.to)) - day) / HOUR));
  const x = (moment) => label + ((moment - day) / HOUR - first) * ((width - label - 20) / (last - first));
  const bottom = TOP + lanes.length * LANE;
  const every = [1, 2, 3, 4, 6].find((hours) => ((width - label) / (last - first)) * hours >= 44) ?? 6;

  const body = [];
  for (let hour = Math.ceil(first / every) * every; hour <= last; hour += every) {
    const at = Math.round(x(day + hour * HOUR)) + 0.5;
    body.push(svg("line", { class: "grid", x1: at, x2: at, y1: TOP, y2: bottom }));
    body.push(
      svg(
        "text",
        { class: "tick", x: at, y: bottom + 18, "text-anchor": "middle" },
        `${String(hour % 24).padStart(2, "0")}:00`,
      ),
    );
  }
  lanes.forEach((app, index) => {
    const y = TOP + index * LANE;
    body.push(
      svg(
        "text",
        { class: app === null ? "lane others" : "lane", x: 0, y: y + 17 },
        short(app ?? "Others", Math.floor(label / 7.2)),
      ),
    );
    body.push(svg("line", { class: "rule", x1: 0, x2: width, y1: y + LANE - 0.5, y2: y + LANE - 0.5 }));
  });
  const marks = bars.map(({ app, from, to, open }) => {
    const own = lane.has(app);
    const at = {
      x: x(from),
      y: TOP + (own ? lane.get(app) : lanes.length - 1) * LANE + 7,
      w: Math.max(2, x(to) - x(from)),
      h: 12,
    };
    body.push(
      svg("rect", {
        class: own ? "usage" : "usage others",
        x: at.x,
        y: at.y,
        width: at.w,
        height: at.h,
        rx: Math.min(2, at.w / 2),
      }),
    );
    return {
      ...at,
      text: open
        ? `${app}, since ${clock(from)}`
        : `${app}, ${clock(from)} to ${clock(to)}, ${duration((to - from) / 60_000)}`,
    };
  });
  const longest = bars.reduce(
    (most, bar, index) => (bar.to - bar.from > bars[most].to - bars[most].from ? index : most),
    0,
  );
  return {
    height: bottom + 26,
    body,
    marks,
    hint: `Longest: ${marks[longest].text}`,
    steps: { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 },
  };
}

const table = ({ day, bars }) => ({
  head: ["App", "From", "To", `Time on ${isoDay(day)}`],
  rows: bars.map(({ app, from, to, open }) => [
    app,
    clock(from),
    open ? "now" : clock(to),
    duration((to - from) / 60_000),
  ]),
});
