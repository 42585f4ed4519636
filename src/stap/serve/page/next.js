// The live row: who stays keeps the slot, and only what changed moves.
import { byId, calmly, h } from "./dom.js";
import { clock, initial, percent, wall } from "./words.js";

const SLOTS = 5;

export function next(person, open) {
  const [row, when, unseen, spoken, pause] = ["row", "next-when", "unseen", "spoken", "pause"].map(byId);
  let shown = [];
  let paused = false;
  let announced = "";

  async function ask() {
    const steady = shown.map((card) => card.app);
    show(await person.api().ranking({ k: SLOTS, steady }));
  }

  function show({ at, ranking, row: order, unseen: share }) {
    const known = new Map(ranking.map((each) => [each.app, each]));
    const apps = order?.length ? order.filter((app) => known.has(app)) : ranking.map((each) => each.app);
    const best = ranking[0]?.app;
    shown = apps.slice(0, SLOTS).map((app, slot) => {
      const card = shown[slot]?.app === app ? shown[slot] : newCard(app, open);
      card.tell(known.get(app), app === best);
      return card;
    });
    shown.forEach((card, slot) => place(card.element, row.children[slot]));
    while (row.children.length > shown.length) row.lastElementChild.remove();
    when.textContent = `at ${clock(wall(at))}`;
    unseen.textContent = share >= 0.005 ? `An app never seen before: ${percent(share)}` : "";
    announce(best, known.get(best));
  }

  /** Who stays is not touched, so that neither focus nor a movement is lost. */
  function place(element, old) {
    if (old === element) return;
    const focused = old?.contains(document.activeElement);
    if (old) old.replaceWith(element);
    else row.append(element);
    if (focused) element.firstElementChild.focus();
  }

  // Spoken only when the likeliest app changes, and not more often than somebody can listen to.
  const announce = (app, each) => {
    if (!app) return;
    announced = `Likeliest next: ${app}, ${percent(each.probability)}`;
    speak();
  };
  let said = "";
  const speak = calmly(8000, () => {
    const name = announced.slice(0, announced.lastIndexOf(","));
    if (name === said) return;
    said = name;
    spoken.textContent = announced;
  });

  const refresh = calmly(400, () => ask().catch(person.failed));
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Go on" : "Pause";
    if (!paused) refresh();
  });
  setInterval(() => document.visibilityState === "visible" && shown.length && !paused && refresh(), 60_000);
  document.addEventListener(
    "visibilitychange",
    () => document.visibilityState === "visible" && shown.length && refresh(),
  );

  return {
    show,
    refresh,
    shown: () => shown.length > 0,
    /** Something happened; who has paused the row is left alone. */
    happened: () => paused || refresh(),
    empty() {
      shown = [];
      row.replaceChildren();
    },
  };
}

function newCard(app, open) {
  const [share, bar, why] = [
    h("span", { class: "share" }),
    h("span", { class: "bar", "aria-hidden": "true" }),
    h("span", { class: "why" }),
  ];
  const tile = h("span", { class: "tile", "aria-hidden": "true" }, initial(app));
  const name = h("span", { class: "name" }, app);
  const button = h("button", { type: "button", onclick: () => open(app) }, tile, name, share, bar, why);
  const element = h("li", { class: "card" }, button);
  return {
    app,
    element,
    tell({ probability, reasons }, first) {
      element.toggleAttribute("data-first", first);
      share.textContent = percent(probability);
      bar.style.setProperty("--share", Math.min(1, probability).toFixed(4));
      const sentences = reasons.length ? reasons.slice(0, 2) : ["nothing special speaks for it"];
      button.setAttribute("aria-label", `${app}, ${percent(probability)}: ${sentences.join("; ")}`);
      why.replaceChildren(...sentences.map((sentence) => h("span", {}, sentence)));
    },
  };
}
