// What all charts share: drawn to fit, read by pointer or arrow keys mark by mark, and always there as a table.
import { drawnToFit, h, svg } from "./dom.js";

/**
 * A chart in `place`. `show(data)` draws it anew; `paint(data, width)` gives
 *   { height, body: [svg elements], marks: [{ text, x, y, w, h, element? }], steps: { ArrowLeft: -1, ... },
 *     start: the mark where keys begin, hint: what is said while nothing is pointed at }
 * and `table(data)` gives { head: [...], rows: [[...], ...] }.
 */
export function chart(place, { name, paint, table, empty }) {
  let data = null;
  const drawing = h("div", { class: "drawing", hidden: true });
  const readout = h("p", { class: "readout", "aria-hidden": "true", hidden: true });
  const listed = h(
    "details",
    { class: "listed", hidden: true, ontoggle: () => fill() },
    h("summary", {}, "As a table"),
  );
  const nothing = h("p", { class: "nothing", hidden: true }, empty);
  place.append(drawing, readout, listed, nothing);

  const draw = drawnToFit(drawing, (width) => {
    if (!data) return;
    const picture = paint(data, width);
    const canvas = svg("svg", { width, height: picture.height, viewBox: `0 0 ${width} ${picture.height}` });
    canvas.append(...picture.body);
    if (picture.marks.length) readable(canvas, readout, name, picture);
    drawing.replaceChildren(canvas);
  });

  function fill() {
    listed.querySelector("table")?.parentElement.remove();
    if (!listed.open || !data) return;
    const { head, rows } = table(data);
    const line = ([first, ...others]) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, first),
        others.map((each) => h("td", {}, each)),
      );
    const top = h(
      "tr",
      {},
      head.map((each) => h("th", { scope: "col" }, each)),
    );
    const body = h(
      "table",
      {},
      h("caption", { class: "aural" }, name),
      h("thead", {}, top),
      h("tbody", {}, rows.map(line)),
    );
    listed.append(
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${name}, as a table` }, body),
    );
  }

  return {
    show(fresh) {
      data = fresh;
      const has = fresh !== null;
      nothing.hidden = has;
      for (const part of [drawing, readout, listed]) part.hidden = !has;
      if (has) draw();
      fill();
    },
  };
}

/** Makes a drawing a slider over its marks: what each one says is shown below, and read out. */
function readable(canvas, readout, name, { marks, steps, start = marks.length - 1, hint = "" }) {
  const box = svg("rect", { class: "cursor", rx: 2, visibility: "hidden" });
  canvas.append(box);
  let at = start;

  const go = (index) => {
    marks[at].element?.classList.remove("lit");
    at = Math.max(0, Math.min(marks.length - 1, index));
    const mark = marks[at];
    canvas.setAttribute("aria-valuenow", at);
    canvas.setAttribute("aria-valuetext", mark.text);
    for (const [key, value] of Object.entries({
      x: mark.x - 1.5,
      y: mark.y - 1.5,
      width: mark.w + 3,
      height: mark.h + 3,
    }))
      box.setAttribute(key, value);
  };
  const reveal = (shown) => {
    box.setAttribute("visibility", shown && !marks[at].element ? "visible" : "hidden");
    if (!shown) marks[at].element?.classList.remove("lit");
    (shown ? marks[at] : marks[start]).element?.classList.add("lit");
    if (shown && at !== start) marks[start].element?.classList.remove("lit");
    readout.textContent = shown ? marks[at].text : hint;
  };
  const set = {
    role: "slider",
    tabindex: 0,
    "aria-label": name,
    "aria-valuemin": 0,
    "aria-valuemax": marks.length - 1,
  };
  for (const [key, value] of Object.entries(set)) canvas.setAttribute(key, value);
  go(start);
  reveal(false);

  canvas.addEventListener("keydown", (event) => {
    const step = { Home: -Infinity, End: Infinity, ...steps }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    go(at + step);
    reveal(true);
  });
  canvas.addEventListener("focus", () => canvas.matches(":focus-visible") && reveal(true));
  canvas.addEventListener("blur", () => reveal(false));
  canvas.addEventListener("pointerleave", () => reveal(false));
  const point = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const away = (mark) =>
      Math.hypot(Math.max(mark.x - x, 0, x - mark.x - mark.w), Math.max(mark.y - y, 0, y - mark.y - mark.h));
    let [nearest, least] = [marks.findIndex((mark) => mark.element === event.target), 14];
    marks.forEach((mark, index) => {
      const distance = mark.element ? Infinity : away(mark);
      if (distance < least) [nearest, least] = [index, distance];
    });
    if (nearest >= 0) go(nearest);
    reveal(nearest >= 0);
  };
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerdown", point);
}
