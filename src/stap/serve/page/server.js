// How the server is doing: how fast it answers, what it takes, where events come from.
import { status } from "./api.js";
import { byId, h, svg } from "./dom.js";
import { clock, uptime, wall } from "./words.js";

const EVERY = 5000;
const KEPT = 60; // samples of the small curves: five minutes

export function server() {
  const place = byId("server");
  const samples = { latency: [], memory: [] };
  let last = null;

  async function update() {
    const told = await status();
    last = told;
    keep(samples.latency, told.latency_ms?.p99);
    keep(samples.memory, told.memory_mb);
    place.replaceChildren(h("dl", { class: "facts" }, facts(told, samples)));
    return told;
  }
  setInterval(() => document.visibilityState === "visible" && last && update().catch(() => {}), EVERY);
  return { update, last: () => last };
}

const keep = (list, value) => {
  if (Number.isFinite(value)) list.push(value);
  if (list.length > KEPT) list.shift();
};

const milliseconds = (value) =>
  Number.isFinite(value) ? `${value < 10 ? value.toFixed(1) : Math.round(value)} ms` : "–";

function facts(told, samples) {
  const fact = (name, value, extra) => h("div", {}, h("dt", {}, name), h("dd", {}, value, extra));
  const feeds = told.feeds ?? [];
  return [
    fact("Answers in", milliseconds(told.latency_ms?.p50), [
      h("small", {}, `99 of 100 within ${milliseconds(told.latency_ms?.p99)}`),
      spark(samples.latency, "latency"),
    ]),
    fact(
      "Memory",
      Number.isFinite(told.memory_mb) ? `${Math.round(told.memory_mb)} MB` : "–",
      spark(samples.memory, "memory"),
    ),
    fact("Model", told.model ?? "–"),
    feeds.length
      ? fact(
          "Feeds",
          h(
            "ul",
            {},
            feeds.map((feed) =>
              h("li", {}, `${feed.name}: ${feed.state}${feed.last ? `, last event at ${clock(wall(feed.last))}` : ""}`),
            ),
          ),
        )
      : fact("Feeds", "none", h("small", {}, "events come by import or API")),
    fact("Running for", uptime(told.uptime_s ?? 0), h("small", {}, `stap ${told.version ?? ""}`)),
  ];
}

/** A curve without axes: whether it rises. */
function spark(values, name) {
  if (values.length < 2) return null;
  const [wide, tall] = [72, 20];
  const most = Math.max(...values, 1e-9) * 1.15;
  const points = values.map(
    (value, index) =>
      `${((index / (values.length - 1)) * wide).toFixed(1)},${(tall - (value / most) * tall).toFixed(1)}`,
  );
  return svg(
    "svg",
    {
      class: "spark",
      width: wide,
      height: tall,
      viewBox: `0 0 ${wide} ${tall}`,
      role: "img",
      "aria-label": `The last minutes' ${name}`,
    },
    svg("polyline", { points: points.join(" ") }),
  );
}
